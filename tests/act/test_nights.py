"""Three nights of a team: a clean one, one with a regression and without a device, a repaired one.

Each step depends on those before it. The engine's plant is larger than what a night would find, so
that few rounds find it on a busy machine.
"""

import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from act import stranger
from act.driver.forge import KIT, STRANGER
from act.driver.runner import Run
from act.world import World, content

ADOPTED = stranger.CONFIG.replace(
    "  - {name: desk, qemu_cpu: max}\n",
    "  - {name: desk, qemu_cpu: max}\n  - {name: attic, qemu_cpu: max}\n",
).replace(
    "class: desk, runner: true}\n",
    "class: desk, runner: true}\n  - {name: shelf, kind: local, class: attic, runner: true}\n",
) + (
    "perf: {experiments: [baseline], budget: {rounds: 16}, threshold: 10%, other_load: any, "
    "inconclusive: warn}\nwork: {}\n"
)
NIGHT = "megtrim-night.yml"
DESK = "tiny-mobile/default@desk"
ATTIC = "tiny-mobile/default@attic"
SHARE = 40
"""Percent by which the planted defect slows every iteration down."""
JOBS = dict.fromkeys(
    ("build", "device attic 1/1", "device desk 1/1", "report", "history", "issues"), "success"
)


@pytest.fixture(scope="module")
def team(world: World) -> World:
    world.forge.merge(world.adopted)
    return world


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One run, the commit that it measured, and the issues that there were afterwards."""

    run: Run
    commit: str
    issues: tuple[dict[str, Any], ...]


def run_night(team: World, day: int, **more: Any) -> Night:
    commit = team.forge.api.heads["main"]
    now = datetime(2027, 1, day, 2, tzinfo=UTC)
    env = {"MEGTRIM_NOW": now.isoformat(), **more.pop("env", {})}
    run = team.forge.run_dispatch(NIGHT, now=now, env=env, **more)
    issues = tuple(dict(each) for each in team.forge.api.issues.values())
    return Night(run=run, commit=commit, issues=issues)


@pytest.fixture(scope="module")
def clean(team: World) -> Night:
    """The first night: there is nothing to compare with."""
    return run_night(team, 1)


@pytest.fixture(scope="module")
def slow(team: World, clean: object) -> Night:
    """The second: a commit slows the engine down, and the attic's machine goes away."""
    files: dict[str, str | bytes | None] = {stranger.OPTIONS: stranger.slowed_down(SHARE)}
    team.forge.push(files, branch="main", message="A change")
    lost = {"MEGTRIM_STAND_IN_FAULT": "device upload megtrim-times-attic-1"}
    return run_night(team, 2, env=lost)


@pytest.fixture(scope="module")
def repaired(team: World, slow: object) -> Night:
    """The third: the change is taken back, and the attic is there again."""
    files: dict[str, str | bytes | None] = {stranger.OPTIONS: stranger.slowed_down(0)}
    team.forge.push(files, branch="main", message="Take it back")
    return run_night(team, 3)


def rows(run: Run) -> dict[str, Any]:
    verdict = content(run, "megtrim-performance", "verdict.json")
    return {each["scenario"]: each for each in verdict["performance"]["rows"]}


def points(run: Run) -> dict[str, list[str]]:
    verdict = content(run, "megtrim-performance", "verdict.json")
    return {
        each["scenario"]: [point["measured_at"][:10] for point in each["points"]]
        for each in verdict["performance"]["history"]
    }


def test_a_clean_night_opens_no_issue(clean: Night) -> None:
    run = clean.run
    found = clean.issues
    assert run.conclusions == JOBS
    assert found == ()
    assert {each: row["status"] for each, row in rows(run).items()} == {
        DESK: "measured",
        ATTIC: "measured",
    }
    assert run.jobs["build"].outputs["commit"] == ""
    assert points(run) == {DESK: ["2027-01-01"], ATTIC: ["2027-01-01"]}


def test_a_regression_opens_one_issue(clean: Night, slow: Night) -> None:
    run = slow.run
    good = clean.commit
    bad = slow.commit
    # act may give all legs of a matrix the result of one.
    others = {name: ended for name, ended in run.conclusions.items() if "device" not in name}
    assert others == {"build": "success", "report": "failure", "history": "success",
                      "issues": "success"}  # fmt: skip
    assert run.conclusions["device attic 1/1"] == "failure"
    assert [name for name in run.artifacts if "times" in name] == ["megtrim-times-desk-1"]
    (issue,) = slow.issues
    assert run.jobs["build"].outputs["commit"] == good
    assert (issue["title"], issue["state"]) == ("tiny-mobile/default on desk got slower", "open")
    assert issue["labels"] == [{"name": "megtrim-regression"}]
    body = issue["body"]
    (row,) = (each for each in rows(run).values() if each["scenario"] == DESK)
    (ratio,) = row["ratios"]
    assert 1 < ratio["lower"] <= ratio["ratio"]
    interval = f"{ratio['ratio']:.3f} ({ratio['lower']:.3f} to {ratio['upper']:.3f})"
    assert f"`{DESK}` got slower" in body
    slowdown = f"{100 * (ratio['ratio'] - 1):.3g}% slower"
    row_of_issue = f"| `baseline` | {slowdown} | `main at {good[:12]}` | `bench` | **{interval}** |"
    assert row_of_issue in body
    assert f"git log --oneline {good}..{bad}" in body
    assert f"https://github.com/{STRANGER}/compare/{good}...{bad}" in body
    counted = f"does more or less at `{bad[:12]}` than at `{good[:12]}`:"  # the plant waits
    assert all(each in body for each in ("megtrim perf run", f"--scenario {DESK}", counted))


def test_a_device_that_is_missing_costs_its_own_rows(slow: Night) -> None:
    run = slow.run
    lost = rows(run)[ATTIC]
    assert (lost["status"], lost["times"]) == ("infrastructure", [])
    assert lost["reason"]
    assert points(run) == {DESK: ["2027-01-01", "2027-01-02"], ATTIC: ["2027-01-01"]}


def test_a_repair_closes_the_issue(clean: Night, slow: Night, repaired: Night) -> None:
    run = repaired.run
    (before,) = slow.issues
    (after,) = repaired.issues
    assert run.conclusions == JOBS
    assert run.jobs["build"].outputs["commit"] == clean.commit
    assert (after["number"], after["state"]) == (before["number"], "closed")
    assert after["body"].startswith("**Repaired**")


def test_the_page_shows_all_three(team: World, repaired: Night) -> None:
    run = repaired.run
    assert points(run) == {
        DESK: ["2027-01-01", "2027-01-02", "2027-01-03"],
        ATTIC: ["2027-01-01", "2027-01-03"],
    }
    with zipfile.ZipFile(run.artifacts["megtrim-performance"]) as archive:
        page = archive.read("index.html").decode()
    assert all(night in page for night in points(run)[DESK])
    bare = team.forge.root / "remotes" / f"{STRANGER}.git"
    listed = team.forge.code.git("ls-tree", "-r", "--name-only", "perf-history", cwd=bare)
    # Two devices in three nights; one of them did not answer in the second night.
    assert len(listed.splitlines()) == 6
    assert KIT not in listed
