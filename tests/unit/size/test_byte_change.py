"""The largest changes, with one row for all others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from megtrim.size.byte_change import ByteChange, list_largest


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
