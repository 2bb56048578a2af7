"""What would go from a program if some of what it keeps left: an estimate that builds nothing.

Of functions that are left out a trap remains, which refers to nothing; then goes what only they
referred to. Where a region goes, the function that it is in stays: its references from that region
go, and so does its share of the function. An operator is reached from where it is registered, in
code that runs before ``main``. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from megtrim.elf.symbol_names import identifiers
from megtrim.midout.keepset_parts import NeededParts
from megtrim.midout.region import Region
from megtrim.models.operators import strip_version
from megtrim.size.prices.region_extents import RegionExtents, locate_extents
from megtrim.size.references.graph import Mask, ReferenceGraph

TRAP_BYTES = 16
"""What remains of a function whose regions all went."""
_REGISTERING = ("_GLOBAL__sub_I_", "__cxx_global_var_init", "_GLOBAL__I_")
_REGISTERED = ("{}", "{}Forward", "_OprReg{}", "{}Entry")
"""What an operator's class, and the class that registers it, are called; a version may follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedProgram:
    """A program that ships, with what is known of its parts."""

    graph: ReferenceGraph
    regions: frozenset[Region]
    """Those that it keeps."""
    dropped: frozenset[str]
    """Functions that it leaves out."""
    extents: Mapping[str, RegionExtents]
    """By functions of the profile build; empty where there is none."""
    _reached: Mask = field(init=False, repr=False, compare=False)
    _with_regions: Mapping[int, RegionExtents] = field(init=False, repr=False, compare=False)
    _registering: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Find what is there now, and where regions and operators are."""
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
        """Return the bytes that would go with these parts."""
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
        """Return which references go, and which share of functions that stay."""
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
