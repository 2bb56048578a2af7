"""The views of a file's bytes, each of which adds up to the file."""

from __future__ import annotations

import zlib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.size.attribution import NameSources
from megtrim.size.breakdown import (
    Breakdown,
    ByteRow,
    FileSizes,
    View,
    break_down,
    compare_breakdowns,
    compare_tables,
)
from megtrim.size.byte_table import SMALLER, ByteTable
from unit.size.made_files import break_down_engine


@pytest.mark.parametrize("view", View)
def test_a_view_adds_up(view: View) -> None:
    """The largest first."""
    data, found = break_down_engine()
    totals = found.totals(view)

    assert sum(size for _, size in totals) == len(data)
    assert [size for _, size in totals] == sorted((size for _, size in totals), reverse=True)


def test_instances_of_a_template_are_one() -> None:
    """And have one component."""
    symbols, components = (
        dict(break_down_engine()[1].totals(view)) for view in (View.SYMBOL, View.COMPONENT)
    )

    assert symbols["mgb::opr::Add<…>::run()"] == 50
    assert symbols["[unnamed in .rodata]"] == 9
    assert (components["operators"], components["kernels/x86/gone"]) == (50, 14)
    assert components["unexplained read-only data"] == 9


def test_sizes_stand_side_by_side() -> None:
    """Without symbols, there are no headers of their sections, either."""
    data, found = break_down_engine()
    symbols = dict(found.totals(View.COMPONENT))["symbol table"]

    assert found.sizes.file_bytes == len(data)
    assert found.sizes.stripped_bytes == len(data) - symbols - 2 * 64
    assert (found.sizes.text_bytes, found.sizes.memory_bytes) == (64, 73)
    assert found.sizes.deflated_bytes is None


def test_deflated_is_what_remains_without_symbols() -> None:
    """It is measured if it is asked for."""
    data, _ = break_down_engine()

    found = break_down(data, NameSources(), source="one.o", deflate=True)

    assert 0 < (found.sizes.deflated_bytes or 0) < len(zlib.compress(data))


def breakdown(*rows: tuple[str, str, int]) -> Breakdown:
    """Return a file with these components, symbols and bytes."""
    found = Counter[ByteRow]()
    for component, symbol, size_bytes in rows:
        found[ByteRow(".text", component, symbol, "a.o")] += size_bytes
    total = found.total()
    sizes = FileSizes(
        file_bytes=total,
        stripped_bytes=total,
        memory_bytes=total,
        text_bytes=total,
        deflated_bytes=None,
    )
    return Breakdown(sizes=sizes, rows=found)


BEFORE = breakdown(("ops", "same", 10), ("ops", "grew", 100), ("ops", "old", 200))


def test_the_largest_change_is_first() -> None:
    """What did not change is left out."""
    after = breakdown(("ops", "same", 10), ("ops", "grew", 160), ("ops", "new", 70))

    found = compare_breakdowns(BEFORE, after, View.SYMBOL)

    assert [(each.label, each.growth_bytes) for each in found] == [
        *[("old", -200), ("new", 70), ("grew", 60)]
    ]
    (of_component,) = compare_breakdowns(BEFORE, after, View.COMPONENT)
    assert (of_component.label, of_component.growth_bytes) == ("ops", -70)


def test_what_was_renamed_is_one_change_of_nothing() -> None:
    """It went and came with one size, in one component."""
    after = breakdown(("ops", "same", 10), ("ops", "grew", 100), ("ops", "new", 200))

    (found,) = compare_breakdowns(BEFORE, after, View.SYMBOL)

    assert (found.label, found.former, found.growth_bytes) == ("new", "old", 0)


def test_two_that_could_be_it_are_not_matched() -> None:
    """Nor is one of another component."""
    after = breakdown(("ops", "new", 200), ("ops", "newer", 200), ("runtime", "old", 200))

    found = compare_breakdowns(BEFORE, after, View.SYMBOL)

    assert not any(each.former for each in found)


def test_tables_are_compared_by_the_higher_limit() -> None:
    """What only one of them can have a row for is in both among the smaller ones."""
    before = ByteTable(least_bytes=64, components={"ops": {"a": 100, "b": 300, SMALLER: 10}})
    after = ByteTable(
        least_bytes=128, components={"ops": {"b": 340, SMALLER: 110}, "new": {"c": 1}}
    )

    found = compare_tables(before, after, View.SYMBOL)

    assert [(each.component, each.label, each.growth_bytes) for each in found] == [
        *[("ops", "b", 40), ("new", SMALLER, 1)]
    ]
    by_component = compare_tables(before, after, View.COMPONENT)
    assert [(each.label, each.growth_bytes) for each in by_component] == [("ops", 40), ("new", 1)]


_ROWS = st.lists(
    st.tuples(st.sampled_from(["x", "y"]), st.sampled_from("abcdef"), st.integers(1, 300)),
    max_size=8,
)


@given(_ROWS, _ROWS, st.sampled_from(View))
def test_changes_add_up(
    one: list[tuple[str, str, int]], two: list[tuple[str, str, int]], view: View
) -> None:
    """To the growth of the file, in every view."""
    before, after = breakdown(*one), breakdown(*two)

    found = compare_breakdowns(before, after, view)

    growth = after.sizes.file_bytes - before.sizes.file_bytes
    assert sum(each.growth_bytes for each in found) == growth
    assert compare_breakdowns(before, before, view) == ()
