"""What would go from a program if some of what it keeps left: an estimate that builds nothing.

Of functions that are left out a trap remains, which refers to nothing; then goes what only they
referred to. Where a region goes, the function that it is in stays: its references from that region
go, and so does its share of the function. An operator is reached from where it is registered, in
code that runs before ``main``. Pure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field

import numpy as np

from megtrim.elf.references import References
from megtrim.elf.symbol_names import identifiers
from megtrim.models.operators import strip_version
from megtrim.regions.keepset import NeededParts
from megtrim.regions.region import PREFIX, Region
from megtrim.regions.trace import find_regions
from megtrim.size.references.graph import Mask, Numbers, ReferenceGraph
from megtrim.size.references.linked_file import LinkedFile, locate
from megtrim.util.value import Value

_MARK = re.compile(rf"_ZT[IS]({PREFIX}\w+)|_Z({PREFIX}\w+)7on_usedEv", re.ASCII)
"""Descriptions of a region's type, texts of its name, and functions that report it."""


class RegionExtents(Value):
    """One function of the profile build, by the regions that begin in it."""

    sizes: Mapping[Region | None, int]
    """Bytes of each region; None: of none."""
    references: Mapping[str, frozenset[Region | None]]
    """In which regions the function refers to a name."""

    def find_share(self, gone: frozenset[Region], kept: frozenset[Region]) -> float:
        """Without its last region, nothing but a trap is left of a function."""
        there = {region: n for region, n in self.sizes.items() if region is None or region in kept}
        if gone.isdisjoint(there):
            return 0.0
        if not any(region is not None and region not in gone for region in there):
            return 1.0
        return sum(n for region, n in there.items() if region in gone) / sum(there.values())

    def goes_with(self, name: str, gone: frozenset[Region], kept: frozenset[Region]) -> bool:
        regions = self.references.get(name, frozenset())
        there = {each for each in regions if each is None or each in kept}
        return bool(there) and there <= gone


def locate_extents(
    graph: ReferenceGraph, extents: Mapping[str, RegionExtents]
) -> dict[int, RegionExtents]:
    """``extents`` are by linkage names."""
    return {
        number: found
        for number, part in enumerate(graph.parts)
        if (found := next((extents[name] for name in part.names if name in extents), None))
    }


def find_extents(linked: LinkedFile, references: References) -> dict[str, RegionExtents]:
    """``linked`` is the profile build's program, ``references`` are all of its by address."""
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


TRAP_BYTES = 16
_REGISTERING = ("_GLOBAL__sub_I_", "__cxx_global_var_init", "_GLOBAL__I_")
_REGISTERED = ("{}", "{}Forward", "_OprReg{}", "{}Entry")
"""What an operator's class, and the class that registers it, are called; a version may follow."""


class PricedProgram(Value):
    graph: ReferenceGraph
    regions: frozenset[Region]
    dropped: frozenset[str]
    extents: Mapping[str, RegionExtents]
    """By functions of the profile build; empty where there is none."""
    _reached: Mask = field(init=False, repr=False, compare=False)
    _with_regions: Mapping[int, RegionExtents] = field(init=False, repr=False, compare=False)
    _registering: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = self.graph.parts
        registering = tuple(
            number
            for number, part in enumerate(parts)
            if any(name.startswith(_REGISTERING) for name in part.names)
        )
        object.__setattr__(self, "_reached", self.graph.reach(self.graph.roots))
        object.__setattr__(self, "_with_regions", locate_extents(self.graph, self.extents))
        object.__setattr__(self, "_registering", registering)

    def price(self, gone: NeededParts) -> int:
        emptied = self._find_emptied(gone.functions)
        cut, shares = self._find_cut(gone)
        starts = [each for each in self.graph.roots if not emptied[each]]
        left = self.graph.reach(starts, emptied=emptied, cut=cut)
        left &= ~emptied
        shrunk = sum(
            share * max(self.graph.parts[number].size_bytes - TRAP_BYTES, 0)
            for number, share in shares.items()
            if left[number]
        )
        return self.graph.count_bytes(self._reached & ~left) + round(shrunk)

    def _find_emptied(self, functions: Collection[str]) -> Mask:
        """Return the parts all of whose functions are left out, some of them only now."""
        numbers = {number for name in functions for number in self.graph.find([name])}
        without = self.dropped.union(functions)
        return self.graph.select(
            number
            for number in numbers
            if all(
                name in without or name.startswith("$") for name in self.graph.parts[number].names
            )
        )

    def _find_cut(self, gone: NeededParts) -> tuple[Mask, dict[int, float]]:
        cut = np.zeros(len(self.graph.targets), dtype=bool)
        shares: dict[int, float] = {}
        for number, extents in self._with_regions.items():
            share = extents.find_share(gone.regions, self.regions)
            if share:
                shares[number] = share
                for at, target in self.graph.iter_references(number):
                    # A trap refers to nothing, not even to what the profile build inlined.
                    cut[at] = share == 1 or any(
                        extents.goes_with(name, gone.regions, self.regions)
                        for name in self.graph.parts[target].names
                    )
        if gone.operators:
            spellings = {form.format(name) for name in gone.operators for form in _REGISTERED}
            for number in self._registering:
                for at, target in self.graph.iter_references(number):
                    words = identifiers(self.graph.parts[target].names)
                    cut[at] |= not spellings.isdisjoint(map(strip_version, words))
        return cut, shares
