"""A fair queue for machines, shared by processes that do not know each other.

A job that wants a machine takes a ticket: a file that names the machines it accepts. In order of
arrival, each ticket gets the first of its machines that is free. Tickets and machines are held by
kernel locks (``flock``), which a process loses when it dies, however it dies; the text of a lock
file only shows people who holds it. One lock protects the whole folder, for a few file operations
at a time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from megtrim.devices.pool.state_dir import (
    lock_file,
    open_shared,
    parse_saved,
    read_descriptor,
    slug,
    try_lock,
)
from megtrim.devices.pool.tickets import (
    LONGEST_LABEL,
    LockOwner,
    MachineLock,
    Ticket,
    TicketHandle,
    rewrite,
    waiters,
)
from megtrim.errors import InputError

_LOOK_S = 0.2
"""Pause between two checks of the queue, so the longest that a free machine stays unused."""
_ASLEEP_AFTER_S = 60.0
"""A waiter that has not checked for so long (it was suspended) keeps its place but is skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePosition:
    """A waiter's position in the queue."""

    ahead: int
    """Number of jobs that hold a wanted machine or come first."""
    holders: tuple[LockOwner, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSlot:
    """A machine that we hold, and the number of the ticket that got it."""

    key: str
    number: int
    lock: MachineLock = field(repr=False)
    """Released when the block is left, unless it was handed over."""


def assign(tickets: Mapping[int, Sequence[str]], free: Collection[str]) -> dict[int, str]:
    """Return which ticket gets which machine: in order of arrival, the first that is free.

    ``tickets`` maps ticket numbers, which grow with arrival, to the wanted machines. Pure.
    """
    left = set(free)
    given: dict[int, str] = {}
    for number in sorted(tickets):
        key = next((key for key in tickets[number] if key in left), None)
        if key is not None:
            given[number] = key
            left.remove(key)
    return given


class Queue:
    """The queue of one state folder."""

    def __init__(self, state: Path, now: Callable[[], datetime]) -> None:
        self._folder = state / "queue"
        self._order = self._folder / "order.lock"
        """Locks the whole folder for a few file operations, and holds the last ticket number."""
        self._tickets = self._folder / "tickets"
        self._now = now

    @contextmanager
    def acquire(
        self,
        label: str,
        wants: Callable[[], Sequence[str]],
        waiting: Callable[[QueuePosition], None] = lambda _wait: None,
        number: int | None = None,
    ) -> Iterator[QueueSlot]:
        """Wait until we hold one of the wanted machines, and keep it until the block is left.

        ``wants`` is called at every check; an exception from it ends the wait. ``waiting`` is
        called after every check that found none free. ``number`` is that of an earlier slot whose
        machine could not be used: whoever was first is first again.
        """
        handle = TicketHandle(self._tickets, number)
        key, lock = self._wait(handle, label, wants, waiting)
        try:
            yield QueueSlot(key=key, number=handle.number, lock=lock)
        finally:
            lock.release()

    def _wait(
        self,
        handle: TicketHandle,
        label: str,
        wants: Callable[[], Sequence[str]],
        waiting: Callable[[QueuePosition], None],
    ) -> tuple[str, MachineLock]:
        """Return a machine and its lock, once it is our turn."""
        since = self._now()
        try:
            while True:
                ticket = Ticket(
                    pid=os.getpid(), since=since, label=label[:LONGEST_LABEL], wants=tuple(wants())
                )
                with lock_file(self._order) as counter:
                    handle.take(ticket, counter)
                    taken, wait = self._look(handle.number, ticket)
                if taken is not None:
                    return taken
                waiting(wait)
                time.sleep(_LOOK_S)
        finally:
            handle.leave()

    def mark_recovering(self, key: str, lock: MachineLock) -> None:
        """Show people that we hold the machine only to recover it."""
        holder = LockOwner(pid=os.getpid(), since=self._now(), key=key, recovering=True)
        with lock_file(self._order):
            rewrite(lock.descriptor, holder, self._lock_path(key))

    def holder(self, key: str) -> LockOwner | None:
        """Return who holds the machine now."""
        with lock_file(self._order):
            return self._holder(key)

    def tickets(self) -> tuple[Ticket, ...]:
        """Return the tickets of all waiters, in order of arrival."""
        with lock_file(self._order):
            return tuple(waiter.ticket for waiter in waiters(self._tickets))

    def _look(
        self, own: int, ticket: Ticket
    ) -> tuple[tuple[str, MachineLock] | None, QueuePosition]:
        """Take the machine that is assigned to us, if any, and return our position, too."""
        present = waiters(self._tickets)
        now_s = next(each.seen_s for each in present if each.number == own)
        awake = {
            each.number: each.ticket.wants
            for each in present
            if now_s - each.seen_s < _ASLEEP_AFTER_S
        }
        keys = {key for wants in awake.values() for key in wants}
        holders = {key: self._holder(key) for key in sorted(keys)}
        free = {key for key, holder in holders.items() if holder is None}
        mine = assign(awake, free).get(own)
        lock = None if mine is None else self._take(mine)
        having = tuple(holder for key in ticket.wants if (holder := holders[key]) is not None)
        earlier = sum(
            number < own and not set(wants).isdisjoint(ticket.wants)
            for number, wants in awake.items()
        )
        wait = QueuePosition(ahead=len(having) + earlier, holders=having)
        return (None if mine is None or lock is None else (mine, lock)), wait

    def _take(self, key: str) -> MachineLock | None:
        """Lock a machine and write who we are; None if another process was quicker."""
        descriptor = open_shared(self._lock_path(key))
        if not try_lock(descriptor):
            os.close(descriptor)
            return None
        holder = LockOwner(pid=os.getpid(), since=self._now(), key=key)
        try:
            rewrite(descriptor, holder, self._lock_path(key))
        except BaseException:
            os.close(descriptor)
            raise
        return MachineLock(descriptor)

    def _holder(self, key: str) -> LockOwner | None:
        path = self._lock_path(key)
        if not path.exists():
            return None
        descriptor = open_shared(path)
        try:
            if try_lock(descriptor):
                return None
            try:
                return parse_saved(read_descriptor(descriptor), LockOwner, path)
            except InputError:
                # Only the lock counts: damaged text must not stop the queue.
                return LockOwner(pid=0, since=self._now(), key=key)
        finally:
            os.close(descriptor)

    def _lock_path(self, key: str) -> Path:
        return self._folder / "machines" / f"{slug(key)}.lock"
