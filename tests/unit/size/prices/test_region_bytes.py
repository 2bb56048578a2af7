"""What every region weighs in the plain program."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from megtrim.midout.region import Region
from megtrim.size.prices.attributed import TRAP_BYTES
from megtrim.size.prices.region_bytes import RegionBytes, RegionRow, measure_regions
from megtrim.size.prices.region_extents import RegionExtents
from megtrim.size.prices.region_trim import RegionTrim
from megtrim.size.references.graph import ReferenceGraph
from unit.size.prices.made_prices import (
    EXTENTS,
    FIRST,
    PLAN_BYTES,
    SECOND,
    count_left_out,
    make_program,
    make_trim,
)
from unit.size.references.made_graphs import made_part, make_graph

OTHER = Region("pool", (1,))
PLAN, CONV_BYTES = PLAN_BYTES / 500, 1064
"""Bytes of the function for each byte in the profile build; what only the first region runs."""


def measure(*kept: Region) -> RegionBytes:
    """Return the bytes of the regions where some are kept."""
    return measure_regions(make_trim(*kept))


def find(found: RegionBytes, region: Region) -> RegionRow:
    """Return the row of a region."""
    return next(each for each in found.rows if each.region == region)


@pytest.mark.parametrize("kept", [(), (FIRST,), (SECOND,), (FIRST, SECOND)])
def test_rows_add_up_to_the_program(kept: tuple[Region, ...]) -> None:
    """Whatever is kept, every byte counts once."""
    graph = make_program().graph

    assert sum(each.size_bytes for each in measure(*kept).rows) == int(graph.sizes.sum())


def test_a_region_has_its_share_and_what_only_it_leads_to() -> None:
    """Kept or left out; what both lead to stays if one of them does."""
    found = measure(SECOND)
    first, second = find(found, FIRST), find(found, SECOND)

    assert (first.own_bytes, first.size_bytes) == (round(300 * PLAN), round(300 * PLAN) + 1064)
    assert (first.is_left_out, second.is_left_out) == (True, False)
    assert second.size_bytes == second.own_bytes + 500 + 30
    assert count_left_out(found) == first.size_bytes
    assert found.unplaced == {}


def test_what_regions_of_a_tag_share_is_of_the_tag() -> None:
    """It goes only with both; of the function around them a trap remains."""
    found = measure()

    shared = [each for each in found.rows if each.tag == "conv" and each.region is None]
    assert [each.size_bytes for each in shared] == [30]
    assert count_left_out(found) == 1000 + 64 + 500 + 30 + PLAN_BYTES - TRAP_BYTES


def make_two(
    references: Mapping[str, frozenset[Region | None]], *more: tuple[int, int]
) -> RegionBytes:
    """Return the bytes of regions with two tags, both left out, in one function."""
    extents = {"plan": RegionExtents(sizes={None: 10, FIRST: 45, OTHER: 45}, references=references)}
    names, sizes = ("main", "plan", "log", "mul"), (16, 116, 30, 1000)
    graph = make_graph(map(made_part, names, sizes), ((0, 1), (1, 2), (1, 3), *more), {0: "entry"})
    return measure_regions(RegionTrim(plain=graph, extents=extents, kept=frozenset(())))


def test_what_several_tags_share_is_of_none() -> None:
    """Yet it is left out. What the profile build does not know is of all regions around it."""
    both = frozenset({FIRST, OTHER})
    found = make_two({"mul": frozenset({FIRST}), "log": both})
    unknown = make_two({"mul": frozenset({FIRST})})

    shared = [each for each in found.rows if each.is_left_out and not each.tag]
    assert [each.size_bytes for each in shared] == [30]
    assert found == unknown
    assert find(found, FIRST).size_bytes == 1050
    assert find(found, OTHER).size_bytes == 50


def test_what_something_else_leads_to_stays() -> None:
    """It is of no region."""
    found = make_two({"mul": frozenset({FIRST})}, (0, 3))

    assert count_left_out(found) == 100 + 30
    assert max(found.rows, key=lambda each: each.size_bytes).tag == ""


def test_a_region_whose_function_is_not_there_has_no_place() -> None:
    """It was inlined: its bytes in the profile build are what is known."""
    extents = EXTENTS | {"gone": RegionExtents(sizes={None: 4, OTHER: 40}, references={})}

    found = measure_regions(make_trim(FIRST, extents=extents))

    assert found.unplaced == {OTHER: 40}
    assert all(each.region != OTHER for each in found.rows)


def test_nothing_is_lost_in_a_program_of_any_shape() -> None:
    """Random references among fifty functions with regions: the parts add up, kept ones stay."""
    chance = np.random.default_rng(7)
    regions = [Region(f"tag{each % 3}", (each,)) for each in range(20)]
    for _ in range(30):
        graph, extents = _make_random(chance, regions)
        kept = {each for each in regions if chance.random() < 0.3}

        found = measure_regions(RegionTrim(plain=graph, extents=extents, kept=frozenset(kept)))

        assert sum(each.size_bytes for each in found.rows) == int(graph.sizes.sum())
        for row in found.rows:
            assert 0 <= row.own_bytes <= row.size_bytes
            assert row.region is None or row.is_left_out is (row.region not in kept)


def _make_random(
    chance: np.random.Generator, regions: list[Region]
) -> tuple[ReferenceGraph, dict[str, RegionExtents]]:
    names = [f"f{each}" for each in range(50)]
    pairs = [(int(a), int(b)) for a, b in chance.integers(0, 50, (120, 2))]
    sizes = chance.integers(1, 500, 50).tolist()
    graph = make_graph(map(made_part, names, sizes), pairs, {0: "entry", 1: "entry"})
    extents = {}
    for name in names[::2]:
        chosen = [None, *(regions[int(each)] for each in chance.integers(0, 20, 3))]
        extents[name] = RegionExtents(
            sizes={each: int(chance.integers(0, 90)) for each in chosen},
            references={
                other: frozenset([chosen[int(chance.integers(0, 4))]]) for other in names[1::3]
            },
        )
    return graph, extents
