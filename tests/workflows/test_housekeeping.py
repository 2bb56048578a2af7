import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from support.pages import find_refusal, read_noxfile
from workflows.documents import ROOT, action, actions, workflow, workflows

PINNED = re.compile(
    r"uses: ([\w.-]+/[\w.-]+)(?:/[\w.-]+)*@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$", re.M
)
TEXT = "".join(
    path.read_text(encoding="utf-8") for path in sorted((ROOT / ".github").rglob("*.yml"))
)
MATCHER = json.loads((ROOT / ".github/problem-matcher.json").read_text(encoding="utf-8"))
(OWN,) = MATCHER["problemMatcher"]
(PATTERN,) = OWN["pattern"]
WAYS = ("--quick", "--committed")
"""What a size check may put where a step says ``$WAY``."""
VALUES = {
    '"$PENDING"': "late",
    **dict.fromkeys(('"$PULL_REQUEST"', '"$JOBS"', '"$PICKUP"', '"$RUN"'), "1"),
}
"""What a step may put where an option takes no other text."""
COMMANDS = sorted(
    {
        step["run"]
        .replace('"$WAY"', way)
        .replace('"$COMMENT"', "--no-comment")
        .replace('"$CHECKS"', "--token-starts-checks")
        .replace('"$DEVICE"', "--emulated")
        for document in (*workflows(), *actions())
        for _, step in document.steps()
        if ".venv/bin/megtrim " in step.get("run", "")
        for way in WAYS
    }
)


def test_updates_cool_down() -> None:
    text = (ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8")
    updates = {each["package-ecosystem"]: each for each in yaml.safe_load(text)["updates"]}

    assert sorted(updates) == ["github-actions", "gomod", "pip"]
    assert {each["cooldown"]["default-days"] for each in updates.values()} == {7}
    assert updates["github-actions"]["directories"] == ["/", "/.github/actions/*"]
    assert list((ROOT / updates["pip"]["directory"].strip("/")).glob("*.txt"))
    assert (ROOT / updates["gomod"]["directory"].strip("/") / "go.mod").is_file()
    assert "insecure-external-code-execution" not in text


def test_what_runs_elsewhere_has_owners() -> None:
    text = (ROOT / ".github" / "CODEOWNERS").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]

    assert {place for place, _ in lines} >= {"/.github/", "/ci/", "/requirements/", "/scripts/"}
    assert {owner for _, owner in lines} == {"@megtrim/maintainers"}
    for place, _ in lines:
        assert (ROOT / place.strip("/")).exists(), place


def test_ci_installs_what_the_lanes_need() -> None:
    sessions = read_noxfile()
    steps = workflow("ci").jobs["tests"]["steps"]
    install = next(step["run"] for step in steps if " install " in step.get("run", ""))
    words = install.split()

    assert words[:7] == ["sudo", "-n", "apt-get", "-qq", "install", "-y", "--no-install-recommends"]
    assert set(words[7:]) == set(sessions["TESTS"]) - {"chromium", "chromium-driver"}


def test_ci_runs_what_people_run() -> None:
    ci = workflow("ci")
    sessions = ci.jobs["checks"]["strategy"]["matrix"]["session"]
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    last = ci.jobs["tests"]["steps"][-1]

    assert sessions == ["lint", "types", "workflows", "core_alone"]
    assert all(f"\ndef {session}(" in noxfile for session in sessions)
    assert last["run"] == "python3 scripts/fresh.py tests"
    assert last["env"] == {"MEGTRIM_LANES": "required", "MEGTRIM_LANES_SPARED": "blocks"}
    assert sorted(ci.events) == ["merge_group", "pull_request", "push"]


def test_one_python_everywhere() -> None:
    steps = [*action("set-up").steps(), *workflow("ci").steps()]
    versions = {
        step["with"]["python-version"]
        for _, step in steps
        if step.get("uses", "").startswith("actions/setup-python@")
    }

    assert versions == {"3.11"}


def test_a_team_is_shown_what_to_set() -> None:
    text = Path(ROOT, "SECURITY.md").read_text(encoding="utf-8")

    for word in ("megtrim-devices", "size / verdict", "pull_request_target", "actions/*"):
        assert word in text


def test_every_action_of_others_is_pinned_at_one_version() -> None:
    used = set(PINNED.findall(TEXT))

    assert len(PINNED.findall(TEXT)) == len(re.findall(r"\buses: (?!\./)", TEXT))
    assert len({action for action, _, _ in used}) == len(used) == 7
    assert {action.split("/")[0] for action, _, _ in used} == {"actions"}


def match(line: str) -> tuple[str, str, str] | None:
    found = re.search(PATTERN["regexp"], line)
    if found is None:
        return None
    return found[PATTERN["file"]], found[PATTERN["line"]], found[PATTERN["message"]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("megtrim: megtrim.yaml:3: engine.kind: found 'x'", "megtrim.yaml"),
        ("  trim/megtrim.yaml:3: engine.kind: found 'x'", "trim/megtrim.yaml"),
        ("megtrim: third_party/E/.gitmodules:3: found x", "third_party/E/.gitmodules"),
        ("megtrim: models/a b.mge.json:3: found x", "models/a b.mge.json"),
    ],
)  # fmt: skip
def test_errors_with_a_place_are_found(line: str, expected: str) -> None:
    found = match(line)

    assert found is not None
    assert found[:2] == (expected, "3")


@pytest.mark.parametrize(
    "line",
    [
        "megtrim: there is no engine checkout at x",
        "src/a.cpp:12:5: error: no such name",
        "src/a.cpp:12: error",
        "12:00:03: megtrim.yaml is read",
        "building a.yaml",
    ],
)
def test_other_lines_are_no_errors(line: str) -> None:
    assert match(line) is None


def test_the_problem_matcher_is_ours_alone() -> None:
    """Another tool's matcher of the same name would be replaced."""
    assert (OWN["owner"], OWN["severity"]) == ("megtrim", "error")


@pytest.mark.parametrize("run", COMMANDS)
def test_the_command_line_takes_it(run: str) -> None:
    words = (VALUES.get(word, word) for word in run.partition(".venv/bin/")[2].split())
    assert find_refusal(" ".join(words)) == ""


def test_commands_were_found() -> None:
    verbs = {
        " ".join(w for w in shlex.split(run)[1:4] if not w.startswith("-")) for run in COMMANDS
    }

    assert verbs == {
        "ci github baseline",
        "ci github wait",
        "ci github publish",
        "ci github propose",
        "ci github publish-fork",
        "ci github image",
        "ci github logs",
        "ci github names",
        "trim",
        "stage build",
        "ci gate report",
        "ci evidence pack",
        "ci evidence run",
        "ci evidence join",
        "ci github base",
        "ci github environment",
        "ci github history",
        "ci github regression-issues",
        "ci sources fetch",
        "release build ../draft",
        "release prove draft",
        "ci github release",
        "ci github toolchains",
        "ci github release-files",
    }
