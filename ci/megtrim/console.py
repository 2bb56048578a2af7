"""What a person sees while megtrim works: lines on stderr, and the progress of long work.

On a terminal, progress rewrites one line; in a log, it is an occasional plain line.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TextIO

_TERMINAL_PERIOD_S = 0.2
_LOG_PERIOD_S = 15.0


class Console:
    """Writes messages; ``clock`` counts seconds and never enters a result."""

    def __init__(
        self, stream: TextIO, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._quiet = quiet
        self._clock = clock
        self._terminal = stream.isatty()
        self._open_line = False
        self._lock = threading.RLock()
        """Other threads write, too, such as one that recovers a machine."""

    def say(self, text: str) -> None:
        """Write one line."""
        if self._quiet:
            return
        with self._lock:
            self._end_line()
            self._write(f"{text}\n")

    def warn(self, text: str) -> None:
        """Write one line, even if quiet."""
        with self._lock:
            self._end_line()
            self._write(f"warning: {text}\n")

    def progress(self, what: str) -> Progress:
        """Return a counter for one piece of long work."""
        return Progress(what, self, self._clock)

    def show(self, line: str) -> None:
        """Show a line of progress: in place on a terminal, as a line of its own elsewhere."""
        if self._quiet:
            return
        with self._lock:
            self._write(f"\r\x1b[2K{line}" if self._terminal else f"{line}\n")
            self._open_line = self._terminal

    @property
    def period_s(self) -> float:
        """How often progress is worth showing."""
        return _TERMINAL_PERIOD_S if self._terminal else _LOG_PERIOD_S

    def _end_line(self) -> None:
        if self._open_line:
            self._write("\r\x1b[2K")
            self._open_line = False

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


class Progress:
    """Reports the progress of one piece of work: steps done of total, rate, time left."""

    def __init__(self, what: str, console: Console, clock: Callable[[], float]) -> None:
        self._what = what
        self._console = console
        self._clock = clock
        self._started = clock()
        self._shown = self._started
        self._total = 0
        self._before = 0

    def __call__(self, done: int, total: int, item: str) -> None:
        """Report that step ``done`` of ``total`` was ``item``."""
        now = self._clock()
        if total != self._total:
            # Another piece of work begins, at a rate of its own.
            self._total, self._before, self._started = total, done, now
        if now - self._shown < self._console.period_s:
            return
        self._shown = now
        elapsed = now - self._started
        rate = (done - self._before) / elapsed if elapsed > 0 else 0.0
        left = f", {show_time(max(0, total - done) / rate)} left" if rate > 0 else ""
        self._console.show(f"  {self._what}: {done}/{total}, {rate:.1f}/s{left} · {item[:60]}")


class SparseLines:
    """Says a line if the last one is long enough ago, for work that says something very often."""

    def __init__(
        self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._say = say
        self._clock = clock
        self._said = clock()

    def say(self, text: str) -> None:
        """Say a line, or drop it."""
        if self._clock() - self._said >= _LOG_PERIOD_S:
            self.say_now(text)

    def say_now(self, text: str) -> None:
        """Say a line whenever the last one was."""
        self._said = self._clock()
        self._say(text)


def show_time(seconds: float) -> str:
    """Format a time that is left: ``42 s``, ``27 min 1 s``."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
