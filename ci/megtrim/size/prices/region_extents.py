"""Which bytes and references of a function are a region's, by the profile build.

In the profile build, a region begins with a call that names it, and the place of that call refers
to the region's type. What follows, up to the next such place or the end of the function, counts
for that region; what comes before the first one is of none. A compiler may move code, so this is an
estimate. Pure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from megtrim.elf.references.relocations import References
from megtrim.midout.demangle import PREFIX
from megtrim.midout.region import Region
from megtrim.midout.trace import find_regions
from megtrim.size.references.graph import Numbers, ReferenceGraph
from megtrim.size.references.linked_file import LinkedFile, locate

_MARK = re.compile(rf"_ZT[IS]({PREFIX}\w+)|_Z({PREFIX}\w+)7on_usedEv", re.ASCII)
"""A region's type: its description, the text of its name, or the function that reports it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionExtents:
    """One function of the profile build, by the regions that begin in it."""

    sizes: Mapping[Region | None, int]
    """Bytes of each region; None: of none."""
    references: Mapping[str, frozenset[Region | None]]
    """In which regions the function refers to a name."""

    def find_share(self, gone: frozenset[Region], kept: frozenset[Region]) -> float:
        """Return which share of a function of the reduced build would go with some regions.

        Without its last region, nothing but a trap is left of a function.
        """
        there = {region: n for region, n in self.sizes.items() if region is None or region in kept}
        if gone.isdisjoint(there):
            return 0.0
        if not any(region is not None and region not in gone for region in there):
            return 1.0
        return sum(n for region, n in there.items() if region in gone) / sum(there.values())

    def goes_with(self, name: str, gone: frozenset[Region], kept: frozenset[Region]) -> bool:
        """Return whether only the regions that go refer to a name."""
        regions = self.references.get(name, frozenset())
        there = {each for each in regions if each is None or each in kept}
        return bool(there) and there <= gone


def locate_extents(
    graph: ReferenceGraph, extents: Mapping[str, RegionExtents]
) -> dict[int, RegionExtents]:
    """Return the parts of any program that have regions; ``extents`` are by linkage names."""
    return {
        number: found
        for number, part in enumerate(graph.parts)
        if (found := next((extents[name] for name in part.names if name in extents), None))
    }


def find_extents(linked: LinkedFile, references: References) -> dict[str, RegionExtents]:
    """Return the extents of each function in which regions begin, by its linkage names.

    ``linked`` is the profile build's program, ``references`` are all of its references by address.
    """
    marks = _find_marks(linked)
    starts = np.array([each.start for each in linked.stretches], dtype=np.int64)
    ends = np.array([each.end for each in linked.stretches], dtype=np.int64)
    origins, targets = (locate(each, starts, ends) for each in references)
    marked = np.isin(targets, np.array(sorted(marks), dtype=np.int64))
    functions = [
        number
        for number in np.unique(origins[marked]).tolist()
        if number >= 0 and number not in marks and linked.graph.parts[number].names
    ]
    order = np.argsort(references.places, kind="stable")
    ordered = origins[order]
    found: dict[str, RegionExtents] = {}
    for number in functions:
        first, last = np.searchsorted(ordered, [number, number + 1])
        chosen = order[first:last]
        extents = _measure(linked, number, references.places[chosen], targets[chosen], marks)
        found |= dict.fromkeys(linked.graph.parts[number].names, extents)
    return found


def _find_marks(linked: LinkedFile) -> dict[int, Region]:
    """Return the parts that stand for a region."""
    types = {
        number: mark[1] or f"{mark[2]}E"
        for number, part in enumerate(linked.graph.parts)
        for name in part.names[:1]
        if (mark := _MARK.fullmatch(name))
    }
    regions = find_regions(types.values())
    return {number: regions[name] for number, name in types.items() if name in regions}


def _measure(
    linked: LinkedFile, number: int, places: Numbers, targets: Numbers, marks: Mapping[int, Region]
) -> RegionExtents:
    stretch = linked.stretches[number]
    sizes: dict[Region | None, int] = defaultdict(int)
    references: dict[str, set[Region | None]] = defaultdict(set)
    region: Region | None = None
    at = stretch.start
    for place, target in zip(places.tolist(), targets.tolist(), strict=True):
        if target not in marks:
            for name in _names(linked, target):
                references[name].add(region)
        elif marks[target] != region:
            sizes[region] += place - at
            at, region = place, marks[target]
    sizes[region] += stretch.end - at
    return RegionExtents(
        sizes=dict(sizes),
        references={name: frozenset(found) for name, found in references.items()},
    )


def _names(linked: LinkedFile, number: int) -> Iterator[str]:
    if number >= 0:
        yield from linked.graph.parts[number].names
