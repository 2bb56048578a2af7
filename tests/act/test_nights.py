"""Three nights of a team: a clean one, one with a regression and without a device, a repaired one.

Each step depends on those before it. The engine's plant is larger than what a night would find, so
that few rounds find it on a busy machine.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from act import stranger
from act.driver.forge import KIT, STRANGER, Forge
from act.driver.runner import Act, Run
from act.world import World, content
from support.github_double import GithubDouble

CONFIG = stranger.CONFIG.replace(
    "  - {name: desk, qemu_cpu: max}\n",
    "  - {name: desk, qemu_cpu: max}\n  - {name: attic, qemu_cpu: max}\n",
).replace(
    "class: desk, runner: true}\n",
    "class: desk, runner: true}\n  - {name: shelf, kind: local, class: attic, runner: true}\n",
) + ("perf: {experiments: [baseline], budget: {rounds: 16}, threshold: 10%, inconclusive: warn}\n")
NIGHT = "megtrim-night.yml"
DESK, ATTIC = "tiny-mobile/default@desk", "tiny-mobile/default@attic"
SHARE = 40
"""Percent by which the planted defect slows every iteration down."""
JOBS = dict.fromkeys(
    ("build", "device attic 1/1", "device desk 1/1", "report", "history", "issues"), "success"
)


@pytest.fixture(scope="module")
def team(act: Act, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A team that has adopted megtrim; the server's git is the forge's, by a setting of git."""
    root = tmp_path_factory.mktemp("forge")
    settings = tmp_path_factory.mktemp("settings")
    (settings / "git").mkdir()
    (settings / "git" / "config").write_text(
        f'[url "{(root / "remotes").as_uri()}/"]\n\tinsteadOf = https://github.com/\n',
        encoding="utf-8",
    )
    env = {
        "CCACHE_DIR": os.environ.get("CCACHE_DIR") or str(Path.home() / ".cache" / "ccache"),
        "MEGTRIM_HOST_RUNS_PROGRAMS": "yes",
        "XDG_CONFIG_HOME": str(settings),
    }
    with GithubDouble() as double:
        world = World(Forge(root, act, double, env), CONFIG)
        world.begin()
        world.forge.merge(world.adopted)
        yield world


def run_night(team: World, day: int, **more: Any) -> Run:
    """Run the workflow at two o'clock."""
    return team.forge.run_dispatch(NIGHT, now=datetime(2027, 1, day, 2, tzinfo=UTC), **more)


def issues(team: World) -> list[dict[str, Any]]:
    """Return copies of all issues, as they are now."""
    return [dict(each) for each in team.forge.api.issues.values()]


@pytest.fixture(scope="module")
def clean(team: World) -> tuple[Run, list[dict[str, Any]]]:
    """The first night: there is nothing to compare with."""
    return run_night(team, 1), issues(team)


@pytest.fixture(scope="module")
def slow(team: World, clean: object) -> tuple[Run, list[dict[str, Any]]]:
    """The second: a commit slows the engine down, and the attic's machine goes away."""
    files: dict[str, str | bytes | None] = {stranger.OPTIONS: stranger.slowed_down(SHARE)}
    team.forge.push(files, branch="main", message="A change")
    lost = {"MEGTRIM_STAND_IN_FAULT": "device upload megtrim-times-attic-1"}
    return run_night(team, 2, env=lost), issues(team)


@pytest.fixture(scope="module")
def repaired(team: World, slow: object) -> tuple[Run, list[dict[str, Any]]]:
    """The third: the change is taken back, and the attic is there again."""
    files: dict[str, str | bytes | None] = {stranger.OPTIONS: stranger.slowed_down(0)}
    team.forge.push(files, branch="main", message="Take it back")
    return run_night(team, 3), issues(team)


def rows(run: Run) -> dict[str, Any]:
    """Return the row of each scenario."""
    verdict = content(run, "megtrim-performance", "verdict.json")
    return {each["scenario"]: each for each in verdict["performance"]["rows"]}


def points(run: Run) -> dict[str, list[str]]:
    """Return the nights that the page has of each scenario."""
    verdict = content(run, "megtrim-performance", "verdict.json")
    return {
        each["scenario"]: [point["date"] for point in each["points"]]
        for each in verdict["performance"]["history"]
    }


def test_a_clean_night_opens_no_issue(clean: tuple[Run, list[dict[str, Any]]]) -> None:
    """Times of both devices, nothing to compare them with, and a history that begins."""
    run, found = clean
    assert run.conclusions == JOBS
    assert found == []
    assert {each: row["status"] for each, row in rows(run).items()} == {
        DESK: "measured",
        ATTIC: "measured",
    }
    assert run.jobs["build"].outputs["commit"] == ""
    assert points(run) == {DESK: ["2027-01-01"], ATTIC: ["2027-01-01"]}


def test_a_regression_opens_one_issue(
    team: World,
    clean: tuple[Run, list[dict[str, Any]]],
    slow: tuple[Run, list[dict[str, Any]]],
) -> None:
    """With scenario, interval, suspected commits, and how to see it again."""
    run, found = slow
    assert run.conclusions == {**JOBS, "device attic 1/1": "failure", "issues": "failure"}
    (issue,) = found
    bad, good = team.forge.code.git("log", "--format=%H", "main~1", "-2").splitlines()
    assert run.jobs["build"].outputs["commit"] == good
    assert (issue["title"], issue["state"]) == (
        "tiny-mobile/default on desk got slower",
        "open",
    )
    assert issue["labels"] == [{"name": "megtrim-regression"}]
    body = issue["body"]
    (row,) = (each for each in rows(run).values() if each["scenario"] == DESK)
    (ratio,) = row["ratios"]
    assert ratio["lower"] < 1 + SHARE / 100 + 0.2
    assert ratio["lower"] > 1.1
    interval = f"{ratio['ratio']:.3f} ({ratio['lower']:.3f} to {ratio['upper']:.3f})"
    assert f"`{DESK}` got slower" in body
    assert f"| `baseline` | `bench` | `{good}` | **{interval}** |" in body
    assert f"git log --oneline {good}..{bad}" in body
    assert f"https://github.com/{STRANGER}/compare/{good}...{bad}" in body
    assert "megtrim perf run" in body
    assert f"--scenario {DESK}" in body


def test_a_device_that_is_missing_costs_its_own_rows(
    slow: tuple[Run, list[dict[str, Any]]],
) -> None:
    """They say so; nothing is said of the scenario's speed there."""
    run, _ = slow
    lost = rows(run)[ATTIC]
    assert (lost["status"], lost["times"]) == ("infrastructure", [])
    assert lost["reason"]
    assert points(run) == {DESK: ["2027-01-01", "2027-01-02"], ATTIC: ["2027-01-01"]}


def test_a_repair_closes_the_issue(
    slow: tuple[Run, list[dict[str, Any]]], repaired: tuple[Run, list[dict[str, Any]]]
) -> None:
    """Compared with the commit before the regression, not with the slow one."""
    run, found = repaired
    (before,), (after,) = slow[1], found
    assert run.conclusions == JOBS
    assert run.jobs["build"].outputs["commit"] in before["body"]
    assert (after["number"], after["state"]) == (before["number"], "closed")
    assert after["body"].startswith("**Repaired**")


def test_the_page_shows_all_three(team: World, repaired: tuple[Run, list[dict[str, Any]]]) -> None:
    """And the branch keeps them, one file for each device and night."""
    run, _ = repaired
    assert points(run) == {
        DESK: ["2027-01-01", "2027-01-02", "2027-01-03"],
        ATTIC: ["2027-01-01", "2027-01-03"],
    }
    with zipfile.ZipFile(run.artifacts["megtrim-performance"]) as archive:
        page = archive.read("index.html").decode()
    assert all(night in page for night in points(run)[DESK])
    bare = team.forge.root / "remotes" / f"{STRANGER}.git"
    listed = team.forge.code.git("ls-tree", "-r", "--name-only", "perf-history", cwd=bare)
    assert len(listed.splitlines()) == 5
    assert KIT not in listed
