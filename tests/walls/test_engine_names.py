"""General code names no engine but where these lists say so; they may only get shorter."""

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "ci" / "megtrim"
GENERAL = ("core", "libs", "places", "times", "lab", "hosting", "ship")
NAMED = re.compile(r"megengine|midout|\.mge\b|load_and_run|\bmge\b", re.IGNORECASE)
EXAMPLES = {
    "core/cli/check.py": 1,
    "core/cli/init.py": 6,
    "core/cli/main.py": 4,
    "core/cli/model.py": 1,
    "core/cli/probe.py": 1,
    "core/cli/session/starter.py": 1,
    "core/cli/size/show.py": 4,
    "core/cli/size/why.py": 1,
    "core/cli/stage.py": 1,
    "core/cli/trim.py": 2,
    "core/config/limits.py": 1,
    "core/config/templates.py": 8,
    "times/cli/list.py": 5,
    "lab/cli/group.py": 1,
    "ship/cli/release.py": 4,
}
"""Lines in examples of commands, and texts of starter files."""
MEASURING = {
    "times/cli/run.py": 1,
    "times/counts/stage.py": 2,
    "times/experiments/commands.py": 5,
    "times/experiments/contest.py": 2,
    "times/experiments/listing.py": 4,
    "times/measuring/contest_plan.py": 4,
    "times/measuring/timing.py": 2,
    "times/measuring/timing_runs.py": 2,
    "times/neighbours/requests.py": 3,
    "times/neighbours/stage.py": 1,
    "lab/evidence/bundle.py": 2,
    "lab/jobs/worker.py": 3,
    "ship/crashes/finding.py": 1,
    "ship/crashes/lookup.py": 1,
    "ship/crashes/trimmed_programs.py": 1,
}
"""Lines in parts that measure what the program of MegEngine does, or look up its crashes."""
DEFAULTS = {
    "core/build_spec.py": 1,
    "core/config/model.py": 4,
    "core/config/references.py": 1,
    "core/report/html.py": 1,
    "core/trim/builds/size_options.py": 1,
    "core/trim/runs/execution.py": 1,
    "libs/elf/components.py": 5,
    "libs/programs/exit_status.py": 2,
    "libs/util/environment.py": 2,
    "places/compile/projects/link/invocation.py": 1,
    "places/compile/toolchains/clang_linux.py": 1,
}
"""Lines with defaults, names of files, and facts that were seen with it."""


def count_lines(file: Path) -> int:
    lines = file.read_text(encoding="utf-8").splitlines()
    return sum(1 for line in lines if NAMED.search(line))


def test_general_code_names_no_engine() -> None:
    files = [file for part in GENERAL for file in sorted((PACKAGE / part).rglob("*.py"))]
    counted = {file.relative_to(PACKAGE).as_posix(): count_lines(file) for file in files}
    found = {name: count for name, count in counted.items() if count}

    assert found == {**EXAMPLES, **MEASURING, **DEFAULTS}, "more: ask Project for it; fewer: say so"


def test_each_list_is_of_its_own_files() -> None:
    assert len({*EXAMPLES, *MEASURING, *DEFAULTS}) == len(EXAMPLES) + len(MEASURING) + len(DEFAULTS)
