"""Times taken on a phone behind adb that gets hot in the middle of a row, or is gone in one."""

import json
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import MakeProject
from integration.devices.rigs import ConnectedPhone
from support.megtrim_cli import Project

MODEL = "tiny-mobile"
ROUNDS = ("--rounds", "12")
OF_BASELINE = 2 + 12
"""Runs of the baseline's own row: for the outputs, for the length, and one a round."""
IN_THE_NEXT_ROW = OF_BASELINE + 10
"""A run of the row after it, when its rounds have begun."""


@pytest.fixture
def team(
    make_project: MakeProject, phone: ConnectedPhone, tmp_path: Path, request: pytest.FixtureRequest
) -> Project:
    """A project whose only device is a phone behind adb, of a class that no other test has.

    The tests share one folder of results, in which one would find what the other measured.
    """
    cpu_class: str = request.param
    project = make_project(MODEL, toolchain="zig")
    project.change(
        classes=[{"name": cpu_class}],
        devices=[{"name": "pixel", "kind": "adb", "class": cpu_class, "serial": phone.serial}],
        perf={
            "experiments": ["fast-run-cache"],
            "threshold": "50%",
            "other_load": "any",
            "inconclusive": "warn",
        },
    )
    project.env = {**phone.server.env, "MEGTRIM_STATE": str(tmp_path / "state")}
    return project


def read_rows(reported: str) -> dict[str, dict[str, Any]]:
    folder = json.loads(reported)["done"]["verdict/verdict"]["folder"]
    verdict = json.loads(Path(folder, "verdict.json").read_text("utf-8"))
    return {row["experiment"]: row for row in verdict["performance"]["rows"]}


@pytest.mark.parametrize("team", ["hot"], indirect=True)
def test_samples_of_a_hot_phone_are_left_out_of_their_row(
    team: Project, phone: ConnectedPhone
) -> None:
    phone.fault("hot", 82.0, moment="run", nth=IN_THE_NEXT_ROW, for_s=2.0)

    ended = team.run("perf run", *ROUNDS, "--json")

    assert phone.status()["happened"][0] == "hot at run"
    rows = read_rows(ended.stdout)
    assert {row["device"] for row in rows.values()} == {"pixel"}
    assert rows["baseline"]["status"] == "measured"
    assert rows["baseline"]["left_out"] == []
    hot = rows["fast-run-cache"]
    assert hot["status"] in ("measured", "inconclusive"), hot["reason"]
    [left_out] = hot["left_out"]
    assert left_out["reason"] == "throttled"
    assert hot["ratios"][0]["pairs"] == 12
    assert any("throttled" in each for each in hot["conditions"])
    assert phone.shell("ls /data/local/tmp/megtrim/runs").stdout == ""


@pytest.mark.parametrize("team", ["lost"], indirect=True)
def test_a_phone_that_is_lost_in_a_row_costs_that_row(team: Project, phone: ConnectedPhone) -> None:
    phone.fault("kill", moment="run", nth=IN_THE_NEXT_ROW)

    ended = team.run("perf run", *ROUNDS, "--json")

    assert ended.rc == 3, ended.stderr
    rows = read_rows(ended.stdout)
    assert rows["baseline"]["status"] == "measured"
    assert rows["fast-run-cache"]["status"] == "infrastructure"
    assert "pixel" in rows["fast-run-cache"]["reason"]

    phone.fault("revive")
    phone.connect()
    checked = team.run("devices check", "pixel")
    assert checked.rc == 0, checked.stderr
    resumed = team.run("perf run", *ROUNDS, "--json")

    assert resumed.rc in (0, 1), resumed.stderr
    assert f"ok    perf/{MODEL}/default@lost#baseline" in resumed.stderr
    assert read_rows(resumed.stdout)["fast-run-cache"]["status"] in ("measured", "inconclusive")
