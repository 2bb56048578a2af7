from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from megtrim.devices.device import ConnectionState, MachineBusy, Timeouts
from megtrim.devices.pool.device_pool import (
    MachineState,
    MachineStatus,
    PoolState,
    age,
    open_pool_state,
    report_wait,
)
from megtrim.devices.pool.leases import Holder
from megtrim.devices.pool.recovery import Author, Quarantine
from unit.devices.machines import NOON, make_spec


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def shared(tmp_path: Path, said: list[str]) -> PoolState:
    return open_pool_state(make_spec(tmp_path, said=said, timeouts=Timeouts()))


def test_a_wait_names_who_holds_the_machines(
    shared: PoolState, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    since = NOON - timedelta(minutes=3)
    holders = [
        Holder(pid=7, since=since, name="o/r run 5"),
        Holder(pid=0, since=since, name="an unknown process"),
    ]
    held = "held by o/r run 5 (pid 7) for 3 min; an unknown process for 3 min"
    reporter = report_wait("phones", shared)
    for passed_s in (0.0, 1.0, shared.timeouts.say_every_s):
        clock[0] = 100.0 + passed_s
        reporter(holders)
    assert said == [f"waiting for phones: {held}"] * 2

    clock[0] = 100.0 + shared.timeouts.wait_s
    with pytest.raises(MachineBusy) as busy:
        reporter(holders)
    assert busy.value.message == f"phones: waited 20 min for a device that is {held}"
    assert busy.value.exit_code == 3


FREE = MachineStatus(
    entry="phones",
    name="pixel-6",
    kind="adb",
    key="adb:A1",
    machine=None,
    presence=ConnectionState.READY,
)
QUARANTINE = Quarantine(reason="it is old", since=NOON - timedelta(hours=3), by=Author.PERSON)
OWNER = Holder(pid=12, since=NOON, name="ci")
OFFLINE = ConnectionState.OFFLINE


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, MachineState.FREE),
        ({"holder": OWNER}, MachineState.HELD),
        ({"presence": ConnectionState.ABSENT}, MachineState.ABSENT),
        ({"presence": OFFLINE, "holder": OWNER}, MachineState.OFFLINE),
        ({"presence": ConnectionState.UNAUTHORIZED}, MachineState.UNAUTHORIZED),
        ({"presence": OFFLINE, "quarantine": QUARANTINE}, MachineState.QUARANTINED),
        ({"quarantine": QUARANTINE, "detail": "damaged"}, MachineState.DAMAGED),
        ({"key": "", "detail": "no adb", "presence": ConnectionState.ABSENT}, MachineState.ABSENT),
    ],
)
def test_the_most_important_comes_first(changes: dict[str, Any], state: MachineState) -> None:
    assert replace(FREE, **changes).state is state


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "free"),
        ({"holder": OWNER}, "held: by ci (pid 12) since 12:00:00 UTC"),
        (
            {"quarantine": QUARANTINE, "holder": OWNER},
            (
                "quarantined: since 2026-05-04 09:00 UTC (3 h) by a person because it is old, "
                "held by ci (pid 12) since 12:00:00 UTC"
            ),
        ),
        ({"presence": OFFLINE}, "offline"),
        ({"detail": "m.json: damaged"}, "unknown: m.json: damaged"),
    ],
)
def test_the_line_says_why(changes: dict[str, Any], text: str) -> None:
    assert replace(FREE, **changes).text(NOON) == text


@pytest.mark.parametrize(
    ("lasted", "text"),
    [
        (timedelta(seconds=-5), "0 s"),
        (timedelta(seconds=59), "59 s"),
        (timedelta(seconds=60), "1 min"),
        (timedelta(minutes=119), "1 h"),
        (timedelta(hours=24), "1 day"),
        (timedelta(hours=49), "2 days"),
    ],
)
def test_an_age_is_in_the_largest_unit_that_fits(lasted: timedelta, text: str) -> None:
    assert age(lasted) == text
