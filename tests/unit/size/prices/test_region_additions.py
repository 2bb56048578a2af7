"""Which regions are nearly free to keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from megtrim.midout.region import Region
from megtrim.size.prices.region_additions import RegionAddition, find_region_additions
from megtrim.size.prices.region_extents import RegionExtents
from megtrim.size.prices.region_trim import RegionTrim
from unit.size.prices.made_prices import FIRST, PLAN_BYTES, SECOND, make_profiled_trim, make_trim
from unit.size.references.made_graphs import made_part, make_graph

OTHER = Region("pool", (1,))
SHARE = PLAN_BYTES / 500


def find_additions(
    trim: RegionTrim, within_bytes: int, wishes: Mapping[str, Sequence[str]] | None = None
) -> Iterator[RegionAddition]:
    """Yield what could stay."""
    return find_region_additions(make_profiled_trim(trim), within_bytes, wishes or {})


def test_a_region_brings_its_share_and_what_it_leads_to() -> None:
    """``mul`` and its table; ``log`` is there already."""
    (found,) = find_additions(make_trim(SECOND), 4096)

    assert (found.region, found.kept_in_tag, found.wanted_by) == (FIRST, 1, ())
    assert found.size_bytes == round(300 * SHARE) + 1000 + 64
    assert not list(find_additions(make_trim(SECOND), found.size_bytes - 1))


def test_the_first_region_of_a_function_brings_what_is_of_none() -> None:
    """What two of them need is paid for once: the second does not pay for ``log`` again."""
    second, first = find_additions(make_trim(), 4096)

    assert (second.region, first.region) == (SECOND, FIRST)
    assert second.size_bytes == round(200 * SHARE) + 500 + 30
    assert first.size_bytes == round(400 * SHARE) + 1000 + 64


def test_what_is_needed_comes_first() -> None:
    """Then tags that are kept in part, then the cheapest."""
    extents = {"plan": RegionExtents(sizes={FIRST: 50, OTHER: 10, SECOND: 40}, references={})}
    graph = make_graph((made_part("plan", 100),), (), {0: "entry"})

    def order(*kept: Region, wishes: dict[str, list[str]]) -> list[Region]:
        trim = RegionTrim(plain=graph, extents=extents, kept=frozenset(kept))
        return [each.region for each in find_additions(trim, 4096, wishes)]

    assert order(wishes={}) == [OTHER, SECOND, FIRST]
    assert order(SECOND, wishes={}) == [FIRST, OTHER]
    assert order(wishes={str(FIRST): ["m/s@any: threads-4"]}) == [FIRST, OTHER, SECOND]


def test_other_regions_stay_left_out() -> None:
    """Of a function that comes back with a region, those that it does not need are no part."""
    extents = {
        "plan": RegionExtents(sizes={None: 50, FIRST: 50}, references={"mul": frozenset({FIRST})}),
        "mul": RegionExtents(sizes={None: 10, OTHER: 90}, references={"table": frozenset({OTHER})}),
    }
    parts = (made_part("plan", 100), made_part("mul", 1000), made_part("table", 640))
    graph = make_graph(parts, ((0, 1), (1, 2)), {0: "entry"})

    (found,) = find_additions(RegionTrim(plain=graph, extents=extents, kept=frozenset()), 4096)

    assert (found.region, found.size_bytes) == (FIRST, 100 + 16)


def test_what_the_plain_program_inlined_shows_in_the_profile_build() -> None:
    """There ``plan`` calls ``prepare``, which needs ``mul``; the plain one has that in ``plan``."""
    trim = make_trim(SECOND)
    parts = (*trim.plain.parts, made_part("prepare", 40))
    plan, mul, table, prepare = 1, 2, 3, len(parts) - 1
    references = ((0, plan), (plan, prepare), (prepare, mul), (mul, table))
    known = replace(trim.extents["plan"], references={"prepare": frozenset({FIRST})})
    profiled = replace(
        make_profiled_trim(trim),
        trim=replace(trim, extents={"plan": known}),
        profile=make_graph(parts, references, {0: "entry"}),
    )

    (found,) = find_region_additions(profiled, 4096, {})

    assert found.size_bytes == round(300 * SHARE) + 1000 + 64
