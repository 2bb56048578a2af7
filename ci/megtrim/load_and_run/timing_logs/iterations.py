"""Reads runs of iteration lines, many at once: logs can have millions of them.

The first line of a run is parsed by its pattern. Lines of the same length that differ from it in
digits only, and only where the pattern takes any digit, match the pattern too, with the same
groups: numpy compares them and computes their numbers. Lines of other lengths are compared with
the next line that is left, and so on. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from megtrim.load_and_run.timing_logs.lines import (
    LINES,
    PREFIX,
    LineKind,
    LogDialect,
    dialect_of,
)

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]

LINE = re.compile(f"(?P<prefix>{PREFIX}){LINES[LineKind.ITERATION]} *".encode(), re.ASCII)
_COLUMNS = {
    LogDialect.SDK: ("number", "whole", "exec", "device"),
    LogDialect.EXEC: ("number", "whole", "exec"),
    LogDialect.E2E: ("number", "e2e", "host"),
}
"""Groups of a line whose values differ from line to line."""
_MOST_TEMPLATES = 64
"""Of one run; numbers of many different lengths end it early."""
_DECIMALS = 3
_WORD = 8
"""Bytes that are compared at once."""
_HIGH = 0x80
_ZERO, _NINE = ord("0"), 9


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationRun:
    """Consecutive lines of one dialect, one element for each; times in microseconds."""

    dialect: LogDialect
    count: int
    """What all lines give as the number of iterations."""
    numbers: Integers
    whole_us: Integers
    host_us: Integers
    device_us: Integers | None

    def __len__(self) -> int:
        return len(self.numbers)


def match_run(block: bytes, starts: Integers, ends: Integers, at: int) -> IterationRun | None:
    """Return the iteration lines from line ``at`` on; None if that line is none.

    ``starts`` and ``ends`` are the lines of ``block``. The run can end before a line that would
    have belonged to it; another call goes on there.
    """
    template = LINE.fullmatch(block, starts[at], ends[at])
    if template is None:
        return None
    dialect, count = dialect_of(template), template["count"]
    # The last line, too, needs whole words.
    data = np.frombuffer(block + bytes(_WORD), np.uint8)
    starts, lengths = starts[at:], (ends - starts)[at:]
    values = np.zeros((len(_COLUMNS[dialect]), len(starts)), np.int64)
    left = np.ones(len(starts), bool)
    line = 0
    for _ in range(_MOST_TEMPLATES):
        _take_equal_shapes(template, data, starts, lengths, left, values)
        rest = np.flatnonzero(left[line:])
        if not len(rest):
            line = len(starts)
            break
        line += int(rest[0])
        template = LINE.fullmatch(block, starts[line], starts[line] + lengths[line])
        if template is None or dialect_of(template) is not dialect or template["count"] != count:
            break
    # A copy, which keeps no room for the lines behind the run.
    columns = values[:, :line].copy()
    return IterationRun(
        dialect=dialect,
        count=int(count),
        numbers=columns[0],
        whole_us=columns[1],
        host_us=columns[2],
        device_us=columns[3] if len(columns) > 3 else None,
    )


def _take_equal_shapes(
    template: re.Match[bytes],
    data: Bytes,
    starts: Integers,
    lengths: Integers,
    left: NDArray[np.bool_],
    values: Integers,
) -> None:
    """Read all lines like ``template`` that are left."""
    line = np.frombuffer(template[0], np.uint8)
    spans = [template.span(name) for name in _COLUMNS[dialect_of(template)]]
    spans = [(first - template.start(), end - template.start()) for first, end in spans]
    alike = np.flatnonzero(left & (lengths == len(line)))
    for _, end in spans[1:]:
        # Of the same length, but with numbers of other lengths: one byte shows which.
        point = end - _DECIMALS - 1
        alike = alike[data[starts[alike] + point] == line[point]]
    lowest, more, high = _make_masks(line, [(0, len(template["prefix"])), *spans])
    width = len(lowest) * _WORD
    rows = sliding_window_view(data, width)[starts[alike]].view(np.uint64)
    rows ^= lowest
    wrong = (rows | (rows + more)) & high
    if np.bitwise_or.reduce(wrong, axis=None):
        fits = np.bitwise_or.reduce(wrong, axis=1) == 0
        rows, alike = rows[fits], alike[fits]
    digits = rows.view(np.uint8)
    for row, (first, end) in enumerate(spans):
        values[row, alike] = _compute(digits, first + np.flatnonzero(_are_digits(line[first:end])))
    left[alike] = False


def _make_masks(line: Bytes, spans: list[tuple[int, int]]) -> tuple[Words, Words, Words]:
    """Return the bytes that lines are compared with, and what shows a byte that differs too much.

    Eight bytes at once: the exclusive or of a byte and the first is 0 if it is equal, and the digit
    where any may stand. The second, added, brings what is more than that to the highest bit, which
    the third shows; bytes behind the line are any.
    """
    size = -(-len(line) // _WORD) * _WORD
    lowest, more, high = np.zeros((3, size), np.uint8)
    lowest[: len(line)], more[: len(line)], high[: len(line)] = line, _HIGH - 1, _HIGH
    for first, end in spans:
        free = first + np.flatnonzero(_are_digits(line[first:end]))
        lowest[free], more[free] = _ZERO, _HIGH - 1 - _NINE
    return lowest.view(np.uint64), more.view(np.uint64), high.view(np.uint64)


def _compute(digits: Bytes, columns: Integers) -> Integers:
    """Return the numbers whose digits stand in these columns, as they are without a point."""
    numbers = digits[:, columns[0]].astype(np.int64)
    for column in columns[1:]:
        numbers *= 10
        numbers += digits[:, column]
    return numbers


def _are_digits(line: Bytes) -> NDArray[np.bool_]:
    return (line >= _ZERO) & (line <= _ZERO + _NINE)
