"""A pool of machines as one device: jobs wait in order of arrival and get a machine that works.

A machine that fails under a job is brought back while it is still held, or put aside with the
reason; the others go on. Machines are looked for each time, so a phone may come and go.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from megtrim.devices.device import Device, DeviceOrder
from megtrim.devices.member import Find, Machine, NothingFits, Presence
from megtrim.devices.queue import Wait
from megtrim.devices.recovery import UNAUTHORIZED, Healing, trouble
from megtrim.devices.room import Entry, Room, look, open_room, put_aside
from megtrim.devices.status import Standing, State, age
from megtrim.errors import InfrastructureFailure

RETRIES = 2


def make_pool(order: DeviceOrder, *, kind: str, find: Find, retries: int = RETRIES) -> Pool:
    """Return the pool of one entry of the configuration."""
    entry = Entry(name=order.name, kind=kind, find=find)
    return Pool((entry,), open_room(order), cpu_class=order.cpu_class, retries=retries)


def joined(devices: Sequence[Device]) -> Device:
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


class Busy(InfrastructureFailure):
    """Somebody else has the machine, and it was not to be waited for."""


class Pool:
    """Machines of one class."""

    def __init__(
        self, entries: tuple[Entry, ...], room: Room, *, cpu_class: str, retries: int
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

    def identity(self) -> dict[str, str]:
        return {"kind": self.kind, "class": self.cpu_class, "devices": self._names()}

    def facts(self) -> dict[str, str]:
        return {"devices": self._names()} | ({"class": self.cpu_class} if self.cpu_class else {})

    def look(self) -> tuple[Standing, ...]:
        """Return how every machine stands now; touches none of them."""
        return tuple(each for entry in self.entries for each in look(entry, self.room))

    @contextmanager
    def reserve(self) -> Iterator[Machine]:
        """Wait for our turn and give out a machine that answers.

        Raises NothingFits where no machine can be used, with the reason of each.
        """
        place: int | None = None
        unfit: set[str] = set()
        while True:
            search = _Search(self, unfit)
            turn = self.room.queue.turn(self.name, search.wants, search.waiting, place)
            with turn as taken:
                place = taken.place
                standing = search.found[taken.key]
                machine = standing.machine
                if machine is None or not self._fit(machine, standing.presence):
                    unfit.add(taken.key)
                    continue
                with self._watched(machine):
                    yield machine
                return

    @contextmanager
    def hold(self, standing: Standing, *, wait: bool = True) -> Iterator[Machine]:
        """Wait for this very machine, in quarantine or not, and hold it: for checks and care.

        Without ``wait`` a machine that others have or wait for raises Busy.
        """
        machine = standing.machine
        if machine is None:
            msg = f"{standing.name}: {standing.text(self.room.now())}"
            raise NothingFits(msg)
        told = _Told(machine.name, self.room) if wait else _refuse
        with self.room.queue.turn(machine.name, lambda: (machine.key,), told):
            yield machine

    def candidates(self, unfit: Collection[str] = ()) -> dict[str, Standing]:
        """Return the machines that a job may be given now, by key, without those found unfit."""
        seen = [self._unauthorized_aside(each) for each in self.look()]
        able = [each for each in seen if each.key not in unfit]
        fine = {each.key: each for each in able if each.state in (State.FREE, State.HELD)}
        fresh = {key: each for key, each in fine.items() if key not in self._failed}
        # What was here a moment ago may come back; what never was may hang on another host.
        lost = {
            each.key: each
            for each in able
            if each.state is State.OFFLINE
            or (each.state is State.ABSENT and each.key in self._known)
        }
        if found := fresh or fine or lost:
            return found
        now = self.room.now()
        reasons = "; ".join(f"{each.name}: {each.text(now)}" for each in seen)
        msg = f"no device of {self.name} can be used: {reasons}"
        hint = (
            "`megtrim devices list` shows them, `megtrim devices restore NAME` lifts a quarantine"
        )
        raise NothingFits(msg, hint=hint)

    def care(self, machine: Machine, reason: str) -> Healing:
        """Bring a held machine back, or put it aside."""
        healing = self.room.ladder.climb(machine)
        if not healing.healthy and healing.presence is not Presence.ABSENT:
            put_aside(self.room, machine, f"{reason}; {healing.text}" if reason else healing.text)
        return healing

    def _unauthorized_aside(self, standing: Standing) -> Standing:
        if standing.state is not State.UNAUTHORIZED or standing.machine is None:
            return standing
        put_aside(self.room, standing.machine, trouble(standing.machine) or UNAUTHORIZED)
        return standing

    def _fit(self, machine: Machine, presence: Presence) -> bool:
        """Tell whether a machine that was just taken can be worked on; heal it if need be."""
        if presence is Presence.READY and (machine.key in self._proven or machine.alive()):
            return True
        self.room.say(f"  heal  {machine.name}: it is {_seen(presence)}")
        healing = self.care(machine, f"found {_seen(presence)}")
        if not healing.healthy:
            self._known.discard(machine.key)
            self.room.say(f"  skip  {machine.name}: {healing.text}")
        return healing.healthy

    @contextmanager
    def _watched(self, machine: Machine) -> Iterator[None]:
        """Look after the machine when its job failed, while it is still ours."""
        self._known.add(machine.key)
        try:
            yield
        except InfrastructureFailure as failure:
            self._proven.discard(machine.key)
            self._failed.add(machine.key)
            self._care_after(machine, failure)
            raise
        self._proven.add(machine.key)
        self._failed.clear()

    def _care_after(self, machine: Machine, failure: InfrastructureFailure) -> None:
        try:
            self.care(machine, failure.message)
        except InfrastructureFailure as unable:
            # What the job failed of is what counts.
            self.room.say(f"  heal  {machine.name}: not possible: {unable.message}")

    def _names(self) -> str:
        return ", ".join(sorted({entry.name for entry in self.entries}))


class _Search:
    """What a job that waits for a machine of a pool looks at, and tells."""

    def __init__(self, pool: Pool, unfit: Collection[str]) -> None:
        self.found = pool.candidates(unfit)
        self._pool = pool
        self._unfit = unfit
        self._looked_s = time.monotonic()
        self.waiting = _Told(pool.name, pool.room)

    def wants(self) -> tuple[str, ...]:
        """Return the keys of the machines that fit, looked for anew now and then."""
        now_s = time.monotonic()
        if now_s - self._looked_s >= self._pool.room.patience.say_every_s:
            self._looked_s = now_s
            self.found = self._pool.candidates(self._unfit)
        return tuple(self.found)


class _Told:
    """Tells a person of a wait: at once, when the queue moved, and now and then."""

    def __init__(self, what: str, room: Room) -> None:
        self._what = what
        self._room = room
        self._said_s = float("-inf")
        self._before = -1

    def __call__(self, wait: Wait) -> None:
        now_s = time.monotonic()
        due = now_s - self._said_s >= self._room.patience.say_every_s
        if due or wait.before != self._before:
            self._said_s, self._before = now_s, wait.before
            self._room.say(f"waiting for {self._what}: {wait.before} before you{self._held(wait)}")

    def _held(self, wait: Wait) -> str:
        now = self._room.now()
        held = [f"pid {each.pid} for {age(now - each.since)}" for each in wait.holders if each.pid]
        return f" (held by {', '.join(held)})" if held else ""


def _refuse(wait: Wait) -> None:
    pids = ", ".join(str(each.pid) for each in wait.holders)
    msg = f"held by pid {pids}" if pids else "others wait for it"
    raise Busy(msg)


def _seen(presence: Presence) -> str:
    return "attached and does not answer" if presence is Presence.READY else presence.value
