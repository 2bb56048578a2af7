"""What two files' bytes differ in, by component and symbol; the changes add up exactly. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from megtrim.size.breakdown import Breakdown, View
from megtrim.size.byte_change import ByteChange
from megtrim.size.byte_table import ByteTable

_LEAST_RENAMED_BYTES = 64
"""Smaller things of one size are many."""


def compare_breakdowns(before: Breakdown, after: Breakdown, view: View) -> tuple[ByteChange, ...]:
    """Return every label of a view whose bytes differ, the largest change first.

    The changes add up to the growth of the file. A label that went and one of the same component
    and size that came are one that was renamed, if there is only one such pair.
    """
    return _compare(*(_totals(each.by_component(view), view) for each in (before, after)))


def compare_tables(before: ByteTable, after: ByteTable, view: View) -> tuple[ByteChange, ...]:
    """Return every component or symbol whose bytes differ, as :func:`compare_breakdowns` does."""
    least_bytes = max(before.least_bytes, after.least_bytes)
    totals = (each.totals(least_bytes) for each in (before, after))
    if view is View.COMPONENT:
        totals = (_by_label((component, n) for (component, _), n in x.items()) for x in totals)
    return _compare(*totals)


def _totals(found: Counter[tuple[str, str]], view: View) -> Counter[tuple[str, str]]:
    if view is View.SYMBOL:
        return found
    return _by_label((label, size_bytes) for (_, label), size_bytes in found.items())


def _by_label(rows: Iterable[tuple[str, int]]) -> Counter[tuple[str, str]]:
    totals: Counter[tuple[str, str]] = Counter()
    for label, size_bytes in rows:
        totals["", label] += size_bytes
    return totals


def _compare(
    first: Counter[tuple[str, str]], second: Counter[tuple[str, str]]
) -> tuple[ByteChange, ...]:
    changes = (
        ByteChange(component=key[0], label=key[1], before_bytes=first[key], after_bytes=second[key])
        for key in first.keys() | second.keys()
    )
    found = _join_renamed(each for each in changes if each.growth_bytes)
    return tuple(
        sorted(found, key=lambda each: (-abs(each.growth_bytes), each.component, each.label))
    )


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
