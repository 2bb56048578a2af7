"""A strict reader of a whole log of one process, in any dialect.

It reads as a stream: memory grows by the times alone. Lines of other kinds are passed over; a line
that begins like one with times but is none is damage. A time other than that of a whole iteration
has no second place in a log that it could be compared with. Pure: a stream in, values out.
"""

from __future__ import annotations

import re
import sys
from typing import BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from megtrim.load_and_run.timing_logs.iterations import Integers, match_run
from megtrim.load_and_run.timing_logs.lines import (
    BEGINNINGS,
    LINES,
    OF_FITTING,
    PREFIX,
    LineKind,
)
from megtrim.load_and_run.timing_logs.order import ONE_PROCESS, LogOrder
from megtrim.load_and_run.timing_logs.timing_log import DamagedLog, NoTimes, TimingLog

_BLOCK_BYTES = 1024 * 1024
_LONGEST_LINE = 1024 * 1024
_SHOWN = 60
_LINE_END = ord("\n")
_FIRST_PRINTABLE = 32

_KINDS = tuple(
    (kind, re.compile(f"{PREFIX}{LINES[kind]} *".encode(), re.ASCII))
    for kind in LineKind
    if kind is not LineKind.ITERATION
)
_WITH_TIMES = re.compile(f"{PREFIX}{BEGINNINGS}".encode(), re.ASCII)
_WORDS = (b"iter ", b"=== ", b"load model", b"warm", b"avg time", b"MegBrain", b"load-and-run")
"""Each line with times has one of these."""
_STRANGE = re.compile(rb"[\x00-\x08\x0b-\x1f]")
_LETTERS = 4
_FOURS = sorted({int.from_bytes(each[:_LETTERS], sys.byteorder) for each in _WORDS})
_MANY = 12
"""Lines without times in a block, after which the others are looked for all at once."""
_FITTING = re.compile(PREFIX.encode() + OF_FITTING.encode(), re.ASCII)
_LOGGED = re.compile(rb"^\[\d+ \d+:\d+:\d+ [^\]\n]*\]", re.MULTILINE | re.ASCII)


def read_timing_log(
    stream: BinaryIO, *, source: str, iterations: int | None = None, warmups: int | None = None
) -> TimingLog | NoTimes:
    """Read the log of one process; ``source`` is its name in messages.

    ``iterations`` and ``warmups`` are the numbers that were asked for, to be compared; without
    them a log whose last warm-up is missing altogether is not noticed up to 1.6. Raises DamagedLog
    with the line, what was found and what was expected.
    """
    reader = _Reader(source, iterations=iterations, warmups=warmups)
    rest = b""
    while data := stream.read(_BLOCK_BYTES):
        data = rest + data
        end = data.rfind(b"\n") + 1
        rest = data[end:]
        if end:
            reader.take(data[:end])
        if len(rest) > _LONGEST_LINE:
            reader.refuse(f"a line of more than {_LONGEST_LINE} bytes", "lines of text")
    if rest:
        reader.take(rest + b"\n")
    return reader.finish()


class _Reader:
    """Takes a log block by block."""

    def __init__(self, source: str, *, iterations: int | None, warmups: int | None) -> None:
        self._source = source
        self._order = LogOrder(source, iterations=iterations, warmups=warmups)
        self._line = 0
        """Number of lines in the blocks that were taken."""
        self._printed = False
        """Whether the program printed anything of its own."""

    def take(self, block: bytes) -> None:
        """Take whole lines."""
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        data = np.frombuffer(block, np.uint8)
        ends = np.flatnonzero(data == _LINE_END)
        if not block.isascii() or np.count_nonzero(data < _FIRST_PRINTABLE) != len(ends):
            self._expect_text(block)
        if any(word in block for word in _WORDS):
            starts = np.concatenate(([0], ends[:-1] + 1))
            self._take_lines(block, starts, ends)
        if not self._printed:
            self._printed = _LOGGED.search(block) is not None
        self._line += len(ends)

    def refuse(self, found: str, expected: str, *, line: int = 1) -> NoReturn:
        """Raise DamagedLog for a line, counted from the end of what was taken."""
        raise DamagedLog(self._source, self._line + line, found, expected)

    def finish(self) -> TimingLog | NoTimes:
        """Return what was read. Raises DamagedLog if the end is missing."""
        return self._order.finish(self._line) if self._printed else NoTimes()

    def _take_lines(self, block: bytes, starts: Integers, ends: Integers) -> None:
        numbers, at, passed = np.arange(len(starts)), 0, 0
        while at < len(starts):
            if not _WITH_TIMES.match(block, starts[at], ends[at]):
                at, passed = at + 1, passed + 1
                if passed == _MANY:
                    chosen = at + np.flatnonzero(_have_words(block, starts[at:], ends[at:]))
                    numbers, starts, ends, at = numbers[chosen], starts[chosen], ends[chosen], 0
                continue
            self._printed = True
            run = match_run(block, starts, ends, at)
            if run is None:
                text = block[starts[at] : ends[at]]
                self._take_line(text, int(numbers[at]) + 1)
                at += 1
            else:
                lines = numbers[at : at + len(run)] + self._line + 1
                self._order.take_run(run, lines)
                at += len(run)

    def _take_line(self, text: bytes, line: int) -> None:
        for kind, pattern in _KINDS:
            if match := pattern.fullmatch(text):
                self._order.take(kind, match, self._line + line)
                return
        if _FITTING.match(text):
            self.refuse("a line of --fitting, which times many settings", ONE_PROCESS, line=line)
        shown = text[:_SHOWN].decode("utf-8", "replace")
        self.refuse(f"the line {shown!r}", "times as load_and_run logs them", line=line)

    def _expect_text(self, block: bytes) -> None:
        """Raise DamagedLog for a byte that no text has."""
        strange = _STRANGE.search(block)
        at = strange.start() if strange else None
        try:
            block.decode("utf-8")
        except UnicodeDecodeError as error:
            at = error.start if at is None else min(at, error.start)
        if at is not None:
            self.refuse(f"the byte 0x{block[at]:02x}", "text", line=block.count(b"\n", 0, at) + 1)


def _have_words(block: bytes, starts: Integers, ends: Integers) -> NDArray[np.bool_]:
    """Return for each line whether it has a word that each line with times has one of."""
    found = np.zeros(len(starts), bool)
    if not len(starts):
        return found
    data = np.frombuffer(block, np.uint8)[starts[0] :]
    for shift in range(_LETTERS):
        rest = data[shift : shift + (len(data) - shift) // _LETTERS * _LETTERS]
        fours = np.frombuffer(rest.tobytes(), np.uint32)
        for each in _FOURS:
            hit = np.flatnonzero(fours == each)
            found[np.searchsorted(ends, starts[0] + shift + hit * _LETTERS)] = True
    return found
