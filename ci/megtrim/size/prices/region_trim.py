"""The plain program's graph with its regions, and which of them a trim leaves out. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from megtrim.midout.region import Region
from megtrim.size.prices.region_extents import RegionExtents, locate_extents
from megtrim.size.references.graph import Mask, ReferenceGraph


@dataclass(frozen=True, kw_only=True)
class RegionTrim:
    """The plain program, and what a trim keeps of its regions."""

    plain: ReferenceGraph
    extents: Mapping[str, RegionExtents]
    """Functions of the profile build by linkage name, as
    :func:`~megtrim.size.prices.region_extents.find_extents` returns them."""
    kept: frozenset[Region]
    """The regions of the keep set; all others are left out."""

    @cached_property
    def with_regions(self) -> Mapping[int, RegionExtents]:
        """The parts that have regions."""
        return locate_extents(self.plain, self.extents)

    @cached_property
    def users(self) -> Mapping[int, frozenset[Region]]:
        """By the number of a reference: the regions that have it; others are of no region."""
        return dict(self._iter_users())

    @cached_property
    def running(self) -> tuple[int, ...]:
        """The parts with a kept region: they run."""
        return tuple(number for number, each in self.with_regions.items() if self.keeps_some(each))

    @cached_property
    def gone(self) -> Mask:
        """What the program has, and would not have without the regions left out.

        A function with a kept region runs, so it stays whatever the references say.
        """
        graph = self.plain
        cut = np.zeros(len(graph.targets), dtype=bool)
        for at, regions in self.users.items():
            cut[at] = self.kept.isdisjoint(regions)
        left = graph.reach({*graph.roots, *self.running}, cut=cut)
        return graph.reach(graph.roots) & ~left

    def keeps_some(self, extents: RegionExtents) -> bool:
        """Tell whether a function keeps one of its regions."""
        return any(region in self.kept for region in extents.sizes)

    def _iter_users(self) -> Iterator[tuple[int, frozenset[Region]]]:
        """Yield the references that only regions have.

        What the profile build does not know, because it inlined something else, is of no region in
        a function that keeps one, and otherwise of all that stand in the function.
        """
        graph = self.plain
        for number, extents in self.with_regions.items():
            unknown = {None} if self.keeps_some(extents) else extents.sizes.keys() - {None}
            for at, target in graph.iter_references(number):
                names = graph.parts[target].names
                known = [extents.references[each] for each in names if each in extents.references]
                regions = {each for some in known or (unknown,) for each in some}
                if None not in regions:
                    yield at, frozenset(each for each in regions if each is not None)
