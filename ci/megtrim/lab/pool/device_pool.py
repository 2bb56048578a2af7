"""A pool of machines as one device: a job waits for one that is free, and gets one that works.

Machines are searched for each time, so phones may come and go.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from megtrim.lab.pool.leases import Holder, Leases, name_holder
from megtrim.lab.pool.recovery import (
    UNAUTHORIZED,
    Author,
    Quarantine,
    Records,
    RecoveryPolicy,
    RecoveryResult,
)
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.state_folder import state_folder
from megtrim.libs.util.value import Value
from megtrim.places.devices.device import (
    ConnectionState,
    Device,
    DeviceSpec,
    Find,
    Machine,
    MachineBusy,
    NoUsableMachine,
    Timeouts,
)

_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 86_400


class MachineState(StrEnum):
    DAMAGED = "unknown"
    """Its record cannot be read."""
    QUARANTINED = "quarantined"
    UNAUTHORIZED = "unauthorized"
    OFFLINE = "offline"
    ABSENT = "not found"
    HELD = "held"
    FREE = "free"


class MachineStatus(Value):
    entry: str
    """The name in the configuration, or how the machine was found."""
    name: str
    kind: str
    key: str = ""
    """Empty if no machine matches."""
    machine: Machine | None = None
    presence: ConnectionState
    detail: str = ""
    """What is wrong with the record, or why the machine could not be looked up."""
    quarantine: Quarantine | None = None
    holder: Holder | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.key,) if self.machine is None else self.machine.keys

    @property
    def state(self) -> MachineState:
        if self.key and self.detail:
            return MachineState.DAMAGED
        if self.quarantine is not None:
            return MachineState.QUARANTINED
        match self.presence:
            case ConnectionState.UNAUTHORIZED:
                return MachineState.UNAUTHORIZED
            case ConnectionState.OFFLINE:
                return MachineState.OFFLINE
            case ConnectionState.ABSENT:
                return MachineState.ABSENT
            case ConnectionState.READY:
                return MachineState.HELD if self.holder else MachineState.FREE

    def text(self, now: datetime) -> str:
        parts = [self.detail] if self.detail else []
        if self.quarantine is not None:
            put = self.quarantine
            since = f"{put.since:%Y-%m-%d %H:%M} UTC ({age(now - put.since)})"
            by = "a person" if put.by == "person" else "megtrim"
            parts.append(f"since {since} by {by} because {put.reason}")
        if self.holder is not None:
            parts.append(f"held by {self.holder} since {self.holder.since:%H:%M:%S} UTC")
        if self.state is MachineState.HELD:
            parts[0] = parts[0].removeprefix("held ")
        return f"{self.state}: {', '.join(parts)}" if parts else str(self.state)


def age(lasted: timedelta) -> str:
    """Return a duration in the largest unit that fits, such as ``2 days``."""
    seconds = max(0, int(lasted.total_seconds()))
    for unit_s, unit in ((_DAY_S, "day"), (_HOUR_S, "h"), (_MINUTE_S, "min")):
        if seconds >= unit_s:
            count = seconds // unit_s
            plural = "s" if unit == "day" and count > 1 else ""
            return f"{count} {unit}{plural}"
    return f"{seconds} s"


class PoolEntry(Value):
    name: str
    kind: str
    find: Find


class PoolState(Value):
    records: Records
    leases: Leases
    recovery: RecoveryPolicy
    timeouts: Timeouts
    now: Callable[[], datetime]
    say: Callable[[str], None]


def report_wait(what: str, shared: PoolState) -> Callable[[Sequence[Holder]], None]:
    """Return what reports a wait, at intervals; it raises MachineBusy after too long a wait."""
    timeouts = shared.timeouts
    began_s = time.monotonic()
    said_s = float("-inf")

    def report(holders: Sequence[Holder]) -> None:
        nonlocal said_s
        now = shared.now()
        now_s = time.monotonic()
        held = "; ".join(f"{who} for {age(now - who.since)}" for who in holders) or "another job"
        if now_s - began_s >= timeouts.wait_s:
            waited = age(timedelta(seconds=timeouts.wait_s))
            msg = f"{what}: waited {waited} for a device that is held by {held}"
            raise MachineBusy(msg, hint="`megtrim devices list` shows which job uses which")
        if now_s - said_s >= timeouts.say_every_s:
            said_s = now_s
            shared.say(f"waiting for {what}: held by {held}")

    return report


def open_pool_state(spec: DeviceSpec) -> PoolState:
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
    try:
        for key in machine.keys:
            shared.records.quarantine(key, machine.name, reason, Author.MACHINE)
    except (InfrastructureFailure, InputError) as failure:
        shared.say(f"  quarantine of {machine.name} cannot be noted: {failure.message}")
        return
    shared.say(f"  quarantine  {machine.name}: {reason}")


def find_quarantine(shared: PoolState, machine: Machine) -> Quarantine | None:
    for key in machine.keys:
        quarantine = shared.records.read(key).quarantine
        if quarantine:
            return quarantine
    return None


def read_statuses(entry: PoolEntry, shared: PoolState) -> tuple[MachineStatus, ...]:
    absent = MachineStatus(
        entry=entry.name, name=entry.name, kind=entry.kind, presence=ConnectionState.ABSENT
    )
    try:
        found = [(machine, machine.presence()) for machine in entry.find()]
    except InfrastructureFailure as failure:
        return (replace(absent, detail=failure.message),)
    statuses = []
    for machine, presence in found:
        status = replace(
            absent,
            name=machine.name,
            kind=machine.kind,
            key=machine.key,
            machine=machine,
            presence=presence,
            holder=shared.leases.holder(machine),
        )
        try:
            status = replace(status, quarantine=find_quarantine(shared, machine))
        except InputError as damaged:
            status = replace(status, detail=damaged.message)
        statuses.append(status)
    return tuple(statuses) or (absent,)


RETRIES = 2
_USABLE = (MachineState.FREE, MachineState.HELD)


def make_pool(spec: DeviceSpec, *, kind: str, find: Find) -> Pool:
    entry = PoolEntry(name=spec.name, kind=kind, find=find)
    return Pool((entry,), open_pool_state(spec), cpu_class=spec.cpu_class)


def merge_devices(devices: Sequence[Device]) -> Device:
    """A device that is no pool is never busy: if it comes first, it is the result; after a pool, it
    is ignored.
    """
    first = devices[0]
    pools = [device for device in devices if isinstance(device, Pool)]
    if not isinstance(first, Pool) or len(pools) == 1:
        return first
    entries = tuple(entry for pool in pools for entry in pool.entries)
    return Pool(entries, first.shared, cpu_class=first.cpu_class)


class Pool:
    retries = RETRIES

    def __init__(
        self, entries: tuple[PoolEntry, ...], shared: PoolState, *, cpu_class: str
    ) -> None:
        self.entries = entries
        self.shared = shared
        self.cpu_class = cpu_class
        self.kind = entries[0].kind
        self.name = entries[0].name if len(entries) == 1 else f"{cpu_class or self.kind}-pool"
        self._proven: set[str] = set()
        """Keys of machines that this process used and that have not failed since."""
        self._known: set[str] = set()
        self._failed: set[str] = set()
        """Keys of machines that failed since the last successful job: others are preferred."""

    def identity(self) -> dict[str, str]:
        return {"kind": self.kind, "class": self.cpu_class, "devices": self._names()}

    def facts(self) -> dict[str, str]:
        return {"devices": self._names()} | ({"class": self.cpu_class} if self.cpu_class else {})

    def read_statuses(self) -> tuple[MachineStatus, ...]:
        return tuple(each for entry in self.entries for each in read_statuses(entry, self.shared))

    @contextmanager
    def reserve(self) -> Iterator[Machine]:
        """Raise NoUsableMachine, with the reason for each machine, if none can be used."""
        search = _Search(self)
        waiting = report_wait(self.name, self.shared)
        while True:
            with self.shared.leases.acquire(search.wants, waiting) as machine:
                if self._prepare(machine, search):
                    with self._recover_on_failure(machine):
                        yield machine
                    return
                search.refresh()

    @contextmanager
    def hold(self, status: MachineStatus, *, wait: bool = True) -> Iterator[Machine]:
        """Hold this very machine, even in quarantine; without ``wait``, raises MachineBusy."""
        machine = status.machine
        if machine is None:
            msg = f"{status.name}: {status.text(self.shared.now())}"
            raise NoUsableMachine(msg)
        report = report_wait(machine.name, self.shared) if wait else _refuse
        with self.shared.leases.acquire(lambda: (machine,), report):
            yield machine

    def candidates(self, unfit: Collection[str] = ()) -> dict[str, MachineStatus]:
        seen = [self._quarantine_unauthorized(status) for status in self.read_statuses()]
        eligible = [each for each in seen if each.key not in unfit]
        usable = {each.key: each for each in eligible if each.state in _USABLE}
        fresh = {key: each for key, each in usable.items() if key not in self._failed}
        # A machine seen earlier may come back; one never seen may be attached to another host.
        lost = {
            each.key: each
            for each in eligible
            if each.state is MachineState.OFFLINE
            or (each.state is MachineState.ABSENT and each.key in self._known)
        }
        if found := fresh or usable or lost:
            return found
        now = self.shared.now()
        reasons = "; ".join(f"{each.name}: {each.text(now)}" for each in seen)
        msg = f"no device of {self.name} can be used: {reasons}"
        hint = (
            "`megtrim devices list` shows them, `megtrim devices restore NAME` lifts a quarantine"
        )
        raise NoUsableMachine(msg, hint=hint)

    def recover(self, machine: Machine, reason: str) -> RecoveryResult:
        with self.shared.leases.while_recovering(machine):
            result = self.shared.recovery.recover(machine)
        if not result.healthy and result.presence is not ConnectionState.ABSENT:
            why = f"{reason}; {result.text}" if reason else result.text
            quarantine_machine(self.shared, machine, why)
        return result

    def _quarantine_unauthorized(self, status: MachineStatus) -> MachineStatus:
        if status.state is not MachineState.UNAUTHORIZED or status.machine is None:
            return status
        quarantine_machine(self.shared, status.machine, status.machine.trouble or UNAUTHORIZED)
        return status

    def _prepare(self, machine: Machine, search: _Search) -> bool:
        presence = search.found[machine.key].presence
        ready = presence is ConnectionState.READY
        try:
            if find_quarantine(self.shared, machine):  # since we began to wait for it
                return False
        except InputError:
            return False
        if ready and (machine.key in self._proven or machine.alive()):
            return True
        seen = "attached and does not answer" if ready else presence.value
        self.shared.say(f"  recover  {machine.name}: it is {seen}")
        result = self.recover(machine, f"found {seen}")
        if result.healthy:
            return True
        search.unfit.add(machine.key)
        self._known.discard(machine.key)
        self.shared.say(f"  skip  {machine.name}: {result.text}")
        return False

    @contextmanager
    def _recover_on_failure(self, machine: Machine) -> Iterator[None]:
        self._known.add(machine.key)
        try:
            yield
        except InfrastructureFailure as failure:
            self._proven.discard(machine.key)
            self._failed.add(machine.key)
            try:
                self.recover(machine, failure.message)
            except InfrastructureFailure as error:
                # The job's own failure is the one to raise.
                self.shared.say(f"  recover  {machine.name}: not possible: {error.message}")
            raise
        self._proven.add(machine.key)
        self._failed.clear()

    def _names(self) -> str:
        return ", ".join(sorted({entry.name for entry in self.entries}))


class _Search:
    def __init__(self, pool: Pool) -> None:
        self.found: dict[str, MachineStatus] = {}
        self.unfit: set[str] = set()
        """Keys of machines that could not be recovered."""
        self._pool = pool
        self.refresh()

    def refresh(self) -> None:
        self._looked_s = time.monotonic()
        self.found = self._pool.candidates(self.unfit)

    def wants(self) -> tuple[Machine, ...]:
        if time.monotonic() - self._looked_s >= self._pool.shared.timeouts.say_every_s:
            self.refresh()
        return tuple(each.machine for each in self.found.values() if each.machine is not None)


def _refuse(holders: Sequence[Holder]) -> None:
    msg = f"held by {'; '.join(map(str, holders)) or 'another job'}"
    raise MachineBusy(msg)
