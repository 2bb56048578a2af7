"""Tickets and locks of the queue, as files: each is held by a kernel lock, or by no one.

A file's text only shows people who holds it. All of this happens under the queue's lock over its
folder.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, StringConstraints

from megtrim.devices.pool.state_dir import (
    StateFile,
    make_unusable_error,
    open_shared,
    parse_saved,
    read_descriptor,
    try_lock,
)

LONGEST_LABEL = 500
_TICKET_NAME = re.compile(r"[0-9]{10}\.ticket")
_Key = Annotated[str, StringConstraints(min_length=1, max_length=5000)]
_Label = Annotated[str, StringConstraints(max_length=LONGEST_LABEL)]


class Ticket(StateFile):
    """What one waiter wants."""

    version: Literal[1] = 1
    pid: int
    since: AwareDatetime
    label: _Label
    """Its name for what it waits for."""
    wants: Annotated[tuple[_Key, ...], Field(max_length=100, strict=False)]


class LockOwner(StateFile):
    """Who holds a machine."""

    version: Literal[1] = 1
    pid: int
    since: AwareDatetime
    key: _Key
    recovering: bool = False
    """Whether it holds the machine only to recover it, while its job runs elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketFile:
    """A ticket, read from the folder."""

    number: int
    ticket: Ticket
    seen_s: float
    """When its owner last checked the queue, by the clock of the file system."""


def waiters(folder: Path) -> list[TicketFile]:
    """Return the tickets of live processes, in order of arrival; remove all others.

    Raises InputError for a damaged one.
    """
    found = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if _TICKET_NAME.fullmatch(path.name):
            waiter = _read_ticket(path)
            if waiter is None:
                path.unlink(missing_ok=True)
            else:
                found.append(waiter)
    return found


class TicketHandle:
    """Our own ticket. Every method needs the lock over the folder."""

    def __init__(self, folder: Path, number: int | None) -> None:
        self.number = number or 0
        self._folder = folder
        self._path: Path | None = None
        self._descriptor = -1

    def take(self, ticket: Ticket, counter: int) -> None:
        """Enter the queue with this ticket, or update it if we are in the queue already."""
        if self._path is None or not self._is_there(self._path):
            self.leave()
            self._create(counter)
        if self._path is not None:
            rewrite(self._descriptor, ticket, self._path)

    def leave(self) -> None:
        """Leave the queue."""
        if self._path is not None and self._is_there(self._path):
            self._path.unlink(missing_ok=True)
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._path, self._descriptor = None, -1

    def _create(self, counter: int) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            taken = {
                int(path.stem)
                for path in self._folder.iterdir()
                if _TICKET_NAME.fullmatch(path.name)
            }
            if self.number == 0 or self.number in taken:
                self.number = _next_number(counter, taken)
        except OSError as error:
            raise make_unusable_error(self._folder, error) from None
        path = self._folder / f"{self.number:010d}.ticket"
        self._descriptor = open_shared(path)
        self._path = path
        try_lock(self._descriptor)

    def _is_there(self, path: Path) -> bool:
        """Tell whether our ticket still exists: a person who cleans up may have removed it."""
        with suppress(OSError):
            return os.path.samestat(path.lstat(), os.fstat(self._descriptor))
        return False


def _next_number(counter: int, taken: Collection[int]) -> int:
    """Increment the counter: a number is never given out twice, so a job may keep its own."""
    text = read_descriptor(counter)
    last = int(text) if re.fullmatch(rb"[0-9]{1,9}\n", text) else 0
    number = max(last, *taken, 0) + 1
    data = b"%d\n" % number
    os.pwrite(counter, data, 0)
    os.ftruncate(counter, len(data))
    return number


def _read_ticket(path: Path) -> TicketFile | None:
    """Return a ticket whose owner is alive, else None. Raises InputError for a damaged one."""
    descriptor = open_shared(path)
    try:
        if try_lock(descriptor):
            return None
        ticket = parse_saved(read_descriptor(descriptor), Ticket, path)
        seen_s = os.fstat(descriptor).st_mtime
        return TicketFile(number=int(path.stem), ticket=ticket, seen_s=seen_s)
    finally:
        os.close(descriptor)


def rewrite(descriptor: int, saved: StateFile, path: Path) -> None:
    """Write the text of a locked file."""
    # In place: a new file under this name would be a new lock. Readers hold the lock over the
    # folder, and they do not read the text of a writer that died, because its lock is gone.
    data = saved.model_dump_json().encode()
    try:
        os.pwrite(descriptor, data, 0)
        os.ftruncate(descriptor, len(data))
        os.utime(descriptor)
    except OSError as error:
        raise make_unusable_error(path, error) from None


class MachineLock:
    """A lock that we hold; whoever it was handed to last releases it, once."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def hand_over(self) -> MachineLock:
        """Return a new owner of the lock; releasing this one has no effect from now on."""
        handed, self.descriptor = MachineLock(self.descriptor), -1
        return handed

    def release(self) -> None:
        """Release it and close its file."""
        if self.descriptor < 0:
            return
        # Closing alone would leave the lock with a child process that was forked just now.
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        os.close(self.descriptor)
        self.descriptor = -1
