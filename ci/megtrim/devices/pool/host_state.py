"""What the pools of one host share: the queue, what is remembered, and the recovery steps.

Here a machine's standing is put together from how it is attached, its record and the queue.
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
    """What the configuration names: one machine, or all that fit."""

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
    """Tells a person of a wait: at once, when the queue moved, and now and then."""

    def __init__(self, what: str, room: PoolState) -> None:
        self._what = what
        self._room = room
        self._said_s = float("-inf")
        self._before = -1

    def __call__(self, wait: QueuePosition) -> None:
        now_s = time.monotonic()
        due = now_s - self._said_s >= self._room.timeouts.say_every_s
        if due or wait.before != self._before:
            self._said_s, self._before = now_s, wait.before
            self._room.say(
                f"waiting for {self._what}: {wait.before} before you{self._describe_holders(wait)}"
            )

    def _describe_holders(self, wait: QueuePosition) -> str:
        now = self._room.now()
        held = [
            f"pid {each.pid} for {age(now - each.since)}{', being brought back' * each.healing}"
            for each in wait.holders
            if each.pid
        ]
        return f" (held by {'; '.join(held)})" if held else ""


def open_room(spec: DeviceSpec) -> PoolState:
    """Return the shared state for an environment and a clock."""
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


def put_aside(room: PoolState, machine: Machine, reason: str) -> None:
    """Quarantine a machine on megtrim's own account; a failure to note it is told, no more."""
    try:
        room.records.put_aside(machine.key, machine.name, reason, Author.MACHINE)
    except (InfrastructureFailure, InputError) as failure:
        room.say(f"  quarantine of {machine.name} cannot be noted: {failure.message}")
        return
    room.say(f"  quarantine  {machine.name}: {reason}")


def look(entry: PoolEntry, room: PoolState) -> tuple[MachineStatus, ...]:
    """Return how the machines of an entry stand; without any, that none fits."""
    nobody = MachineStatus(
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
        return (replace(nobody, detail=failure.message),)
    return tuple(_standing(entry, each, seen, room) for each, seen in found) or (nobody,)


def _standing(
    entry: PoolEntry, machine: Machine, presence: ConnectionState, room: PoolState
) -> MachineStatus:
    standing = MachineStatus(
        entry=entry.name,
        name=machine.name,
        kind=machine.kind,
        key=machine.key,
        machine=machine,
        presence=presence,
        holder=room.queue.holder(machine.key),
        waiting=sum(machine.key in ticket.wants for ticket in room.queue.tickets()),
    )
    try:
        return replace(standing, quarantine=room.records.read(machine.key).quarantine)
    except InputError as damaged:
        return replace(standing, detail=damaged.message)
