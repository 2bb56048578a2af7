"""What the pools of a host share: who learns of a wait, and how a machine's status is read."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from megtrim.devices.pool.host_state import (
    PoolEntry,
    PoolState,
    WaitReporter,
    open_pool_state,
    quarantine_machine,
    read_statuses,
)
from megtrim.devices.pool.machine import ConnectionState
from megtrim.devices.pool.quarantine import Author
from megtrim.devices.pool.queue import QueuePosition
from megtrim.devices.pool.status import MachineState
from megtrim.devices.pool.tickets import LockOwner
from megtrim.devices.timeouts import Timeouts
from megtrim.errors import InfrastructureFailure
from unit.devices.machines import NOON, FakeMachine, make_spec


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def shared(tmp_path: Path, said: list[str]) -> PoolState:
    return open_pool_state(make_spec(tmp_path, said=said, timeouts=Timeouts()))


def entry(*machines: FakeMachine) -> PoolEntry:
    return PoolEntry(name="phones", kind="fake", find=lambda: machines)


def wait(ahead: int, *holders: LockOwner) -> QueuePosition:
    return QueuePosition(ahead=ahead, holders=holders)


def test_a_wait_is_reported_when_the_queue_moves(shared: PoolState, said: list[str]) -> None:
    """And not at each look at the queue."""
    reporter = WaitReporter("phones", shared)
    for ahead in (2, 2, 1, 1):
        reporter(wait(ahead))

    assert said == ["waiting for phones: 2 before you", "waiting for phones: 1 before you"]


def test_a_wait_names_who_holds_the_machines(shared: PoolState, said: list[str]) -> None:
    """Those that are known, and since when."""
    since = NOON - timedelta(minutes=3)
    holders = (
        LockOwner(pid=7, since=since, key="A", recovering=True),
        LockOwner(pid=0, since=since, key="B"),
        LockOwner(pid=8, since=since, key="C"),
    )
    WaitReporter("phones", shared)(wait(0, *holders))

    assert said == [
        (
            "waiting for phones: 0 before you "
            "(held by pid 7 for 3 min, being brought back; pid 8 for 3 min)"
        )
    ]


def test_a_status_combines_presence_record_and_queue(shared: PoolState, tmp_path: Path) -> None:
    """Each machine of an entry has its own."""
    free, held, put = (FakeMachine(name, tmp_path) for name in ("free", "held", "put"))
    shared.records.quarantine(put.key, put.name, "broken", Author.PERSON)
    with shared.queue.acquire("job", lambda: (held.key,)):
        states = {each.name: each for each in read_statuses(entry(free, held, put), shared)}

    assert {name: each.state for name, each in states.items()} == {
        "free": MachineState.FREE,
        "held": MachineState.HELD,
        "put": MachineState.QUARANTINED,
    }
    assert states["free"].entry == "phones"


def test_an_entry_without_a_machine_has_a_status(shared: PoolState) -> None:
    """Whether none matches, or no one could look."""

    def fail() -> tuple[FakeMachine, ...]:
        msg = "adb is missing"
        raise InfrastructureFailure(msg)

    [absent] = read_statuses(entry(), shared)
    [unknown] = read_statuses(PoolEntry(name="phones", kind="fake", find=fail), shared)

    assert (absent.state, absent.name, absent.detail) == (MachineState.ABSENT, "phones", "")
    assert (unknown.state, unknown.detail) == (MachineState.ABSENT, "adb is missing")


def test_a_damaged_record_is_its_machines_alone(shared: PoolState, tmp_path: Path) -> None:
    """The others can be used."""
    damaged, good = FakeMachine("damaged", tmp_path), FakeMachine("good", tmp_path)
    shared.records.quarantine(damaged.key, damaged.name, "r", Author.PERSON)
    [record] = (tmp_path / "state" / "machines").glob("*.json")
    record.write_text("{", encoding="utf-8")

    states = [each.state for each in read_statuses(entry(damaged, good), shared)]
    assert states == [MachineState.DAMAGED, MachineState.FREE]


def test_a_quarantine_is_reported_even_if_it_cannot_be_stored(
    shared: PoolState, said: list[str], tmp_path: Path
) -> None:
    """The job goes on with another machine."""
    machine = FakeMachine("p", tmp_path, attached=ConnectionState.OFFLINE)
    quarantine_machine(shared, machine, "it froze")
    (tmp_path / "other").mkdir()
    unusable = open_pool_state(make_spec(tmp_path / "other", said=said))
    (tmp_path / "other" / "state").touch()
    quarantine_machine(unusable, machine, "it froze")

    assert said[0] == "  quarantine  p: it froze"
    assert said[1].startswith("  quarantine of p cannot be noted: ")
    assert len(said) == 2
