"""Four configurations in one repository, checked by the callers of two files.

All are of the same engine and model, so only their names keep what they leave apart. Two are
files, checked by one caller's matrix; one of them has another budget. Two are toolchains of a
third file, with the caller that `megtrim init` writes and one summary; they have two compilers, are
trimmed quickly and have no device. One of these is zig, whose programs are the same bytes on every
machine, so files hold its comments with all sizes.
"""

import xml.etree.ElementTree as ET
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from act import golden, stranger
from act.driver.forge import KIT, KIT_VERSION
from act.driver.runner import Run
from act.world import WITH_DEVICE, Chapter, World, content
from megtrim.core.config.units import format_bytes, format_growth
from megtrim.hosting.github.issues import key_of
from megtrim.libs.util.limits import ENDING_FILE
from support.megtrim_cli import run_megtrim

CONFIGS = {"app": "megtrim.yaml", "android": "android/megtrim.yaml"}
QUICK = "quick/megtrim.yaml"
TOOLCHAINS = ("desk", "board")
SUFFIXES = {"app": "", "android": ".android"}
LEGS = {"desk": ".quick_desk", "board": ".quick_board"}
JOBS = {
    **{f"size app / {name}": end for name, end in WITH_DEVICE.items()},
    **{
        f"size android / {name.replace('device', 'device android')}": end
        for name, end in WITH_DEVICE.items()
    },
}
LEG_JOBS = {
    f"size quick {name} / {job}": "success" for name in TOOLCHAINS for job in ("build", "verdict")
} | {"size quick / verdict": "success"}
QUICK_CALLER = "megtrim.quick.yml"
MEMORY = "memory: {growth: 1 MiB}\n"
GROWN_BYTES = 8 << 20
CALLER = """\
name: megtrim
on: [push, pull_request]
permissions: {{}}
jobs:
  size:
    name: size ${{{{ matrix.name }}}}
    strategy:
      fail-fast: false
      matrix:
        include:
          - {{name: app, config: megtrim.yaml}}
          - {{name: android, config: android/megtrim.yaml}}
    permissions: {{actions: read, contents: read, pull-requests: write}}
    uses: {kit}/.github/workflows/size-check.yml@{sha}
    with:
      kit-repository: {kit}
      kit-sha: {sha}
      device-pickup-minutes: 0.1
      config: ${{{{ matrix.config }}}}
"""
SEVERAL = """\
toolchains:
  - {name: desk, kind: host}
  - {name: board, kind: zig}
classes:
  - {name: desk, qemu_cpu: max, toolchains: [desk]}
  - {name: board, qemu_cpu: max, toolchains: [board]}
"""


def below(config: str) -> str:
    return config.replace("source: engine", "source: ../engine").replace(
        "models/tiny", "../models/tiny"
    )


def with_toolchains(config: str) -> str:
    own = config[config.index("toolchain:") : config.index("models:")]
    return config.replace(own, SEVERAL)


def write_callers(work: Path, kit_sha: str) -> None:
    written = run_megtrim(
        "init",
        "--github",
        "--config",
        QUICK,
        "--kit",
        KIT,
        "--kit-sha",
        kit_sha,
        "--kit-version",
        KIT_VERSION,
        cwd=work,
        env={"GITHUB_SERVER_URL": (work.parent / "remotes").as_uri()},
    )
    assert written.rc == 0, written.stderr
    caller = work / ".github/workflows" / QUICK_CALLER
    text = stranger.leave_history_out(caller.read_text(encoding="utf-8"))
    assert text.count("with: {config: ") == 3
    given = f"with: {{kit-repository: {KIT}, kit-sha: {kit_sha}, config: "
    text = text.replace("with: {config: ", given)
    caller.write_text(text.replace("comment: false", "comment: false, quick: true"), "utf-8")


@dataclass(frozen=True, slots=True)
class Checks:
    files: Run
    toolchains: Run


@pytest.fixture(scope="module")
def stored(world: World) -> Checks:
    world.forge.merge(world.adopted)
    kept = Path("megtrim/keepset", stranger.SCENARIO_FILE)
    strict = stranger.CONFIG.replace("growth: 16 KiB", "growth: 1 KiB") + MEMORY
    files: dict[str, str | bytes | None] = {
        ".github/workflows/megtrim.yml": CALLER.format(kit=KIT, sha=world.forge.kit_sha),
        "android/megtrim.yaml": below(strict),
        QUICK: below(with_toolchains(stranger.CONFIG)),
        f"android/{kept}": (world.forge.code.work / kept).read_bytes(),
        stranger.MAIN: stranger.with_table(8192),
    }
    world.forge.push(files, branch="main", message="Three files")
    write_callers(world.forge.code.work, world.forge.kit_sha)
    sha = world.forge.code.save(message="The callers of the third", branch="main")
    world.forge.know(sha)
    world.forge.api.set_head("main", sha)
    world.forge.api.workflows[QUICK_CALLER] = {"pull-request"}
    return Checks(world.forge.run_push(), world.forge.run_push(workflow=QUICK_CALLER))


@pytest.fixture(scope="module")
def changed(world: World, stored: Checks) -> Chapter:
    assert stored.files.conclusions == JOBS
    main = stranger.holding(stranger.with_table(12288), GROWN_BYTES)
    files: dict[str, str | bytes | None] = {stranger.MAIN: main}
    return world.run_pull(world.propose("table", files))


@pytest.fixture(scope="module")
def joined(world: World, stored: Checks, changed: Chapter) -> Chapter:
    assert stored.toolchains.conclusions == LEG_JOBS
    return world.run_pull(changed.number, workflow=QUICK_CALLER)


def test_each_stores_a_baseline(stored: Checks) -> None:
    kinds = ("baseline", "proofs", "report", "results")
    assert sorted(stored.files.artifacts) == sorted(
        [
            *(f"megtrim-{what}{end}" for what in (*kinds, "bundle") for end in SUFFIXES.values()),
            "megtrim-evidence-desk-1",
            "megtrim-evidence.android.desk-1",
        ]
    )
    assert sorted(stored.toolchains.artifacts) == sorted(
        f"megtrim-{what}{end}" for what in (*kinds, "bundle") for end in LEGS.values()
    )
    runs = {**dict.fromkeys(SUFFIXES.values(), stored.files)}
    runs |= dict.fromkeys(LEGS.values(), stored.toolchains)
    sizes = {end: content(run, f"megtrim-baseline{end}", "sizes.json") for end, run in runs.items()}
    assert [end for end, each in sizes.items() if each.get("quick", False)] == [*LEGS.values()]
    app, android, desk, board = (each["artifacts"] for each in sizes.values())
    assert app == android != desk != board


def test_each_file_has_a_check_of_its_own(changed: Chapter) -> None:
    red = ("size android / verdict", "size android / late")
    assert changed.run.conclusions == {**JOBS, **dict.fromkeys(red, "failure")}
    verdicts = {
        name: content(changed.run, f"megtrim-report{end}", "verdict.json")
        for name, end in SUFFIXES.items()
    }
    assert {name: each["verdict"] for name, each in verdicts.items()} == {
        "app": "pass",
        "android": "fail",
    }
    for name, config in CONFIGS.items():
        assert verdicts[name]["invocation"]["config"] == config
        (check,) = (each for each in verdicts[name]["checks"] if each["kind"] == "device")
        assert check["status"] == "pass"


def test_each_file_has_a_comment_of_its_own(changed: Chapter) -> None:
    bodies = {each["body"].rpartition("\n")[2]: each["body"] for each in changed.comments}
    assert sorted(bodies) == sorted(
        f"<!-- megtrim:report:v1:{key_of(config)} -->" for config in CONFIGS.values()
    )
    for name, config in CONFIGS.items():
        body = bodies[f"<!-- megtrim:report:v1:{key_of(config)} -->"]
        assert (f"(`{config}`)" in body.splitlines()[2]) is (name != "app")
        assert f"The report is the artifact `megtrim-report{SUFFIXES[name]}`" in body
        assert "the merge base, stored today" in body


def test_a_comment_says_by_how_much_memory_grew(changed: Chapter) -> None:
    verdict = content(changed.run, "megtrim-report.android", "verdict.json")
    _, grown = (row for row in verdict["budgets"] if row["measure"] == "peak memory")
    assert (grown["artifact"], grown["status"]) == ("tiny-mobile/default@desk", "fail")
    assert abs(grown["used"] - GROWN_BYTES) < GROWN_BYTES / 10
    (body,) = (each["body"] for each in changed.comments if "(`android/" in each["body"])
    memory = "`tiny-mobile/default@desk` peak memory, trimmed"
    said = f"{memory}: {format_growth(grown['used'])} since "
    assert f"### Instructions and memory that changed\n\n- {said}" in body


def test_the_toolchains_of_a_file_share_a_comment_and_a_check(joined: Chapter) -> None:
    assert joined.run.conclusions == LEG_JOBS
    files = {f"<!-- megtrim:report:v1:{key_of(config)} -->" for config in CONFIGS.values()}
    bodies = [each["body"] for each in joined.comments]
    (body,) = (each for each in bodies if each.rpartition("\n")[2] not in files)
    assert body.rpartition("\n")[2] == f"<!-- megtrim:report:v1:{key_of(QUICK)} -->"
    head, _, about, *_ = body.splitlines()
    assert head.startswith("## ✅ 2 of 2 toolchains pass")
    assert about == f"megtrim: pass for `vision-app` (`{QUICK}`)"
    rows = {
        cells[1].strip(): cells for line in body.splitlines() if len(cells := line.split("|")) > 6
    }
    for name, end in LEGS.items():
        verdict = content(joined.run, f"megtrim-report{end}", "verdict.json")
        assert verdict["invocation"]["config"] == f"{QUICK}#{name}"
        (reduced,) = (
            each for each in verdict["artifacts"][0]["sizes"] if each["variant"] == "reduced"
        )
        assert reduced["growth_bytes"] > 0
        assert "✅ pass" in rows[f"`{name}`"][2]
        assert format_bytes(reduced["size_bytes"]) in rows[f"`{name}`"][5]
        assert f"The report is the artifact `megtrim-report{end}`" in body


@dataclass(frozen=True, slots=True)
class Page:
    text: str
    before: int
    after: int


def read_page(name: str, chapter: Chapter, stored: Checks) -> Page:
    end = LEGS[name]
    marker = f"<!-- megtrim:report:v1:{key_of(QUICK)} -->"
    (body,) = (each["body"] for each in chapter.comments if marker in each["body"])
    titles = {each: body.index(f"<details><summary><code>{each}</code>: ") for each in TOOLCHAINS}
    after = [at for at in (*titles.values(), body.index(marker)) if at > titles[name]]
    text = body[titles[name] : min(after)]
    sizes = content(stored.toolchains, f"megtrim-baseline{end}", "sizes.json")["artifacts"]
    verdict = content(chapter.run, f"megtrim-report{end}", "verdict.json")
    (after,) = (
        each["size_bytes"]
        for each in verdict["artifacts"][0]["sizes"]
        if each["variant"] == "reduced"
    )
    return Page(text, sizes["load_and_run"]["reduced"], after)


def test_growth_is_the_same_to_the_byte_on_every_machine(joined: Chapter, stored: Checks) -> None:
    """Of the toolchain that is: cause, symbols and sizes are held by a file."""
    page = read_page("board", joined, stored)
    growth = format_growth(page.after - page.before)
    assert f"`load_and_run` {growth} (" in page.text
    assert " · against main at " in page.text
    assert f"\n- **source** {growth}: " in page.text
    golden.check("zig-larger", page.text, exact=True)
    assert read_page("desk", joined, stored).before != page.before


def test_a_publisher_of_junit_counts_all_cases(changed: Chapter, joined: Chapter) -> None:
    runs = {**dict.fromkeys(SUFFIXES.values(), changed.run)}
    runs |= dict.fromkeys(LEGS.values(), joined.run)
    cases = [
        (case.get("classname"), case.get("name"))
        for end, run in runs.items()
        for case in _junit(run, f"megtrim-report{end}").iter("testcase")
    ]
    assert len(cases) == len({*cases}) > 12


def _junit(run: Run, artifact: str) -> ET.Element:
    with zipfile.ZipFile(run.artifacts[artifact]) as archive:
        return ET.fromstring(archive.read("junit.xml"))


@pytest.mark.parametrize("swapped", ["", "results", "bundle", "evidence"])
def test_what_another_configuration_left_is_refused(
    changed: Chapter, tmp_path: Path, swapped: str
) -> None:
    own = {
        "results": "megtrim-results.android",
        "bundle": "megtrim-bundle.android",
        "evidence": "megtrim-evidence.android.desk-1",
    }
    theirs = {
        "results": "megtrim-results",
        "bundle": "megtrim-bundle",
        "evidence": "megtrim-evidence-desk-1",
    }
    for name, artifact in own.items():
        taken = theirs[name] if name == swapped else artifact
        with zipfile.ZipFile(changed.run.artifacts[taken]) as archive:
            archive.extractall(tmp_path / name)
    joined = run_megtrim(
        "ci",
        "evidence",
        "join",
        "--config",
        "android/megtrim.yaml",
        "--to",
        "report",
        "--verdict",
        "results/verdict.json",
        "--bundle",
        "bundle",
        "--evidence",
        "evidence",
        cwd=tmp_path,
    )

    if not swapped:
        assert joined.rc == 0
        return
    assert joined.rc == 2
    assert "is of the configuration megtrim.yaml, expected one of android/" in joined.stderr
    assert (tmp_path / "report" / ENDING_FILE).is_file()


@pytest.mark.parametrize("swapped", [False, True])
def test_the_summary_refuses_the_report_of_another_toolchain(
    joined: Chapter, tmp_path: Path, swapped: bool
) -> None:
    for name, end in LEGS.items():
        taken = LEGS["desk"] if swapped else end
        with zipfile.ZipFile(joined.run.artifacts[f"megtrim-report{taken}"]) as archive:
            archive.extractall(tmp_path / f"reports/megtrim-report{LEGS[name]}")
    done = run_megtrim(
        "ci",
        "github",
        "toolchains",
        "reports",
        "--config",
        QUICK,
        "--to",
        "report",
        "--names",
        " ".join(TOOLCHAINS),
        cwd=tmp_path,
    )

    assert done.rc == (2 if swapped else 0)
    head = (tmp_path / "report/comment.md").read_text(encoding="utf-8").splitlines()[0]
    assert ("no verdict" in head and "`board`" in head) is swapped
    assert ("is of the configuration quick/megtrim.yaml#desk" in done.stdout) is swapped
