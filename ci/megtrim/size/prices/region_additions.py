"""Which regions that were left out are nearly free to keep: what a few bytes more would buy back.

A region brings back its share of the functions that it stands in, and all that its code leads to
and that the trimmed program does not have. What that is shows in the profile build, where every
region's references are known; what it weighs, in the plain program. Other regions in what comes
back stay left out. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from megtrim.midout.region import Region
from megtrim.size.prices.attributed import TRAP_BYTES
from megtrim.size.prices.region_extents import RegionExtents, locate_extents
from megtrim.size.prices.region_trim import RegionTrim
from megtrim.size.references.additions import Candidate, take_best
from megtrim.size.references.graph import Mask, Numbers, ReferenceGraph
from megtrim.size.references.reference_index import ReferenceIndex
from megtrim.size.references.search import find_component_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionAddition:
    """A region that could stay, and what it takes."""

    region: Region
    component: str
    """Of the largest function that it stands in."""
    size_bytes: int
    """Of its share, and of all that came with it and with no addition before it."""
    kept_in_tag: int
    """How many regions of its tag are kept."""
    wanted_by: tuple[str, ...]
    """What is known to need it: neighbours of scenarios, which ended in its trap."""


@dataclass(frozen=True, kw_only=True)
class ProfiledTrim:
    """The regions of a trim, with the programs that show what each would bring back."""

    trim: RegionTrim
    profile: ReferenceGraph
    shipped: ReferenceGraph

    @cached_property
    def with_regions(self) -> Mapping[int, RegionExtents]:
        """The parts of the profile build that have regions."""
        return locate_extents(self.profile, self.trim.extents)

    @cached_property
    def kept(self) -> Mask:
        """The parts of the profile build that the trimmed program has, or that nothing names."""
        there = self.shipped.by_name.keys()
        names = (part.names for part in self.profile.parts)
        stay = (not each or not there.isdisjoint(each) for each in names)
        return np.fromiter(stay, dtype=bool, count=len(self.profile.parts))

    @cached_property
    def plain_sizes(self) -> Numbers:
        """Bytes of each part in the plain program; 0 where that inlined it."""
        plain = self.trim.plain
        numbers = (
            next((plain.by_name[name] for name in part.names if name in plain.by_name), None)
            for part in self.profile.parts
        )
        return np.fromiter(
            (0 if at is None else plain.parts[at].size_bytes for at in numbers),
            dtype=np.int64,
            count=len(self.profile.parts),
        )

    @cached_property
    def users(self) -> Mapping[int, frozenset[Region | None]]:
        """By the number of a reference from a function with regions: who has it."""
        graph, found = self.profile, {}
        for number, extents in self.with_regions.items():
            for at, target in graph.iter_references(number):
                names = graph.parts[target].names
                found[at] = frozenset(
                    region for name in names for region in extents.references.get(name, ())
                )
        return found


@dataclass(slots=True)
class _LeftOutRegion:
    """A region that was left out of functions that stay."""

    own_bytes: int = 0
    function: int = -1
    targets: dict[int, None] = field(default_factory=dict)
    """What its code refers to and that went."""


def find_region_additions(
    found: ProfiledTrim, within_bytes: int, wishes: Mapping[str, Sequence[str]]
) -> Iterator[RegionAddition]:
    """Yield what could stay in addition, best first, within so many bytes altogether.

    What is known to be needed comes first: ``wishes`` has who needs a region, by its name. Then
    come regions of tags that are kept in part, then the cheapest. Only regions in functions that
    stay count: no other would run.
    """
    in_tag = Counter(each.tag for each in found.trim.kept)
    sizes = _measure_without_regions(found)
    index = ReferenceIndex(found.profile, chosen=_choose_references(found), sizes=sizes)
    candidates = []
    for region, each in _find_candidates(found).items():
        if not 0 < each.own_bytes <= within_bytes:
            continue  # nothing of it is code of its own
        needed = index.closure(each.targets, found.kept, within_bytes - each.own_bytes)
        if needed is not None:
            by = tuple(dict.fromkeys(wishes.get(str(region), ())))
            size_bytes = each.own_bytes + int(sizes[needed].sum())
            rank = (-len(by), not in_tag[region.tag], size_bytes, str(region))
            candidates.append(Candidate((region, each.function, by), rank, needed, each.own_bytes))
    for chosen in take_best(candidates, sizes, within_bytes):
        region, function, by = chosen.subject
        yield RegionAddition(
            region=region,
            component=find_component_of(found.profile.parts[function]),
            size_bytes=chosen.size_bytes,
            kept_in_tag=in_tag[region.tag],
            wanted_by=by,
        )


def _find_candidates(found: ProfiledTrim) -> dict[Region, _LeftOutRegion]:
    """Return the regions left out of functions that stay, with what each takes in them."""
    candidates: dict[Region, _LeftOutRegion] = {}
    sizes = found.plain_sizes
    for number, extents in found.with_regions.items():
        whole = sum(extents.sizes.values())
        if not found.kept[number] or not whole:
            continue
        # Of a function without a region a trap remains: what is of none comes back, too.
        more = 0 if found.trim.keeps_some(extents) else extents.sizes.get(None, 0)
        for region, share in extents.sizes.items():
            if region is None or region in found.trim.kept:
                continue
            each = candidates.setdefault(region, _LeftOutRegion())
            each.own_bytes += round(int(sizes[number]) * (share + more) / whole)
            if each.function < 0 or sizes[number] > sizes[each.function]:
                each.function = number
    for at, regions in found.users.items():
        target = int(found.profile.targets[at])
        if None not in regions and not found.kept[target] and found.kept[found.profile.origins[at]]:
            for region in regions:
                if region in candidates:
                    candidates[region].targets[target] = None
    return candidates


def _measure_without_regions(found: ProfiledTrim) -> Numbers:
    """Return the bytes of each part with its kept regions only."""
    sizes, kept = found.plain_sizes.copy(), found.trim.kept
    for number, extents in found.with_regions.items():
        left_out = sum(n for each, n in extents.sizes.items() if each and each not in kept)
        if not found.trim.keeps_some(extents):
            sizes[number] = min(TRAP_BYTES, int(sizes[number]))
        elif left_out:
            sizes[number] -= round(int(sizes[number]) * left_out / sum(extents.sizes.values()))
    return sizes


def _choose_references(found: ProfiledTrim) -> Mask:
    """Return the references that do not stand in regions that were left out."""
    chosen = np.ones(len(found.profile.targets), dtype=bool)
    for at, regions in found.users.items():
        chosen[at] = None in regions or not found.trim.kept.isdisjoint(regions)
    return chosen
