"""What a baseline keeps of a file's bytes: small, and it adds up."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from megtrim.size.byte_table import (
    LONGEST_LABEL,
    SMALLER,
    ByteChange,
    ByteTable,
    list_largest,
    make_table,
)


def total(table: ByteTable) -> int:
    """Return all bytes of a table."""
    return sum(sum(labels.values()) for labels in table.components.values())


def test_small_symbols_are_one_row() -> None:
    """One for each component."""
    table = make_table({("ops", "a"): 64, ("ops", "b"): 63, ("ops", "c"): 2, ("core", "d"): 5})

    assert table.least_bytes == 64
    assert table.components == {"ops": {"a": 64, SMALLER: 65}, "core": {SMALLER: 5}}


def test_a_large_program_has_a_higher_limit() -> None:
    """So that a table is never larger than what may travel with sizes."""
    sizes = {("ops", f"mgb::opr::Operator{n}<…>::run(…)"): 64 + n for n in range(20_000)}

    table = make_table(sizes)

    assert table.least_bytes > 64
    assert total(table) == sum(sizes.values())
    assert len(json.dumps(table.components)) < 300 * 1024
    assert len(table.components["ops"]) > 1_000


def test_a_label_is_one_short_line() -> None:
    """Names in files of others may hold anything."""
    table = make_table({("ops", "a\nb"): 100, ("ops", "x" * 500): 100})

    assert set(table.components["ops"]) == {"a?b", "x" * (LONGEST_LABEL - 1) + "…"}


def test_another_limit_moves_rows() -> None:
    """To those that are smaller."""
    table = ByteTable(least_bytes=64, components={"ops": {"a": 64, "b": 200, SMALLER: 9}})

    assert table.totals(128) == {("ops", "b"): 200, ("ops", SMALLER): 73}


@given(
    st.dictionaries(
        st.tuples(st.text(max_size=3), st.text(max_size=200)), st.integers(1, 999), max_size=9
    )
)
def test_a_table_adds_up(sizes: dict[tuple[str, str], int]) -> None:
    """Whatever the names are."""
    table = make_table(sizes)

    assert total(table) == sum(sizes.values()) == table.totals(1_000).total()


def change(label: str, before_bytes: int, after_bytes: int) -> ByteChange:
    """Return the change of a symbol of one component."""
    return ByteChange(
        component="ops", label=label, before_bytes=before_bytes, after_bytes=after_bytes
    )


def test_the_others_are_one_row() -> None:
    """What only has a new name is in none."""
    changes = [change("a", 0, 90), change("b", 60, 0), change("c", 5, 9), change("d", 7, 7)]

    found = list_largest(changes, 1)

    assert [(each.label, each.growth_bytes) for each in found] == [("a", 90), ("[2 others]", -56)]
    assert [each.label for each in list_largest(changes, 3)] == ["a", "b", "c"]


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=9), st.integers(0, 9))
def test_they_add_up(sizes: list[tuple[int, int]], most: int) -> None:
    """However many rows there are."""
    changes = [change(str(number), *each) for number, each in enumerate(sizes)]

    found = list_largest(changes, most)

    growth = sum(after - before for before, after in sizes)
    assert sum(each.growth_bytes for each in found) == growth
    assert len(found) <= most + 1
