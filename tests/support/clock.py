"""Another present for megtrim, for waivers and proofs; and waiting until something is true."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from megtrim.core.cli.clock import CLOCK


@contextmanager
def clock_at(time: str) -> Iterator[None]:
    """Let a day, or a time in UTC, be the present of every megtrim that is started meanwhile."""
    with patch.dict(os.environ, {CLOCK: time}):
        yield


_LONGEST_S = 30.0
"""A machine may be busy; no one waits this long where all is well."""


def until(true: Callable[[], object], what: str, within_s: float = _LONGEST_S) -> None:
    """Return as soon as ``true`` is; fail after half a minute, or another time."""
    end = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < end, f"waited too long for: {what}"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not yet collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state.rpartition(")")[2].split()[0] not in ("Z", "X")


def written_pid(file: Path) -> int:
    until(lambda: file.exists() and file.read_text(encoding="utf-8").endswith("\n"), str(file))
    return int(file.read_text(encoding="utf-8"))
