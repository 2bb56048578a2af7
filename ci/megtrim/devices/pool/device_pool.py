"""A pool of machines as one device: jobs wait in order of arrival and get a machine that works.

A machine that fails under a job is brought back while it is still held, or put aside with the
reason. Where the job can go on with another machine it does so at once, and the failed one is
cared for beside it. Machines are looked for each time, so a phone may come and go.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from megtrim.devices.device import Device, DeviceSpec
from megtrim.devices.pool.host_state import (
    PoolEntry,
    PoolState,
    WaitReporter,
    look,
    open_room,
    put_aside,
)
from megtrim.devices.pool.machine import ConnectionState, Find, Machine, NoUsableMachine
from megtrim.devices.pool.queue import QueuePosition, QueueSlot
from megtrim.devices.pool.recovery import (
    UNAUTHORIZED,
    BackgroundRecovery,
    RecoveryResult,
    answers,
    trouble,
)
from megtrim.devices.pool.status import MachineState, MachineStatus
from megtrim.errors import InfrastructureFailure, InputError

RETRIES = 2
_QUICK = 0.2
"""The part of a call's time that a machine is waited for where another could do the job."""
_USABLE = (MachineState.FREE, MachineState.HELD)


def make_pool(spec: DeviceSpec, *, kind: str, find: Find, retries: int = RETRIES) -> Pool:
    """Return the pool of one entry of the configuration."""
    entry = PoolEntry(name=spec.name, kind=kind, find=find)
    return Pool((entry,), open_room(spec), cpu_class=spec.cpu_class, retries=retries)


def merge_devices(devices: Sequence[Device]) -> Device:
    """Return one device for several of a class: their pools become one.

    A device that is no pool (this machine, an emulator) is never busy: it stands for itself
    where it comes first, and is left out where a pool does.
    """
    first = devices[0]
    pools = [device for device in devices if isinstance(device, Pool)]
    if not isinstance(first, Pool) or len(pools) == 1:
        return first
    entries = tuple(entry for pool in pools for entry in pool.entries)
    retries = max(pool.retries for pool in pools)
    return Pool(entries, first.room, cpu_class=first.cpu_class, retries=retries)


class MachineBusy(InfrastructureFailure):
    """Somebody else has the machine, and it was not to be waited for."""


class Pool:
    """Machines of one class."""

    def __init__(
        self, entries: tuple[PoolEntry, ...], room: PoolState, *, cpu_class: str, retries: int
    ) -> None:
        self.entries = entries
        self.room = room
        self.cpu_class = cpu_class
        self.retries = retries
        self.kind = entries[0].kind
        self.name = entries[0].name if len(entries) == 1 else f"{cpu_class or self.kind}-pool"
        self._proven: set[str] = set()
        """Machines that this process worked on, and that have not failed since."""
        self._known: set[str] = set()
        self._failed: set[str] = set()
        """Machines that failed since the last job that went well: another one comes first."""
        self.beside = BackgroundRecovery(room.say)

    def identity(self) -> dict[str, str]:
        return {"kind": self.kind, "class": self.cpu_class, "devices": self._names()}

    def facts(self) -> dict[str, str]:
        return {"devices": self._names()} | ({"class": self.cpu_class} if self.cpu_class else {})

    def look(self) -> tuple[MachineStatus, ...]:
        """Return how every machine stands now; touches none of them."""
        return tuple(each for entry in self.entries for each in look(entry, self.room))

    @contextmanager
    def reserve(self) -> Iterator[Machine]:
        """Wait for our turn and give out a machine that answers.

        Raises NoUsableMachine where no machine can be used, with the reason of each.
        """
        place: int | None = None
        search = _Search(self)
        while True:
            search.look()
            queued = self.room.queue.turn(self.name, search.wants, search.waiting, place)
            with queued as turn:
                place = turn.place
                machine = self._fit(turn, search)
                if machine is None:
                    continue
                with self._recover_on_failure(machine, turn):
                    yield machine
                return

    @contextmanager
    def hold(self, standing: MachineStatus, *, wait: bool = True) -> Iterator[Machine]:
        """Wait for this very machine, in quarantine or not, and hold it: for checks and care.

        Without ``wait`` a machine that others have or wait for raises MachineBusy.
        """
        machine = standing.machine
        if machine is None:
            msg = f"{standing.name}: {standing.text(self.room.now())}"
            raise NoUsableMachine(msg)
        told = WaitReporter(machine.name, self.room) if wait else _refuse
        with self.room.queue.turn(machine.name, lambda: (machine.key,), told):
            yield machine

    def candidates(self, unfit: Collection[str] = ()) -> dict[str, MachineStatus]:
        """Return the machines that a job may be given now, by key, without those found unfit."""
        seen = [self._unauthorized_aside(each) for each in self.look()]
        cared = self.beside.keys
        able = [each for each in seen if each.key not in unfit and each.key not in cared]
        fine = {each.key: each for each in able if each.state in _USABLE}
        fresh = {key: each for key, each in fine.items() if key not in self._failed}
        # What was here a moment ago may come back; what never was may hang on another host.
        lost = {
            each.key: each
            for each in able
            if each.state is MachineState.OFFLINE
            or (each.state is MachineState.ABSENT and each.key in self._known)
        }
        # Where nothing else is left, one that is being brought back is waited for.
        back = {
            each.key: each
            for each in seen
            if each.key in cared
            and each.key not in unfit
            and each.state is not MachineState.QUARANTINED
        }
        if found := fresh or fine or lost or back:
            return found
        now = self.room.now()
        reasons = "; ".join(f"{each.name}: {each.text(now)}" for each in seen)
        msg = f"no device of {self.name} can be used: {reasons}"
        hint = (
            "`megtrim devices list` shows them, `megtrim devices restore NAME` lifts a quarantine"
        )
        raise NoUsableMachine(msg, hint=hint)

    def others(self, key: str, standings: Iterable[MachineStatus]) -> bool:
        """Tell whether one of them, this one aside, can do a job, at once or after a wait."""
        left = {key, *self.beside.keys}
        return any(each.state in _USABLE and each.key not in left for each in standings)

    def care(self, machine: Machine, reason: str) -> RecoveryResult:
        """Bring a held machine back, or put it aside."""
        return self._recover_or_quarantine(machine, reason, self.room)

    def _unauthorized_aside(self, standing: MachineStatus) -> MachineStatus:
        if standing.state is not MachineState.UNAUTHORIZED or standing.machine is None:
            return standing
        put_aside(self.room, standing.machine, trouble(standing.machine) or UNAUTHORIZED)
        return standing

    def _fit(self, turn: QueueSlot, search: _Search) -> Machine | None:
        """Return the machine that was just taken if it can be worked on; heal it if need be."""
        standing = search.found[turn.key]
        machine, presence = standing.machine, standing.presence
        if machine is None or self._aside_by_now(machine) or machine.key in search.unfit:
            return None
        if presence is ConnectionState.READY and machine.key in self._proven:
            return machine
        seen = _describe_presence(presence)
        if search.elsewhere(machine.key) and machine.key not in search.cared:
            asking = answers(machine, self.room.timeouts.call_s * _QUICK)
            if asking is None:
                return machine
            self.room.say(f"  heal  {machine.name}: it is {seen}; another one is used meanwhile")
            search.cared.add(machine.key)
            self._recover_in_background(machine, turn, f"found {seen}", search.unfit, asking)
            return None
        if presence is ConnectionState.READY and machine.alive():
            return machine
        self.room.say(f"  heal  {machine.name}: it is {seen}")
        healed = self._recover_or_skip(machine, f"found {seen}", search.unfit, self.room)
        return machine if healed else None

    def _aside_by_now(self, machine: Machine) -> bool:
        """Tell whether it was put aside while we waited for it."""
        try:
            return self.room.records.read(machine.key).quarantine is not None
        except InputError:
            return True

    def _recover_or_skip(
        self, machine: Machine, reason: str, unfit: set[str], room: PoolState
    ) -> bool:
        healing = self._recover_or_quarantine(machine, reason, room)
        if not healing.healthy:
            unfit.add(machine.key)
            self._known.discard(machine.key)
            room.say(f"  skip  {machine.name}: {healing.text}")
        return healing.healthy

    def _recover_or_quarantine(
        self, machine: Machine, reason: str, room: PoolState
    ) -> RecoveryResult:
        healing = room.recovery.climb(machine)
        if not healing.healthy and healing.presence is not ConnectionState.ABSENT:
            put_aside(room, machine, f"{reason}; {healing.text}" if reason else healing.text)
        return healing

    def _recover_in_background(
        self,
        machine: Machine,
        turn: QueueSlot,
        reason: str,
        unfit: set[str],
        first: Callable[[], None] = lambda: None,
    ) -> None:
        """Look after the machine in a thread that keeps its lock, after ``first``."""
        say = self.beside.say
        room = replace(self.room, say=say, recovery=replace(self.room.recovery, say=say))
        lock = turn.lock.hand_over()

        def care() -> None:
            try:
                room.queue.tell_healing(machine.key, lock)
                first()
                self._recover_or_skip(machine, reason, unfit, room)
            except (InfrastructureFailure, InputError) as unable:
                unfit.add(machine.key)
                say(f"  heal  {machine.name}: not possible: {unable.message}")
            finally:
                lock.release()

        self.beside.start(machine.key, care)

    @contextmanager
    def _recover_on_failure(self, machine: Machine, turn: QueueSlot) -> Iterator[None]:
        """Look after the machine when its job failed, while it is still ours."""
        self._known.add(machine.key)
        try:
            yield
        except InfrastructureFailure as failure:
            self._proven.discard(machine.key)
            self._failed.add(machine.key)
            self._care_after(machine, turn, failure)
            raise
        self._proven.add(machine.key)
        self._failed.clear()

    def _care_after(
        self, machine: Machine, turn: QueueSlot, failure: InfrastructureFailure
    ) -> None:
        try:
            if self.others(machine.key, self.look()):
                self._recover_in_background(machine, turn, failure.message, set())
            else:
                self.care(machine, failure.message)
        except InfrastructureFailure as unable:
            # What the job failed of is what counts.
            self.room.say(f"  heal  {machine.name}: not possible: {unable.message}")

    def _names(self) -> str:
        return ", ".join(sorted({entry.name for entry in self.entries}))


class _Search:
    """What a job that waits for a machine of a pool looks at, and tells."""

    def __init__(self, pool: Pool) -> None:
        self.found: dict[str, MachineStatus] = {}
        self.unfit: set[str] = set()
        """Machines that could not be brought back."""
        self.cared: set[str] = set()
        """Machines that were left to be cared for once: next time they are waited for."""
        self.waiting = WaitReporter(pool.name, pool.room)
        self._pool = pool
        self._looked_s = 0.0
        self._beside: frozenset[str] = frozenset()

    def look(self) -> None:
        """Look for machines anew. Raises NoUsableMachine where none is left."""
        self._looked_s = time.monotonic()
        self._beside = self._pool.beside.keys
        self.found = self._pool.candidates(self.unfit)

    def wants(self) -> tuple[str, ...]:
        """Return the keys of the machines that fit, looked for anew now and then."""
        due = time.monotonic() - self._looked_s >= self._pool.room.timeouts.say_every_s
        if due or self._pool.beside.keys != self._beside:
            self.look()
        return tuple(self.found)

    def elsewhere(self, key: str) -> bool:
        """Tell whether the job could go on with another machine, at once or after a wait."""
        return self._pool.others(key, self.found.values())


def _refuse(wait: QueuePosition) -> None:
    pids = ", ".join(str(each.pid) for each in wait.holders)
    msg = f"held by pid {pids}" if pids else "others wait for it"
    raise MachineBusy(msg)


def _describe_presence(presence: ConnectionState) -> str:
    return "attached and does not answer" if presence is ConnectionState.READY else presence.value
