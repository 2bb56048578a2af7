import json

from hypothesis import given
from hypothesis import strategies as st

from megtrim.size.byte_table import (
    LONGEST_LABEL,
    MOST_COMPONENTS,
    SMALLER,
    ByteChange,
    ByteTable,
    list_largest,
    make_map,
    make_table,
)


def total(table: ByteTable) -> int:
    return sum(sum(labels.values()) for labels in table.components.values())


def test_small_symbols_are_one_row() -> None:
    table = make_table({("ops", "a"): 64, ("ops", "b"): 63, ("ops", "c"): 2, ("core", "d"): 5})

    assert table.least_bytes == 64
    assert table.components == {"ops": {"a": 64, SMALLER: 65}, "core": {SMALLER: 5}}


def test_a_large_program_has_a_higher_limit() -> None:
    sizes = {("ops", f"mgb::opr::Operator{n}<…>::run(…)"): 64 + n for n in range(20_000)}

    table = make_table(sizes)

    assert table.least_bytes > 64
    assert total(table) == sum(sizes.values())
    assert len(json.dumps(table.components)) < 300 * 1024
    assert len(table.components["ops"]) > 1_000


def test_a_label_is_one_short_line() -> None:
    table = make_table({("ops", "a\nb"): 100, ("ops", "x" * 500): 100})

    assert set(table.components["ops"]) == {"a?b", "x" * (LONGEST_LABEL - 1) + "…"}


def test_another_limit_moves_rows() -> None:
    table = ByteTable(least_bytes=64, components={"ops": {"a": 64, "b": 200, SMALLER: 9}})

    assert table.totals(128) == {("ops", "b"): 200, ("ops", SMALLER): 73}


@given(
    st.dictionaries(
        st.tuples(st.text(max_size=3), st.text(max_size=200)), st.integers(1, 999), max_size=9
    )
)
def test_a_table_adds_up(sizes: dict[tuple[str, str], int]) -> None:
    table = make_table(sizes)

    assert total(table) == sum(sizes.values()) == table.totals(1_000).total()


def change(label: str, before_bytes: int, after_bytes: int) -> ByteChange:
    return ByteChange(
        component="ops", label=label, before_bytes=before_bytes, after_bytes=after_bytes
    )


def test_the_others_are_one_row() -> None:
    changes = [change("a", 0, 90), change("b", 60, 0), change("c", 5, 9), change("d", 7, 7)]

    found = list_largest(changes, 1)

    assert [(each.label, each.growth_bytes) for each in found] == [("a", 90), ("[2 others]", -56)]
    assert [each.label for each in list_largest(changes, 3)] == ["a", "b", "c"]


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=9), st.integers(0, 9))
def test_they_add_up(sizes: list[tuple[int, int]], most: int) -> None:
    changes = [change(str(number), *each) for number, each in enumerate(sizes)]

    found = list_largest(changes, most)

    growth = sum(after - before for before, after in sizes)
    assert sum(each.growth_bytes for each in found) == growth
    assert len(found) <= most + 1


def make_byte_table(components: dict[str, dict[str, int]], least_bytes: int = 64) -> ByteTable:
    return ByteTable(least_bytes=least_bytes, components=components)


PLAIN = make_byte_table(
    {
        "kernels": {"conv": 4000, "pool": 900, SMALLER: 100},
        "runtime": {"load": 500},
        "gone": {"winograd": 700},
    }
)
SHIPPED = make_byte_table({"kernels": {"conv": 1000, SMALLER: 40}, "runtime": {"load": 520}})


def test_components_show_what_was_kept_and_what_was_left_out() -> None:
    found = make_map("app", "reduced", SHIPPED, PLAIN)

    assert [(each.name, each.kept_bytes, each.left_out_bytes) for each in found.components] == [
        ("kernels", 1040, 3960),
        ("runtime", 520, -20),
        ("gone", 0, 700),
    ]
    assert (found.kept_bytes, found.plain_bytes) == (1560, 6200)


def test_the_largest_symbols_of_either_kind_are_listed() -> None:
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
    plain = make_byte_table({"kernels": {"conv": 9000, SMALLER: 3000}}, 4096)
    [kernels] = make_map(
        "app", "reduced", make_byte_table({"kernels": {"pool": 80}}), plain
    ).components

    by_label = {each.label: each for each in kernels.symbols}
    assert by_label["pool"].plain_bytes is None
    assert by_label["conv"].plain_bytes == 9000


def test_without_the_plain_builds_symbols_nothing_is_said_of_it() -> None:
    unnamed = make_byte_table({"unexplained code": {"[unnamed in .text]": 6200}})

    for plain in (None, unnamed):
        found = make_map("app", "reduced", SHIPPED, plain)
        assert found.plain_bytes is None
        assert [each.name for each in found.components] == ["kernels", "runtime"]
        assert {each.left_out_bytes for each in found.components} == {None}
        assert {each.plain_bytes for part in found.components for each in part.symbols} == {None}


def test_small_components_share_the_last_row() -> None:
    kept = {f"k{number:03}": {"f": 1000 - number} for number in range(60)}
    left_out = {f"l{number:03}": {"f": 5000 - number} for number in range(60)}
    found = make_map("app", "reduced", make_byte_table(kept), make_byte_table(kept | left_out))

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
    found = make_map("app", "reduced", make_byte_table(shipped), make_byte_table(plain))

    assert found.kept_bytes == sum(sum(each.values()) for each in shipped.values())
    if plain:
        assert found.plain_bytes == sum(sum(each.values()) for each in plain.values())
    for each in found.components:
        assert sum(symbol.kept_bytes for symbol in each.symbols) <= each.kept_bytes
