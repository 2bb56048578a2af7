"""The status of a machine in one word, and why, as one line."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from megtrim.devices.pool.leases import Holder
from megtrim.devices.pool.machine import ConnectionState
from megtrim.devices.pool.quarantine import Author, Quarantine
from megtrim.devices.pool.status import MachineState, MachineStatus, age
from unit.devices.machines import NOON

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
    """Whoever reads one word knows what to do next."""
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
    """Since when and by whom."""
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
    """A clock that was set back makes nothing negative."""
    assert age(lasted) == text
