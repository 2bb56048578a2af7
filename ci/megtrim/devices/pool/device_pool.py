"""A pool of machines as one device: jobs queue in order of arrival and get a machine that works.

A machine that fails under a job is recovered before it is released, or put in quarantine with the
reason. If another machine can do the job, the job continues there at once and the failed machine
is recovered in the background. Machines are searched for each time, so phones may come and go.
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
    open_pool_state,
    quarantine_machine,
    read_statuses,
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
"""Fraction of a call's timeout that a machine gets to answer if another could do the job."""
_USABLE = (MachineState.FREE, MachineState.HELD)


def make_pool(spec: DeviceSpec, *, kind: str, find: Find, retries: int = RETRIES) -> Pool:
    """Return the pool for one device of the configuration."""
    entry = PoolEntry(name=spec.name, kind=kind, find=find)
    return Pool((entry,), open_pool_state(spec), cpu_class=spec.cpu_class, retries=retries)


def merge_devices(devices: Sequence[Device]) -> Device:
    """Return one device for several of the same class, by merging their pools.

    A device that is not a pool (this machine, an emulator) is never busy: if it comes first, it
    is the result; after a pool, it is ignored.
    """
    first = devices[0]
    pools = [device for device in devices if isinstance(device, Pool)]
    if not isinstance(first, Pool) or len(pools) == 1:
        return first
    entries = tuple(entry for pool in pools for entry in pool.entries)
    retries = max(pool.retries for pool in pools)
    return Pool(entries, first.shared, cpu_class=first.cpu_class, retries=retries)


class MachineBusy(InfrastructureFailure):
    """Another process holds the machine, and the caller did not want to wait."""


class Pool:
    """Machines of one class."""

    def __init__(
        self, entries: tuple[PoolEntry, ...], shared: PoolState, *, cpu_class: str, retries: int
    ) -> None:
        self.entries = entries
        self.shared = shared
        self.cpu_class = cpu_class
        self.retries = retries
        self.kind = entries[0].kind
        self.name = entries[0].name if len(entries) == 1 else f"{cpu_class or self.kind}-pool"
        self._proven: set[str] = set()
        """Keys of machines that this process used and that have not failed since."""
        self._known: set[str] = set()
        self._failed: set[str] = set()
        """Keys of machines that failed since the last successful job: others are preferred."""
        self.background = BackgroundRecovery(shared.say)

    def identity(self) -> dict[str, str]:
        return {"kind": self.kind, "class": self.cpu_class, "devices": self._names()}

    def facts(self) -> dict[str, str]:
        return {"devices": self._names()} | ({"class": self.cpu_class} if self.cpu_class else {})

    def read_statuses(self) -> tuple[MachineStatus, ...]:
        """Return the status of every machine, without contacting any."""
        return tuple(each for entry in self.entries for each in read_statuses(entry, self.shared))

    @contextmanager
    def reserve(self) -> Iterator[Machine]:
        """Wait in the queue and give out a machine that answers.

        Raises NoUsableMachine, with the reason for each machine, if none can be used.
        """
        number: int | None = None
        search = _Search(self)
        while True:
            search.refresh()
            queued = self.shared.queue.acquire(self.name, search.wants, search.waiting, number)
            with queued as slot:
                number = slot.number
                machine = self._prepare(slot, search)
                if machine is None:
                    continue
                with self._recover_on_failure(machine, slot):
                    yield machine
                return

    @contextmanager
    def hold(self, status: MachineStatus, *, wait: bool = True) -> Iterator[Machine]:
        """Wait for this very machine, even in quarantine, and hold it, to check or recover it.

        Without ``wait``, raises MachineBusy if others hold the machine or wait for it.
        """
        machine = status.machine
        if machine is None:
            msg = f"{status.name}: {status.text(self.shared.now())}"
            raise NoUsableMachine(msg)
        report = WaitReporter(machine.name, self.shared) if wait else _refuse
        with self.shared.queue.acquire(machine.name, lambda: (machine.key,), report):
            yield machine

    def candidates(self, unfit: Collection[str] = ()) -> dict[str, MachineStatus]:
        """Return the machines that a job may get now, by key, except those in ``unfit``."""
        seen = [self._quarantine_unauthorized(each) for each in self.read_statuses()]
        recovering = self.background.keys
        eligible = [each for each in seen if each.key not in unfit and each.key not in recovering]
        usable = {each.key: each for each in eligible if each.state in _USABLE}
        fresh = {key: each for key, each in usable.items() if key not in self._failed}
        # A machine seen earlier may come back; one never seen may be attached to another host.
        lost = {
            each.key: each
            for each in eligible
            if each.state is MachineState.OFFLINE
            or (each.state is MachineState.ABSENT and each.key in self._known)
        }
        # If nothing else is left, wait for machines that are being recovered.
        recovering_now = {
            each.key: each
            for each in seen
            if each.key in recovering
            and each.key not in unfit
            and each.state is not MachineState.QUARANTINED
        }
        if found := fresh or usable or lost or recovering_now:
            return found
        now = self.shared.now()
        reasons = "; ".join(f"{each.name}: {each.text(now)}" for each in seen)
        msg = f"no device of {self.name} can be used: {reasons}"
        hint = (
            "`megtrim devices list` shows them, `megtrim devices restore NAME` lifts a quarantine"
        )
        raise NoUsableMachine(msg, hint=hint)

    def has_alternative(self, key: str, statuses: Iterable[MachineStatus]) -> bool:
        """Tell whether another machine of ``statuses`` can do a job, at once or after a wait."""
        left = {key, *self.background.keys}
        return any(each.state in _USABLE and each.key not in left for each in statuses)

    def recover(self, machine: Machine, reason: str) -> RecoveryResult:
        """Recover a held machine, or put it in quarantine."""
        return self._recover_or_quarantine(machine, reason, self.shared)

    def _quarantine_unauthorized(self, status: MachineStatus) -> MachineStatus:
        if status.state is not MachineState.UNAUTHORIZED or status.machine is None:
            return status
        quarantine_machine(self.shared, status.machine, trouble(status.machine) or UNAUTHORIZED)
        return status

    def _prepare(self, slot: QueueSlot, search: _Search) -> Machine | None:
        """Return the machine of ``slot`` if it can be used, after recovery if it needs that."""
        status = search.found[slot.key]
        machine, presence = status.machine, status.presence
        if machine is None or self._is_quarantined(machine) or machine.key in search.unfit:
            return None
        if presence is ConnectionState.READY and machine.key in self._proven:
            return machine
        seen = _describe_presence(presence)
        if search.has_alternative(machine.key) and machine.key not in search.recovering:
            asking = answers(machine, self.shared.timeouts.call_s * _QUICK)
            if asking is None:
                return machine
            why = f"it is {seen}; another one is used meanwhile"
            self.shared.say(f"  recover  {machine.name}: {why}")
            search.recovering.add(machine.key)
            self._recover_in_background(machine, slot, f"found {seen}", search.unfit, asking)
            return None
        if presence is ConnectionState.READY and machine.alive():
            return machine
        self.shared.say(f"  recover  {machine.name}: it is {seen}")
        recovered = self._recover_or_skip(machine, f"found {seen}", search.unfit, self.shared)
        return machine if recovered else None

    def _is_quarantined(self, machine: Machine) -> bool:
        """Tell whether it was put in quarantine while we waited for it."""
        try:
            return self.shared.records.read(machine.key).quarantine is not None
        except InputError:
            return True

    def _recover_or_skip(
        self, machine: Machine, reason: str, unfit: set[str], shared: PoolState
    ) -> bool:
        result = self._recover_or_quarantine(machine, reason, shared)
        if not result.healthy:
            unfit.add(machine.key)
            self._known.discard(machine.key)
            shared.say(f"  skip  {machine.name}: {result.text}")
        return result.healthy

    def _recover_or_quarantine(
        self, machine: Machine, reason: str, shared: PoolState
    ) -> RecoveryResult:
        result = shared.recovery.recover(machine)
        if not result.healthy and result.presence is not ConnectionState.ABSENT:
            quarantine_machine(
                shared, machine, f"{reason}; {result.text}" if reason else result.text
            )
        return result

    def _recover_in_background(
        self,
        machine: Machine,
        slot: QueueSlot,
        reason: str,
        unfit: set[str],
        first: Callable[[], None] = lambda: None,
    ) -> None:
        """Call ``first``, then recover the machine, in a thread that keeps its lock."""
        say = self.background.say
        shared = replace(self.shared, say=say, recovery=replace(self.shared.recovery, say=say))
        lock = slot.lock.hand_over()

        def recover() -> None:
            try:
                shared.queue.mark_recovering(machine.key, lock)
                first()
                self._recover_or_skip(machine, reason, unfit, shared)
            except (InfrastructureFailure, InputError) as error:
                unfit.add(machine.key)
                say(f"  recover  {machine.name}: not possible: {error.message}")
            finally:
                lock.release()

        self.background.start(machine.key, recover)

    @contextmanager
    def _recover_on_failure(self, machine: Machine, slot: QueueSlot) -> Iterator[None]:
        """Recover the machine if the job in the block fails, before it is released."""
        self._known.add(machine.key)
        try:
            yield
        except InfrastructureFailure as failure:
            self._proven.discard(machine.key)
            self._failed.add(machine.key)
            self._recover_after_failure(machine, slot, failure)
            raise
        self._proven.add(machine.key)
        self._failed.clear()

    def _recover_after_failure(
        self, machine: Machine, slot: QueueSlot, failure: InfrastructureFailure
    ) -> None:
        try:
            if self.has_alternative(machine.key, self.read_statuses()):
                self._recover_in_background(machine, slot, failure.message, set())
            else:
                self.recover(machine, failure.message)
        except InfrastructureFailure as error:
            # The job's own failure is the one to raise.
            self.shared.say(f"  recover  {machine.name}: not possible: {error.message}")

    def _names(self) -> str:
        return ", ".join(sorted({entry.name for entry in self.entries}))


class _Search:
    """A job's search for a machine of a pool."""

    def __init__(self, pool: Pool) -> None:
        self.found: dict[str, MachineStatus] = {}
        self.unfit: set[str] = set()
        """Keys of machines that could not be recovered."""
        self.recovering: set[str] = set()
        """Keys of machines left to background recovery once: next time the job waits for them."""
        self.waiting = WaitReporter(pool.name, pool.shared)
        self._pool = pool
        self._looked_s = 0.0
        self._recovering: frozenset[str] = frozenset()

    def refresh(self) -> None:
        """Search for machines again. Raises NoUsableMachine if none is left."""
        self._looked_s = time.monotonic()
        self._recovering = self._pool.background.keys
        self.found = self._pool.candidates(self.unfit)

    def wants(self) -> tuple[str, ...]:
        """Return the keys of the machines that fit; from time to time, search again."""
        due = time.monotonic() - self._looked_s >= self._pool.shared.timeouts.say_every_s
        if due or self._pool.background.keys != self._recovering:
            self.refresh()
        return tuple(self.found)

    def has_alternative(self, key: str) -> bool:
        """Tell whether another machine can do the job, at once or after a wait."""
        return self._pool.has_alternative(key, self.found.values())


def _refuse(wait: QueuePosition) -> None:
    pids = ", ".join(str(each.pid) for each in wait.holders)
    msg = f"held by pid {pids}" if pids else "others wait for it"
    raise MachineBusy(msg)


def _describe_presence(presence: ConnectionState) -> str:
    return "attached and does not answer" if presence is ConnectionState.READY else presence.value
