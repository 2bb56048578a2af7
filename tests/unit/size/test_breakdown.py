"""The views of a file's bytes, each of which adds up to the file."""

from __future__ import annotations

import zlib

import pytest

from megtrim.size.attribution import NameSources
from megtrim.size.breakdown import View, break_down
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
