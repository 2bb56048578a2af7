"""Which regions that were left out are nearly free to keep: what a few bytes more would buy back.

A region brings back its share of the functions that it stands in, and all that its code leads to
and that went. Other regions in what comes back stay left out. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from megtrim.midout.region import Region
from megtrim.size.prices.attributed import TRAP_BYTES
from megtrim.size.prices.region_trim import RegionTrim
from megtrim.size.references.graph import Mask, Numbers
from megtrim.size.references.reference_index import ReferenceIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionAddition:
    """A region that could stay, and what it takes."""

    region: Region
    function: int
    """The largest part that it stands in."""
    size_bytes: int
    """Of its share, and of all that came with it and with no addition before it."""
    kept_in_tag: int
    """How many regions of its tag are kept."""
    wanted_by: tuple[str, ...]
    """What is known to need it: neighbours of scenarios, which ended in its trap."""


@dataclass(slots=True)
class _Candidate:
    """A region that was left out of functions that stay."""

    own_bytes: int = 0
    function: int = -1
    targets: dict[int, None] = field(default_factory=dict)
    """What its code refers to and that went."""


def find_region_additions(
    trim: RegionTrim, within_bytes: int, wishes: Mapping[str, Sequence[str]]
) -> Iterator[RegionAddition]:
    """Yield what could stay in addition, best first, within so many bytes altogether.

    What is known to be needed comes first: ``wishes`` has who needs a region, by its name. Then
    come regions of tags that are kept in part, then the cheapest. Only regions in functions that
    stay count: no other would run.
    """
    in_tag = Counter(each.tag for each in trim.kept)
    sizes = _measure_without_regions(trim)
    index = ReferenceIndex(trim.plain, chosen=_choose_plain_references(trim), sizes=sizes)
    ranked = []
    for region, found in _find_candidates(trim).items():
        if not 0 < found.own_bytes <= within_bytes:
            continue  # nothing of it is code of its own
        needed = index.closure(found.targets, ~trim.gone, within_bytes - found.own_bytes)
        if needed is not None:
            by = tuple(dict.fromkeys(wishes.get(str(region), ())))
            size_bytes = found.own_bytes + int(sizes[needed].sum())
            rank = (-len(by), not in_tag[region.tag], size_bytes, str(region))
            ranked.append((rank, region, found, needed, by))
    taken: set[int] = set()
    left_bytes = within_bytes
    for _, region, found, needed, by in sorted(ranked, key=lambda each: each[0]):
        fresh = tuple(each for each in needed if each not in taken)
        size_bytes = found.own_bytes + int(sizes[list(fresh)].sum())
        if size_bytes > left_bytes:
            continue
        taken.update(fresh)
        left_bytes -= size_bytes
        yield RegionAddition(
            region=region,
            function=found.function,
            size_bytes=size_bytes,
            kept_in_tag=in_tag[region.tag],
            wanted_by=by,
        )


def _find_candidates(trim: RegionTrim) -> dict[Region, _Candidate]:
    """Return the regions left out of functions that stay, with what each takes in them."""
    found: dict[Region, _Candidate] = {}
    sizes = trim.plain.sizes
    for number, extents in trim.with_regions.items():
        if trim.gone[number]:
            continue
        whole = sum(extents.sizes.values())
        for region, share in extents.sizes.items():
            if region is None or region in trim.kept or not whole:
                continue
            # Of a function without a region a trap remains: what is of none comes back, too.
            more = 0 if trim.keeps_some(extents) else extents.sizes.get(None, 0)
            each = found.setdefault(region, _Candidate())
            each.own_bytes += round(int(sizes[number]) * (share + more) / whole)
            if each.function < 0 or sizes[number] > sizes[each.function]:
                each.function = number
    for at, regions in trim.users.items():
        target = int(trim.plain.targets[at])
        if trim.gone[target] and not trim.gone[int(trim.plain.origins[at])]:
            for region in regions & found.keys():
                found[region].targets[target] = None
    return found


def _measure_without_regions(trim: RegionTrim) -> Numbers:
    """Return the bytes of each part with its kept regions only."""
    sizes = trim.plain.sizes.copy()
    for number, extents in trim.with_regions.items():
        left_out = sum(n for each, n in extents.sizes.items() if each and each not in trim.kept)
        if not trim.keeps_some(extents):
            sizes[number] = min(TRAP_BYTES, int(sizes[number]))
        elif left_out:
            sizes[number] -= round(int(sizes[number]) * left_out / sum(extents.sizes.values()))
    return sizes


def _choose_plain_references(trim: RegionTrim) -> Mask:
    """Return the references that do not stand in regions that were left out."""
    chosen = np.ones(len(trim.plain.targets), dtype=bool)
    for at, regions in trim.users.items():
        chosen[at] = not trim.kept.isdisjoint(regions)
    return chosen
