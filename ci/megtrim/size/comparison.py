"""What two files' bytes differ in, by component and symbol; the changes add up exactly. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from megtrim.size.breakdown import Breakdown, View

_LEAST_RENAMED_BYTES = 64
"""Smaller things of one size are many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteChange:
    """One label's bytes in both files."""

    component: str
    label: str
    before_bytes: int
    after_bytes: int
    former: str = ""
    """Its label in the first file, if it was renamed."""

    @property
    def growth_bytes(self) -> int:
        """Return how many bytes it grew by."""
        return self.after_bytes - self.before_bytes


def compare_breakdowns(before: Breakdown, after: Breakdown, view: View) -> tuple[ByteChange, ...]:
    """Return every label of a view whose bytes differ, the largest change first.

    The changes add up to the growth of the file. A label that went and one of the same component
    and size that came are one that was renamed, if there is only one such pair.
    """
    first, second = _totals(before, view), _totals(after, view)
    labels = first.keys() | second.keys()
    changes = (
        ByteChange(component=key[0], label=key[1], before_bytes=first[key], after_bytes=second[key])
        for key in labels
    )
    found = _join_renamed(each for each in changes if each.growth_bytes)
    return tuple(
        sorted(found, key=lambda each: (-abs(each.growth_bytes), each.component, each.label))
    )


def _totals(breakdown: Breakdown, view: View) -> Counter[tuple[str, str]]:
    at = list(View).index(view)
    totals: Counter[tuple[str, str]] = Counter()
    for row, size_bytes in breakdown.rows.items():
        component = row.component if view is View.SYMBOL else ""
        totals[component, row[at]] += size_bytes
    return totals


def _join_renamed(changes: Iterable[ByteChange]) -> Iterator[ByteChange]:
    gone: dict[tuple[str, int], list[ByteChange]] = defaultdict(list)
    came: dict[tuple[str, int], list[ByteChange]] = defaultdict(list)
    for each in changes:
        stayed = each.before_bytes and each.after_bytes
        if stayed or abs(each.growth_bytes) < _LEAST_RENAMED_BYTES:
            yield each
        elif each.before_bytes:
            gone[each.component, each.before_bytes].append(each)
        else:
            came[each.component, each.after_bytes].append(each)
    for key in gone.keys() | came.keys():
        old, new = gone[key], came[key]
        if len(old) == len(new) == 1:
            yield ByteChange(
                component=key[0],
                label=new[0].label,
                before_bytes=key[1],
                after_bytes=key[1],
                former=old[0].label,
            )
        else:
            yield from (*old, *new)
