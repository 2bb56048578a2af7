"""What the pools of one host share: the queue, the records of machines, and the recovery policy.

A machine's status is combined here from its connection, its record and the queue.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from megtrim.devices.device import DeviceSpec
from megtrim.devices.pool.machine import ConnectionState, Find, Machine
from megtrim.devices.pool.quarantine import Author, Records
from megtrim.devices.pool.queue import Queue, QueuePosition
from megtrim.devices.pool.recovery import RecoveryPolicy
from megtrim.devices.pool.state_dir import state_folder
from megtrim.devices.pool.status import MachineStatus, age
from megtrim.devices.timeouts import Timeouts
from megtrim.errors import InfrastructureFailure, InputError


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
    queue: Queue
    recovery: RecoveryPolicy
    timeouts: Timeouts
    now: Callable[[], datetime]
    say: Callable[[str], None]


class WaitReporter:
    """Reports a wait: at once, when the queue moves, and at intervals."""

    def __init__(self, what: str, shared: PoolState) -> None:
        self._what = what
        self._shared = shared
        self._said_s = float("-inf")
        self._ahead = -1

    def __call__(self, wait: QueuePosition) -> None:
        now_s = time.monotonic()
        due = now_s - self._said_s >= self._shared.timeouts.say_every_s
        if due or wait.ahead != self._ahead:
            self._said_s, self._ahead = now_s, wait.ahead
            self._shared.say(
                f"waiting for {self._what}: {wait.ahead} before you{self._describe_holders(wait)}"
            )

    def _describe_holders(self, wait: QueuePosition) -> str:
        now = self._shared.now()
        held = [
            f"pid {each.pid} for {age(now - each.since)}{', being brought back' * each.recovering}"
            for each in wait.holders
            if each.pid
        ]
        return f" (held by {'; '.join(held)})" if held else ""


def open_pool_state(spec: DeviceSpec) -> PoolState:
    """Return the shared state for a spec's environment and clock."""
    state = state_folder(spec.processes.env)
    records = Records(state, spec.now)
    recovery = RecoveryPolicy(
        records=records, processes=spec.processes, timeouts=spec.timeouts, say=spec.say
    )
    return PoolState(
        records=records,
        queue=Queue(state, spec.now),
        recovery=recovery,
        timeouts=spec.timeouts,
        now=spec.now,
        say=spec.say,
    )


def quarantine_machine(shared: PoolState, machine: Machine, reason: str) -> None:
    """Put a machine in quarantine in megtrim's name; if that cannot be stored, only report it."""
    try:
        shared.records.quarantine(machine.key, machine.name, reason, Author.MACHINE)
    except (InfrastructureFailure, InputError) as failure:
        shared.say(f"  quarantine of {machine.name} cannot be noted: {failure.message}")
        return
    shared.say(f"  quarantine  {machine.name}: {reason}")


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
        holder=shared.queue.holder(machine.key),
        waiting=sum(machine.key in ticket.wants for ticket in shared.queue.tickets()),
    )
    try:
        return replace(status, quarantine=shared.records.read(machine.key).quarantine)
    except InputError as damaged:
        return replace(status, detail=damaged.message)
