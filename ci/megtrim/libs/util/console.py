"""What a person sees while megtrim works: lines on stderr, and the progress of long work.

A terminal's line is rewritten, a log gets plain lines, also where a CI job has a terminal: services
keep lines, and show none before it ends. Heartbeats say what is done while all is silent.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from megtrim.libs.util.wording import make_printable, shorten

CLEAR_LINE = "\r\x1b[2K"
_TERMINAL_PERIOD_S = 0.2
_LOG_PERIOD_S = 15.0
_TERMINAL_SILENCE_S = 2.0
_LOG_SILENCE_S = 20.0
"""Longest silence before a heartbeat: it leaves a busy machine some time of the 5 seconds that a
terminal may stand still, and of the 30 that a log may."""
_LOOKS = 4
"""How often a heartbeat is looked for in such a time."""
_LONGEST_ACTIVITY = 70
_LONGEST_ITEM = 60
_LEAST_STEPS = 3
_LEAST_PASSED_S = 2.0
"""From which on a rate says something about the rest."""
_COLUMNS = 80
"""Of a terminal that does not say how many it has."""


class Console:
    """Writes messages. ``in_job``: a CI service keeps them. ``clock``: seconds, in no result."""

    def __init__(
        self,
        stream: TextIO,
        *,
        quiet: bool = False,
        in_job: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._quiet = quiet
        self._clock = clock
        self._terminal = stream.isatty() and not in_job
        self._open_line = False
        self._written = clock()
        self._activity = ""
        self._since = self._written
        self._lock = threading.RLock()
        """Other threads write, too, such as one that recovers a machine."""

    def say(self, text: str) -> None:
        if self._quiet:
            return
        with self._lock:
            self._end_line()
            self._write(f"{make_printable(text)}\n")
            self.note(text)

    def warn(self, text: str) -> None:
        with self._lock:
            self._end_line()
            self._write(f"warning: {make_printable(text)}\n")

    def progress(self, what: str) -> Progress:
        return Progress(what, self, self._clock)

    def show(self, line: str) -> None:
        if self._quiet:
            return
        shown = make_printable(line)
        if self._terminal:  # a line that is to be replaced must not be wider
            most = count_columns(self._stream, otherwise=_COLUMNS) - 1
            shown = f"{CLEAR_LINE}{shorten(shown, most, most // 2)}"
        with self._lock:
            self._write(shown if self._terminal else f"{shown}\n")
            self._open_line = self._terminal

    def note(self, activity: str) -> None:
        with self._lock:
            first = activity.partition("\n")[0]
            self._activity = shorten(first, _LONGEST_ACTIVITY, _LONGEST_ACTIVITY // 2)
            self._since = self._clock()

    @contextmanager
    def heartbeat(self) -> Iterator[None]:
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(self._silence_s / _LOOKS):
                self.beat()

        thread = threading.Thread(target=watch, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            with self._lock:
                self._end_line()

    def beat(self) -> None:
        with self._lock:
            now = self._clock()
            if self._activity and now - self._written >= self._silence_s:
                self.show(f"{self._activity} · {show_time(now - self._since)}")

    @property
    def _silence_s(self) -> float:
        return _TERMINAL_SILENCE_S if self._terminal else _LOG_SILENCE_S

    @property
    def period_s(self) -> float:
        return _TERMINAL_PERIOD_S if self._terminal else _LOG_PERIOD_S

    def _end_line(self) -> None:
        if self._open_line:
            self._write(CLEAR_LINE)
            self._open_line = False

    def _write(self, text: str) -> None:
        self._written = self._clock()
        self._stream.write(text)
        self._stream.flush()


class Progress:
    def __init__(self, what: str, console: Console, clock: Callable[[], float]) -> None:
        self._what = what
        self._console = console
        self._clock = clock
        self._shown = clock()
        self._began = self._shown
        self._done = 0
        """How much was done at first: a build that goes on begins somewhere in the middle."""

    def __call__(self, done: int, total: int, item: str) -> None:
        """Report that step ``done`` of ``total`` was ``item``; without ``total``, that it began."""
        now = self._clock()
        if not total or done <= self._done or not self._done:
            self._began = now
            self._done = done
        count = f"{done} of {total} · " if total else ""
        name = shorten(name_file(item), _LONGEST_ITEM, _LONGEST_ITEM // 4)
        line = f"  {self._what}: {count}{name}{self._describe_rest(done, total, now)}"
        self._console.note(line)
        if now - self._shown >= self._console.period_s:
            self._shown = now
            self._console.show(line)

    def _describe_rest(self, done: int, total: int, now: float) -> str:
        """Say how long the rest takes at the rate so far; empty: too little is known for it."""
        passed_s = now - self._began
        steps = done - self._done
        if steps < _LEAST_STEPS or passed_s < _LEAST_PASSED_S or done >= total:
            return ""
        return f" · about {show_time(passed_s * (total - done) / steps)} left"


def name_file(item: str) -> str:
    """Return the file that a build system's line is about: ``outputs.cpp``; else the line."""
    last = item.rpartition(" ")[2]
    name = last.rpartition("/")[2]
    for suffix in (".o", ".obj"):
        source = name.removesuffix(suffix)
        if source != name and "." in source:
            return source
    return name if "/" in last and "." in name else item


class SparseLines:
    def __init__(
        self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._say = say
        self._clock = clock
        self._said = clock()

    def say(self, text: str) -> None:
        if self._clock() - self._said >= _LOG_PERIOD_S:
            self.say_now(text)

    def say_now(self, text: str) -> None:
        self._said = self._clock()
        self._say(text)


def count_columns(stream: TextIO, *, otherwise: int) -> int:
    """Return the width of a terminal; ``otherwise`` if it is none, or does not say."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or otherwise
    except (OSError, ValueError):
        return otherwise


def show_time(seconds: float) -> str:
    """Format a time that passed or is left: ``42 s``, ``27 min 1 s``."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
