"""Growth that neither counted work nor a peak of memory shows: it is no pass. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from megtrim.core.config.units import format_bytes
from megtrim.core.size.counted import Beside, MemoryUse, Range, Unmapped, Work
from megtrim.libs.util.wording import count

_NOTHING = (0, 0)
_SLACK = {
    Beside.OUTSIDE: 10_000,  # such as a time that is printed
    Beside.OUTSIDE_BYTES: 4096,
    Beside.CALLS: 0,
    Beside.BYTES: 4096,
    Beside.LATER_CALLS: 1,  # when a buffer is full
    Beside.LATER_BYTES: 4096,
}
"""Growth that says nothing, whatever the limit."""


def find_growth_beside(now: Work, known: Work, most: float) -> str:
    """Return what grew by more than the limit, a share; empty: nothing."""
    found = []
    for kind in Beside:
        was = Range(*known.beside.get(kind, _NOTHING))
        seen = Range(*now.beside.get(kind, _NOTHING))
        if _is_more(kind, was, seen, known, most):
            found.append(f"{kind} {was.largest:,} → {seen.largest:,}")
    return "; ".join(found)


def _is_more(kind: Beside, was: Range, seen: Range, known: Work, most: float) -> bool:
    width = was.largest - was.smallest
    if kind is Beside.OUTSIDE:  # a share of a run that makes one iteration
        allowed = max(round(most * (was.smallest + known.total.instructions)), _SLACK[kind])
    else:
        allowed = max(round(most * was.smallest), _SLACK[kind], width)
    grown = seen.smallest - was.smallest
    if width <= allowed:  # otherwise it waits, and the most is by chance
        grown = max(grown, seen.largest - was.largest)
    return grown > allowed


def find_unmapped_growth(
    use: MemoryUse, known: MemoryUse | None, left_bytes: int, *, grows: bool
) -> str:
    """Return what the program makes that a peak does not show, and may be beyond the limit.

    ``left_bytes``: what the limit leaves beside the peak; ``grows``: it is one of growth.
    """
    before: Mapping[Unmapped, int] = known.unmapped if known else {}
    files = use.unmapped.get(Unmapped.FILES, 0)
    if files > before.get(Unmapped.FILES, 0):
        made = f"it makes {count(files, 'file')} in memory or of a given size"
        return f"{made}, {before.get(Unmapped.FILES, 0)} before, which are not in that"
    filled = use.unmapped.get(Unmapped.BYTES, 0)
    counted = filled - before.get(Unmapped.BYTES, 0) if grows else filled
    if counted > left_bytes:
        more = " more" if grows else ""
        written = f"it writes {format_bytes(counted)}{more} to files"
        return f"{written}, which may be in memory but not in that"
    return ""


def with_base(use: MemoryUse) -> MemoryUse:
    """Return what an earlier commit's program uses under the conditions of now."""
    return replace(use, figures=use.base_figures, unmapped=use.base_unmapped)
