"""Three configurations in one repository, checked by one caller's matrix in one run.

All are of the same engine and model, so only their names keep what they leave apart. One has
another budget; one is a toolchain of a file that may have several, is trimmed quickly and has no
device. act runs nothing after a caller's failed job, so only the first run has its summary.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import pytest

from act import stranger
from act.driver.forge import KIT
from act.driver.runner import Run
from act.world import WITH_DEVICE, Chapter, World, content
from megtrim.evidence.early_exit import ENDING_FILE
from megtrim.github.comment import key_of
from support.fork_server import run_megtrim

CONFIGS = {
    "app": "megtrim.yaml",
    "android": "android/megtrim.yaml",
    "quick": "quick/megtrim.yaml#desk",
}
SUFFIXES = {"app": "", "android": ".android", "quick": ".quick_desk"}
JOBS = {
    **{f"size app / {name}": end for name, end in WITH_DEVICE.items()},
    **{
        f"size android / {name.replace('device', 'device android')}": end
        for name, end in WITH_DEVICE.items()
    },
    "size quick / build": "success",
    "size quick / verdict": "success",
}
SUMMARY = {"verdict": "success"}
"""The job of the summary, whose caller has no matrix."""
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
          - {{name: app, config: megtrim.yaml, quick: false}}
          - {{name: android, config: android/megtrim.yaml, quick: false}}
          - {{name: quick, config: quick/megtrim.yaml#desk, quick: true}}
    permissions: {{actions: read, contents: read, pull-requests: write}}
    uses: {kit}/.github/workflows/size-check.yml@{sha}
    with:
      kit-repository: {kit}
      kit-sha: {sha}
      device-pickup-minutes: 0.2
      config: ${{{{ matrix.config }}}}
      quick: ${{{{ matrix.quick }}}}
  summary:
    name: size all
    needs: size
    if: always()
    permissions: {{contents: read, pull-requests: write}}
    uses: {kit}/.github/workflows/size-summary.yml@{sha}
    with:
      kit-repository: {kit}
      kit-sha: {sha}
      config: quick/megtrim.yaml
      toolchains: desk
"""


def below(config: str) -> str:
    """Return a configuration of the repository's engine and model in a folder of its own."""
    return config.replace("source: engine", "source: ../engine").replace(
        "models/tiny", "../models/tiny"
    )


@pytest.fixture(scope="module")
def stored(world: World) -> Run:
    """The default branch has all three, and stores their baselines."""
    world.forge.merge(world.adopted)
    kept = Path("megtrim/keepset", stranger.SCENARIO_FILE)
    strict = stranger.CONFIG.replace("growth: 16 KiB", "growth: 1 KiB")
    device = next(line for line in stranger.CONFIG.splitlines() if "bench" in line)
    files: dict[str, str | bytes | None] = {
        ".github/workflows/megtrim.yml": CALLER.format(kit=KIT, sha=world.forge.kit_sha),
        "android/megtrim.yaml": below(strict),
        "quick/megtrim.yaml": below(
            stranger.CONFIG.replace(f"devices:\n{device}\n", "").replace(
                "toolchain: {kind: host}", "toolchains: [{name: desk, kind: host}]"
            )
        ),
        f"android/{kept}": (world.forge.code.work / kept).read_bytes(),
    }
    world.forge.push(files, branch="main", message="Three configurations")
    return world.forge.run_push()


@pytest.fixture(scope="module")
def changed(world: World, stored: Run) -> Chapter:
    """A pull request that costs more than one of them allows."""
    assert stored.conclusions == JOBS | SUMMARY
    files: dict[str, str | bytes | None] = {stranger.MAIN: stranger.with_table(4096)}
    return world.run_pull(world.propose("table", files))


def test_each_stores_a_baseline(stored: Run) -> None:
    """No job has replaced what another one uploaded."""
    assert sorted(stored.artifacts) == sorted(
        [
            *(f"megtrim-{what}{end}" for what in ("baseline", "proofs", "report", "results")
              for end in SUFFIXES.values()),
            *(f"megtrim-bundle{end}" for end in SUFFIXES.values()),
            *("megtrim-evidence-desk-1", "megtrim-evidence.android.desk-1"),
        ]
    )  # fmt: skip
    sizes = {
        name: content(stored, f"megtrim-baseline{end}", "sizes.json")
        for name, end in SUFFIXES.items()
    }
    assert {name: each.get("quick", False) for name, each in sizes.items()} == {
        "app": False,
        "android": False,
        "quick": True,
    }
    assert sizes["app"]["artifacts"] == sizes["android"]["artifacts"] != sizes["quick"]["artifacts"]


def test_each_has_a_check_of_its_own(changed: Chapter) -> None:
    """Only the one whose budget is exceeded is red; devices of both others were heard."""
    red = ("size android / verdict", "size android / late")
    assert changed.run.conclusions == {**JOBS, **dict.fromkeys(red, "failure")}
    verdicts = {
        name: content(changed.run, f"megtrim-report{end}", "verdict.json")
        for name, end in SUFFIXES.items()
    }
    assert {name: each["verdict"] for name, each in verdicts.items()} == {
        "app": "pass",
        "android": "fail",
        "quick": "pass",
    }
    for name in ("app", "android"):
        assert verdicts[name]["invocation"]["config"] == CONFIGS[name]
        (check,) = (each for each in verdicts[name]["checks"] if each["kind"] == "device")
        assert check["status"] == "pass"


def test_each_has_a_comment_of_its_own(changed: Chapter) -> None:
    """With its name, its artifact, and growth against its own baseline."""
    bodies = {each["body"].rpartition("\n")[2]: each["body"] for each in changed.comments}
    assert sorted(bodies) == sorted(
        f"<!-- megtrim:report:v1:{key_of(config)} -->" for config in CONFIGS.values()
    )
    for name, config in CONFIGS.items():
        body = bodies[f"<!-- megtrim:report:v1:{key_of(config)} -->"]
        assert (f"(`{config}`)" in body.splitlines()[0]) is (name != "app")
        assert f"as its artifact `megtrim-report{SUFFIXES[name]}`" in body
        assert "the merge base, stored today" in body


def test_a_publisher_of_junit_counts_all_cases(changed: Chapter) -> None:
    """It reads the files of all three as one: what has one class and name would be one case."""
    cases = [
        (case.get("classname"), case.get("name"))
        for end in SUFFIXES.values()
        for case in _junit(changed.run, f"megtrim-report{end}").iter("testcase")
    ]
    assert len(cases) == len({*cases}) > 10


def _junit(run: Run, artifact: str) -> ET.Element:
    with zipfile.ZipFile(run.artifacts[artifact]) as archive:
        return ET.fromstring(archive.read("junit.xml"))


@pytest.mark.parametrize("swapped", ["", "results", "bundle", "evidence"])
def test_what_another_configuration_left_is_refused(
    changed: Chapter, tmp_path: Path, swapped: str
) -> None:
    """The real artifacts of this run, one of them taken from its neighbour."""
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
        *("ci", "evidence", "join", "--config", "android/megtrim.yaml", "--to", "report"),
        *("--verdict", "results/verdict.json", "--bundle", "bundle", "--evidence", "evidence"),
        cwd=tmp_path,
    )

    if not swapped:
        assert joined.rc == 0
        return
    assert joined.rc == 2
    assert "is of the configuration megtrim.yaml, expected one of android/" in joined.stderr
    assert (tmp_path / "report" / ENDING_FILE).is_file()
