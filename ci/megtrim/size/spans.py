"""Stretches of bytes with labels: whoever claims a byte first has it, and every byte counts once.

Files of others may claim a byte twice, or none. Pure.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

Label = TypeVar("Label")


class Spans(Generic[Label]):
    """Claims of bytes, by start, and none of a byte that an earlier one has."""

    def __init__(self, claims: Iterable[tuple[int, int, Label]]) -> None:
        """Take start, end and label of each claim, in ascending order of their starts."""
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._labels: list[Label] = []
        taken = 0
        for first, end, label in claims:
            start = max(first, taken)
            if end > start:
                self._starts.append(start)
                self._ends.append(end)
                self._labels.append(label)
                taken = end

    def cut(self, start: int, end: int) -> Iterator[tuple[int, int, Label | None]]:
        """Yield the pieces of a stretch, in order and without gaps; None: what no one claims."""
        at = start
        begin = max(bisect_right(self._starts, start) - 1, 0)
        behind = bisect_left(self._starts, end)
        for number in range(begin, behind):
            first, last = max(self._starts[number], at), min(self._ends[number], end)
            if first < last:
                if at < first:
                    yield at, first, None
                yield first, last, self._labels[number]
                at = last
        if at < end:
            yield at, end, None

    def at(self, place: int) -> Label | None:
        """Return the label of one byte; None: no one claims it."""
        number = bisect_right(self._starts, place) - 1
        return self._labels[number] if number >= 0 and place < self._ends[number] else None
