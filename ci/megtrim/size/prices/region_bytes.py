"""What every region weighs in the plain program: those that a trim keeps, and those it leaves out.

Regions have no symbols. In the profile build their extents are known; a function's bytes in the
plain program are divided by the same shares. What only the code of a region leads to counts for
it as well: with the region, it would go. What several regions lead to is of their tag, if they have
one, and of none otherwise. So all bytes count once, and all rows add up to the program. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from megtrim.midout.region import Region
from megtrim.size.prices.attributed import TRAP_BYTES
from megtrim.size.prices.region_extents import RegionExtents
from megtrim.size.prices.region_trim import RegionTrim
from megtrim.size.references.dominators import Dominators, find_dominators
from megtrim.size.references.graph import Mask, Part, join
from megtrim.size.references.search import UNNAMED, find_component_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRow:
    """Some bytes of the plain program, by who needs them."""

    component: str
    tag: str
    """Empty: of regions with several tags, or of no region."""
    region: Region | None
    """None: of several regions, or of none."""
    is_left_out: bool
    size_bytes: int
    """With the functions and data that only it leads to."""
    own_bytes: int
    """The share of these that stands in the region itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionBytes:
    """The plain program, by its regions."""

    rows: tuple[RegionRow, ...]
    """The largest first; they add up to the program as it is in the file and in memory."""
    unplaced: Mapping[Region, int]
    """Regions whose functions the plain program does not have by that name, because they were
    inlined or folded elsewhere, and their bytes in the profile build. The rows have their code
    where it is now, as of no region."""


def measure_regions(trim: RegionTrim) -> RegionBytes:
    """Return what every region weighs in the plain program."""
    totals: dict[_Key, list[int]] = {}
    for at, (owner, size_bytes) in _divide(trim):
        part = trim.plain.parts[at]
        key = (find_component_of(part) or UNNAMED, *owner.key)
        total = totals.setdefault(key, [0, 0])
        total[0] += size_bytes
        total[1] += size_bytes * owner.is_own
    rows = (
        RegionRow(
            component=component,
            tag=tag,
            region=region,
            is_left_out=is_left_out,
            size_bytes=size_bytes,
            own_bytes=own_bytes,
        )
        for (component, tag, region, is_left_out), (size_bytes, own_bytes) in totals.items()
        if size_bytes
    )
    return RegionBytes(rows=tuple(sorted(rows, key=_rank)), unplaced=_list_unplaced(trim))


_Key = tuple[str, str, Region | None, bool]


def _rank(row: RegionRow) -> tuple[int, str, str, str, bool]:
    return -row.size_bytes, row.component, row.tag, str(row.region or ""), row.is_left_out


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owner:
    """Whose some bytes are."""

    tag: str = ""
    region: Region | None = None
    is_left_out: bool = False
    is_own: bool = False

    @property
    def key(self) -> tuple[str, Region | None, bool]:
        return self.tag, self.region, self.is_left_out


_NO_ONES, _SEVERAL = _Owner(), _Owner(is_left_out=True)


def _divide(trim: RegionTrim) -> Iterator[tuple[int, tuple[_Owner, int]]]:
    """Yield the owners of each part, with their bytes of it."""
    gone = trim.gone
    owners = _find_owners(trim, ~gone, is_left_out=False)
    owners |= _find_owners(trim, gone, is_left_out=True)
    for number in range(len(trim.plain.parts)):
        owner = owners.get(number, _SEVERAL if gone[number] else _NO_ONES)
        size_bytes = int(trim.plain.sizes[number])
        extents = trim.with_regions.get(number)
        if extents is None:
            yield number, (owner, size_bytes)
            continue
        for one, part_bytes in _divide_function(trim, extents, size_bytes, owner):
            yield number, (one, part_bytes)


def _list_unplaced(trim: RegionTrim) -> dict[Region, int]:
    """Return the regions whose functions this program does not have, by their bytes."""
    placed = {each for found in trim.with_regions.values() for each in found.sizes}
    missing: dict[Region, int] = {}
    for extents in {id(each): each for each in trim.extents.values()}.values():
        for region, size_bytes in extents.sizes.items():
            if region is not None and region not in placed:
                missing[region] = missing.get(region, 0) + size_bytes
    return dict(sorted(missing.items()))


def _divide_function(
    trim: RegionTrim, extents: RegionExtents, size_bytes: int, owner: _Owner
) -> Iterator[tuple[_Owner, int]]:
    """Yield the shares of a function; ``owner`` has what is of no region.

    Of a function that keeps none of its regions a trap remains.
    """
    sizes = dict(extents.sizes)
    if not trim.keeps_some(extents):
        stays = min(TRAP_BYTES, size_bytes) if not owner.is_left_out else 0
        yield owner, stays
        sizes.pop(None, None)
        size_bytes -= stays
    # Divided by what is left, so that rounding loses no byte.
    left_bytes, left_share = size_bytes, sum(sizes.values())
    for region, share in sizes.items():
        taken = round(left_bytes * share / left_share) if left_share else left_bytes
        left_bytes, left_share = left_bytes - taken, left_share - share
        if region is None:
            yield owner, taken
        else:
            is_left_out = region not in trim.kept
            one = _Owner(tag=region.tag, region=region, is_left_out=is_left_out, is_own=True)
            yield one, taken
    yield owner, left_bytes


def _find_owners(trim: RegionTrim, mask: Mask, *, is_left_out: bool) -> dict[int, _Owner]:
    """Return who needs the parts of a mask, of regions that are kept, or left out.

    The graph has a part for each tag and region: a tag leads to its regions, and a region to
    what its code refers to. The closest of them that dominates a part needs it.
    """
    graph = trim.plain
    count = len(graph.parts)
    users = {
        at: [each for each in regions if (each not in trim.kept) is is_left_out]
        for at, regions in trim.users.items()
    }
    regions = sorted({each for found in users.values() for each in found})
    tags = sorted({each.tag for each in regions})
    at_tag = {tag: count + at for at, tag in enumerate(tags)}
    at_region = {each: count + len(tags) + at for at, each in enumerate(regions)}
    plain = mask[graph.origins] & mask[graph.targets]
    plain[list(users)] = False
    pairs = [
        *((at_tag[each.tag], number) for each, number in at_region.items()),
        *(
            (at_region[each], int(graph.targets[at]))
            for at, found in users.items()
            for each in found
            if mask[graph.targets[at]]
        ),
    ]
    added = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    whole = join(
        (*graph.parts, *(Part((), "", "", 0) for _ in range(len(tags) + len(regions)))),
        np.concatenate((graph.origins[plain], added[:, 0])),
        np.concatenate((graph.targets[plain], added[:, 1])),
        {},
    )
    starts = (each for each in (*graph.roots, *trim.running) if mask[each])
    found = find_dominators(whole, (*starts, *at_tag.values()))
    labels = {number: _Owner(tag=tag, is_left_out=is_left_out) for tag, number in at_tag.items()}
    labels |= {
        number: _Owner(tag=each.tag, region=each, is_left_out=is_left_out)
        for each, number in at_region.items()
    }
    return _inherit(labels, found, count)


def _inherit(labels: dict[int, _Owner], found: Dominators, count: int) -> dict[int, _Owner]:
    """Return the label of the closest part above each of the first ``count`` parts."""
    owners = dict(labels)
    for number in found.order:
        above = int(found.above[number])
        if number not in owners and above in owners:
            owners[number] = owners[above]
    return {number: owner for number, owner in owners.items() if number < count}
