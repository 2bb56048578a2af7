"""A team's phone from its configuration to the verdict: there, gone, and gone for too long."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from integration.conftest import MakeProject
from integration.devices.rigs import ConnectedPhone
from megtrim.places.devices.device import DEFAULT_TIMEOUTS
from support.clock import clock_at
from support.megtrim_cli import Project

MODEL = "tiny-mobile"
SCENARIO = f"{MODEL}/default@phone"
GONE = "NO-PHONE-HAS-THIS"


@pytest.fixture
def team(
    make_project: MakeProject, phone: ConnectedPhone, tmp_path: Path, shared_out: Path
) -> Project:
    """A project whose only device is a phone behind adb.

    What others leave in ``final`` while this test looks there must not be taken for its own.
    """
    project = make_project(MODEL, toolchain="zig")
    assert project.run("stage build").rc == 0
    project.out = tmp_path / "own-out"
    assert project.run("stage build", "--reuse", str(shared_out)).rc == 0
    project.change(classes=[{"name": "phone"}])
    _has(project, phone.serial)
    project.env = {**phone.server.env, "MEGTRIM_STATE": str(tmp_path / "state")}
    return project


def _has(project: Project, serial: str) -> None:
    config = project.read()
    phone = {"name": "pixel", "kind": "adb", "class": "phone", "serial": serial}
    project.write(config | {"devices": [phone]})


def _verdict(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project.out / "final/verdict.json").read_text("utf-8"))
    return found


def test_a_phone_that_is_gone_blocks_no_one_until_its_proof_is_too_old(
    team: Project, phone: ConnectedPhone
) -> None:
    with clock_at("2027-01-01"):
        proven = team.run("trim")
    assert proven.rc == 0, proven.stderr
    verdict = _verdict(team)
    assert verdict["verdict"] == "pass"
    assert [each["name"] for each in verdict["devices"]] == ["pixel"]
    assert verdict["devices"][0]["kind"] == "adb"
    assert verdict["devices"][0]["facts"]["machine"] == "aarch64"
    assert phone.shell("ls /data/local/tmp/megtrim/runs").stdout.split() == []

    _has(team, GONE)
    with clock_at("2027-01-04"):
        verified = team.run("verify", "--committed", "--again")
        ended = team.run("trim", "--committed")
    assert verified.rc == 3, verified.stderr
    assert ended.rc == 3, ended.stderr
    verdict = _verdict(team)
    assert verdict["verdict"] == "unverified"
    [scenario] = verdict["scenarios"]
    assert (scenario["id"], scenario["status"]) == (SCENARIO, "infrastructure")
    assert scenario["text"].startswith("unverified, last proof 3 days old: ")
    [attempt] = scenario["attempts"]
    assert attempt.startswith("pixel: ")
    junit = ET.fromstring((team.out / "final" / "junit.xml").read_text("utf-8"))
    [error] = junit.findall(f".//testcase[@name='device:{SCENARIO}']/error")
    assert attempt in (error.text or "")
    assert junit.find(".//failure") is None

    with clock_at("2027-01-15"):
        warned = team.run("stage verdict", "--committed")
    assert warned.rc == 0, warned.stderr
    assert "unverified, last proof 14 days old" in warned.stdout

    with clock_at("2027-01-16"):
        late = team.run("stage verdict", "--committed")
    assert late.rc == 1, late.stderr
    assert "last proof 15 days old, allowed are 14 days" in late.stdout


ROUNDS = ("--rounds", "12")
OF_BASELINE = 2 + 12
"""Runs of the baseline's own row: for the outputs, for the length, and one a round."""
IN_THE_NEXT_ROW = OF_BASELINE + 10
"""A run of the row after it, when its rounds have begun."""


@pytest.fixture
def perf_project(
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


@pytest.mark.parametrize("perf_project", ["hot"], indirect=True)
def test_samples_of_a_hot_phone_are_left_out_of_their_row(
    perf_project: Project, phone: ConnectedPhone
) -> None:
    phone.fault("hot", 82.0, moment="run", nth=IN_THE_NEXT_ROW, for_s=2.0)

    ended = perf_project.run("perf run", *ROUNDS, "--json")

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


@pytest.mark.parametrize("perf_project", ["lost"], indirect=True)
def test_a_phone_that_is_lost_in_a_row_costs_that_row(
    perf_project: Project, phone: ConnectedPhone
) -> None:
    phone.fault("kill", moment="run", nth=IN_THE_NEXT_ROW)
    impatient = replace(DEFAULT_TIMEOUTS, reconnect_s=4.0)

    ended = perf_project.run("perf run", *ROUNDS, "--json", timeouts=impatient)

    assert ended.rc == 3, ended.stderr
    rows = read_rows(ended.stdout)
    assert rows["baseline"]["status"] == "measured"
    assert rows["fast-run-cache"]["status"] == "infrastructure"
    assert "pixel" in rows["fast-run-cache"]["reason"]

    phone.fault("revive")
    phone.connect()
    checked = perf_project.run("devices check", "pixel")
    assert checked.rc == 0, checked.stderr
    resumed = perf_project.run("perf run", *ROUNDS, "--json")

    assert resumed.rc in (0, 1), resumed.stderr
    assert f"run   perf/{MODEL}/default@lost#baseline" not in resumed.stderr
    assert read_rows(resumed.stdout)["fast-run-cache"]["status"] in ("measured", "inconclusive")
