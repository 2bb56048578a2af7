"""Who holds which machine: one locked file for each.

The kernel frees a lock (``flock``) when its holder dies, however it dies; the file's text only
shows people who holds it. Jobs that wait look again every so often, in no order.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, StringConstraints

from megtrim.devices.pool.state_dir import (
    StateFile,
    lock_file,
    make_unusable_error,
    open_shared,
    parse_saved,
    read_descriptor,
    slug,
    try_lock,
)
from megtrim.errors import InputError
from megtrim.evidence.limits import clean_line

_POLL_S = 0.2
_LONGEST_NAME = 200


class Holder(StateFile):
    """Who holds a machine."""

    version: Literal[2] = 2
    pid: int
    since: AwareDatetime
    name: Annotated[str, StringConstraints(max_length=_LONGEST_NAME)]
    key: Annotated[str, StringConstraints(min_length=1, max_length=5000)]

    def __str__(self) -> str:
        return f"{self.name} (pid {self.pid})" if self.pid else self.name


def name_holder(env: Mapping[str, str]) -> str:
    """Return a name for the job that this process belongs to: a workflow's run, or a user."""
    repository, run = env.get("GITHUB_REPOSITORY", ""), env.get("GITHUB_RUN_ID", "")
    job = f"{repository} run {run}" if repository and run else env.get("USER", "")
    return clean_line(job)[:_LONGEST_NAME] or f"user {os.getuid()}"


class Leases:
    """The leases of one state folder; ``name`` is ours."""

    def __init__(self, state: Path, name: str, now: Callable[[], datetime]) -> None:
        self._folder = state / "leases"
        self._guard = self._folder / "guard.lock"
        """Locked for a few file operations at a time."""
        self._name = name
        self._now = now

    @contextmanager
    def acquire(
        self,
        wants: Callable[[], Sequence[str]],
        waiting: Callable[[Sequence[Holder]], None] = lambda _holders: None,
    ) -> Iterator[str]:
        """Wait until we hold one of the wanted machines, and yield its key.

        ``wants`` is called for each attempt, ``waiting`` with the holders after each that found
        none free; an exception from either ends the wait.
        """
        while True:
            wanted = wants()
            with lock_file(self._guard):
                taken = next(filter(None, map(self._take, wanted)), None)
                holders = () if taken else [who for key in wanted if (who := self._holder(key))]
            if taken is not None:
                break
            waiting(holders)
            time.sleep(_POLL_S)
        key, descriptor = taken
        try:
            yield key
        finally:
            # Closing alone would leave the lock with a child process that was forked just now.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def holder(self, key: str) -> Holder | None:
        """Return who holds the machine now."""
        with lock_file(self._guard):
            return self._holder(key)

    def _take(self, key: str) -> tuple[str, int] | None:
        """Lock a machine and write who we are, or return None if someone else holds it."""
        path = self._path(key)
        descriptor = open_shared(path)
        if not try_lock(descriptor):
            os.close(descriptor)
            return None
        holder = Holder(pid=os.getpid(), since=self._now(), name=self._name, key=key)
        data = holder.model_dump_json().encode()
        try:
            # In place: a new file under this name would be a new lock.
            os.pwrite(descriptor, data, 0)
            os.ftruncate(descriptor, len(data))
        except OSError as error:
            os.close(descriptor)
            raise make_unusable_error(path, error) from None
        return key, descriptor

    def _holder(self, key: str) -> Holder | None:
        path = self._path(key)
        if not path.exists():
            return None
        descriptor = open_shared(path)
        try:
            if try_lock(descriptor):
                return None
            try:
                return parse_saved(read_descriptor(descriptor), Holder, path)
            except InputError:
                # Only the lock counts: damaged text must not stop anyone.
                return Holder(pid=0, since=self._now(), name="an unknown process", key=key)
        finally:
            os.close(descriptor)

    def _path(self, key: str) -> Path:
        return self._folder / f"{slug(key)}.lock"
