"""What the pools of one host share: leases, the records of machines, and the recovery policy.

A machine's status is combined here from its connection, its record and its lease.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from megtrim.devices.device import DeviceSpec
from megtrim.devices.pool.leases import Holder, Leases, name_holder
from megtrim.devices.pool.machine import ConnectionState, Find, Machine, MachineBusy
from megtrim.devices.pool.quarantine import Author, Quarantine, Records
from megtrim.devices.pool.recovery import RecoveryPolicy
from megtrim.devices.pool.state_dir import state_folder
from megtrim.devices.pool.status import MachineStatus, age
from megtrim.devices.timeouts import Timeouts
from megtrim.util.errors import InfrastructureFailure, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEntry:
    """One device of the configuration: a machine, or all machines that match."""

    name: str
    kind: str
    find: Find


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolState:
    """What all pools of this host share."""

    records: Records
    leases: Leases
    recovery: RecoveryPolicy
    timeouts: Timeouts
    now: Callable[[], datetime]
    say: Callable[[str], None]


class WaitReporter:
    """Reports a wait, at once and at intervals, until it has taken too long."""

    def __init__(self, what: str, shared: PoolState) -> None:
        self._what = what
        self._shared = shared
        self._began_s: float | None = None
        self._said_s = float("-inf")

    def __call__(self, holders: Sequence[Holder]) -> None:
        """Report who holds the machines. Raises MachineBusy once the wait has taken too long."""
        now, now_s, timeouts = self._shared.now(), time.monotonic(), self._shared.timeouts
        held = "; ".join(f"{who} for {age(now - who.since)}" for who in holders) or "another job"
        if self._began_s is None:
            self._began_s = now_s
        if now_s - self._began_s >= timeouts.wait_s:
            waited = age(timedelta(seconds=timeouts.wait_s))
            msg = f"{self._what}: waited {waited} for a device that is held by {held}"
            raise MachineBusy(msg, hint="`megtrim devices list` shows who holds which")
        if now_s - self._said_s >= timeouts.say_every_s:
            self._said_s = now_s
            self._shared.say(f"waiting for {self._what}: held by {held}")


def open_pool_state(spec: DeviceSpec) -> PoolState:
    """Return the shared state for a spec's environment and clock."""
    state = state_folder(spec.processes.env)
    records = Records(state, spec.now)
    recovery = RecoveryPolicy(
        records=records, processes=spec.processes, timeouts=spec.timeouts, say=spec.say
    )
    return PoolState(
        records=records,
        leases=Leases(state, name_holder(spec.processes.env), spec.now),
        recovery=recovery,
        timeouts=spec.timeouts,
        now=spec.now,
        say=spec.say,
    )


def quarantine_machine(shared: PoolState, machine: Machine, reason: str) -> None:
    """Put a machine in quarantine in megtrim's name; if that cannot be stored, only report it."""
    try:
        for key in machine.keys:
            shared.records.quarantine(key, machine.name, reason, Author.MACHINE)
    except (InfrastructureFailure, InputError) as failure:
        shared.say(f"  quarantine of {machine.name} cannot be noted: {failure.message}")
        return
    shared.say(f"  quarantine  {machine.name}: {reason}")


def find_quarantine(shared: PoolState, machine: Machine) -> Quarantine | None:
    """Return a machine's quarantine, under whichever address it was set."""
    found = [shared.records.read(key).quarantine for key in machine.keys]
    return next(filter(None, found), None)


def read_statuses(entry: PoolEntry, shared: PoolState) -> tuple[MachineStatus, ...]:
    """Return the status of each machine of an entry, or one ABSENT status if none matches."""
    absent = MachineStatus(
        entry=entry.name,
        name=entry.name,
        kind=entry.kind,
        key="",
        machine=None,
        presence=ConnectionState.ABSENT,
    )
    try:
        found = tuple((machine, machine.presence()) for machine in entry.find())
    except InfrastructureFailure as failure:
        return (replace(absent, detail=failure.message),)
    return tuple(_read_status(entry, each, seen, shared) for each, seen in found) or (absent,)


def _read_status(
    entry: PoolEntry, machine: Machine, presence: ConnectionState, shared: PoolState
) -> MachineStatus:
    status = MachineStatus(
        entry=entry.name,
        name=machine.name,
        kind=machine.kind,
        key=machine.key,
        machine=machine,
        presence=presence,
        holder=shared.leases.holder(machine),
    )
    try:
        return replace(status, quarantine=find_quarantine(shared, machine))
    except InputError as damaged:
        return replace(status, detail=damaged.message)
