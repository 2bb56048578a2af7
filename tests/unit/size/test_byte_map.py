"""Where bytes are, kept and left out: all of it adds up, and only what is small shares a row."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from megtrim.size.byte_map import MOST_COMPONENTS, make_map
from megtrim.size.byte_table import SMALLER, ByteTable


def table(components: dict[str, dict[str, int]], least_bytes: int = 64) -> ByteTable:
    return ByteTable(least_bytes=least_bytes, components=components)


PLAIN = table(
    {
        "kernels": {"conv": 4000, "pool": 900, SMALLER: 100},
        "runtime": {"load": 500},
        "gone": {"winograd": 700},
    }
)
SHIPPED = table({"kernels": {"conv": 1000, SMALLER: 40}, "runtime": {"load": 520}})


def test_components_show_what_was_kept_and_what_was_left_out() -> None:
    """What is kept comes first, then what is left out; something may grow, too."""
    found = make_map("app", "reduced", SHIPPED, PLAIN)

    assert [(each.name, each.kept_bytes, each.left_out_bytes) for each in found.components] == [
        ("kernels", 1040, 3960),
        ("runtime", 520, -20),
        ("gone", 0, 700),
    ]
    assert (found.kept_bytes, found.plain_bytes) == (1560, 6200)


def test_the_largest_symbols_of_either_kind_are_listed() -> None:
    """With their bytes in both builds, where the plain build's table has them."""
    kernels, _, gone = make_map("app", "reduced", SHIPPED, PLAIN).components

    assert [(each.label, each.plain_bytes, each.kept_bytes) for each in kernels.symbols] == [
        ("conv", 4000, 1000),
        ("pool", 900, 0),
    ]
    assert [(each.label, each.plain_bytes, each.kept_bytes) for each in gone.symbols] == [
        ("winograd", 700, 0)
    ]


def test_what_the_plain_table_is_too_short_for_is_not_known() -> None:
    """It is among the smaller ones there, so no number is made up for it."""
    plain = table({"kernels": {"conv": 9000, SMALLER: 3000}}, 4096)
    [kernels] = make_map("app", "reduced", table({"kernels": {"pool": 80}}), plain).components

    by_label = {each.label: each for each in kernels.symbols}
    assert by_label["pool"].plain_bytes is None
    assert by_label["conv"].plain_bytes == 9000


def test_without_the_plain_builds_symbols_nothing_is_said_of_it() -> None:
    """Neither without a table, nor with one that knows no names."""
    unnamed = table({"unexplained code": {"[unnamed in .text]": 6200}})

    for plain in (None, unnamed):
        found = make_map("app", "reduced", SHIPPED, plain)
        assert found.plain_bytes is None
        assert [each.name for each in found.components] == ["kernels", "runtime"]
        assert {each.left_out_bytes for each in found.components} == {None}
        assert {each.plain_bytes for part in found.components for each in part.symbols} == {None}


def test_small_components_share_the_last_row() -> None:
    """Those that are large for either reason have rows of their own."""
    kept = {f"k{number:03}": {"f": 1000 - number} for number in range(60)}
    left_out = {f"l{number:03}": {"f": 5000 - number} for number in range(60)}
    found = make_map("app", "reduced", table(kept), table(kept | left_out))

    assert len(found.components) == 2 * MOST_COMPONENTS + 1
    last = found.components[-1]
    assert (last.name, last.stands_for_several) == ("[72 others]", True)
    assert found.kept_bytes == sum(sum(each.values()) for each in kept.values())


_TABLES = st.dictionaries(
    st.sampled_from(["kernels", "kernels/x86", "runtime", "other"]),
    st.dictionaries(st.sampled_from([*"abcdefg", SMALLER]), st.integers(1, 5000), min_size=1),
)


@given(_TABLES, _TABLES)
def test_it_adds_up(shipped: dict[str, dict[str, int]], plain: dict[str, dict[str, int]]) -> None:
    """To the bytes of both files, and no symbols are larger than their component."""
    found = make_map("app", "reduced", table(shipped), table(plain))

    assert found.kept_bytes == sum(sum(each.values()) for each in shipped.values())
    if plain:
        assert found.plain_bytes == sum(sum(each.values()) for each in plain.values())
    for each in found.components:
        assert sum(symbol.kept_bytes for symbol in each.symbols) <= each.kept_bytes
