import zlib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.config.model import Budget
from megtrim.size.attribution import NameSources
from megtrim.size.breakdown import (
    Breakdown,
    ByteRow,
    FileSizes,
    View,
    break_down,
    compare_breakdowns,
    compare_tables,
    expect_part,
    find_measure,
    list_measures,
    list_parts,
)
from megtrim.size.byte_table import SMALLER, ByteTable
from megtrim.size.prices import Price, PriceKind, PriceList
from megtrim.util.errors import InputError
from unit.size.made_files import break_down_engine


@pytest.mark.parametrize("view", View)
def test_a_view_adds_up(view: View) -> None:
    data, found = break_down_engine()
    totals = found.totals(view)

    assert sum(size for _, size in totals) == len(data)
    assert [size for _, size in totals] == sorted((size for _, size in totals), reverse=True)


def test_instances_of_a_template_are_one() -> None:
    symbols, components = (
        dict(break_down_engine()[1].totals(view)) for view in (View.SYMBOL, View.COMPONENT)
    )

    assert symbols["mgb::opr::Add<…>::run()"] == 50
    assert symbols["[unnamed in .rodata]"] == 9
    assert (components["operators"], components["kernels/x86/gone"]) == (50, 14)
    assert components["unexplained read-only data"] == 9


def test_sizes_stand_side_by_side() -> None:
    data, found = break_down_engine()
    symbols = dict(found.totals(View.COMPONENT))["symbol table"]

    assert found.sizes.file_bytes == len(data)
    assert found.sizes.stripped_bytes == len(data) - symbols - 2 * 64
    assert (found.sizes.text_bytes, found.sizes.memory_bytes) == (64, 73)
    assert found.sizes.deflated_bytes is None


def test_deflated_is_what_remains_without_symbols() -> None:
    data, _ = break_down_engine()

    found = break_down(data, NameSources(), source="one.o", deflate=True)

    assert 0 < (found.sizes.deflated_bytes or 0) < len(zlib.compress(data))


def breakdown(*rows: tuple[str, str, int]) -> Breakdown:
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
    after = breakdown(("ops", "same", 10), ("ops", "grew", 160), ("ops", "new", 70))

    found = compare_breakdowns(BEFORE, after, View.SYMBOL)

    assert [(each.label, each.growth_bytes) for each in found] == [
        *[("old", -200), ("new", 70), ("grew", 60)]
    ]
    (of_component,) = compare_breakdowns(BEFORE, after, View.COMPONENT)
    assert (of_component.label, of_component.growth_bytes) == ("ops", -70)


def test_what_was_renamed_is_one_change_of_nothing() -> None:
    after = breakdown(("ops", "same", 10), ("ops", "grew", 100), ("ops", "new", 200))

    (found,) = compare_breakdowns(BEFORE, after, View.SYMBOL)

    assert (found.label, found.former, found.growth_bytes) == ("new", "old", 0)


def test_two_that_could_be_it_are_not_matched() -> None:
    after = breakdown(("ops", "new", 200), ("ops", "newer", 200), ("runtime", "old", 200))

    found = compare_breakdowns(BEFORE, after, View.SYMBOL)

    assert not any(each.former for each in found)


def test_tables_are_compared_by_the_higher_limit() -> None:
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
    before, after = breakdown(*one), breakdown(*two)

    found = compare_breakdowns(before, after, view)

    growth = after.sizes.file_bytes - before.sizes.file_bytes
    assert sum(each.growth_bytes for each in found) == growth
    assert compare_breakdowns(before, before, view) == ()


SIZES = FileSizes(
    file_bytes=100, stripped_bytes=90, memory_bytes=80, text_bytes=40, deflated_bytes=30
)
ROWS = Counter(
    {
        ByteRow(".text", "kernels/x86", "f", "a.o"): 30,
        ByteRow(".text", "runtime", "g", "b.o"): 10,
        ByteRow("[ELF header]", "headers", "[headers]", "[not known]"): 64,
    }
)
TABLE = ByteTable(
    least_bytes=64,
    components={
        "kernels": {"h": 1},
        "kernels/x86": {"f": 2},
        "kernels/x86/conv_bias": {"g": 4},
        "kernels/x86_other": {"i": 8},
    },
)
UNNAMED = ByteTable(least_bytes=64, components={"code": {"[smaller]": 9}, "headers": {"h": 64}})


def test_the_measures_of_a_file() -> None:
    found = Breakdown(sizes=SIZES, rows=ROWS)

    assert list_measures(found) == {"loaded": 80, "deflated": 30, "section .text": 40}
    prices = (
        Price(kind=PriceKind.MODEL, name="resnet50", margin_bytes=7),
        Price(kind=PriceKind.OPERATOR, name="Conv", margin_bytes=1),
    )
    priced = list_measures(found, PriceList(artifact="lar", size_bytes=9, prices=prices))
    assert priced == list_measures(found) | {"model resnet50": 7}


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("", 90),
        ("loaded", 80),
        ("section .text", 40),
        ("section .gone", 0),
        ("model resnet50", None),
        ("component kernels", 15),
        ("component kernels/x86", 6),
        ("component operators", 0),
    ],
)
def test_a_measure_is_found_by_its_name(measure: str, expected: int | None) -> None:
    measures = {"loaded": 80, "section .text": 40}

    assert find_measure(measure, 90, measures, TABLE) == expected


def test_what_was_not_measured_is_not_0_bytes() -> None:
    assert find_measure("section .text", 90, None, TABLE) is None
    assert find_measure("component kernels", 90, {}, None) is None
    assert find_measure("component kernels", 90, {}, UNNAMED) is None
    assert find_measure("component code", 90, {}, UNNAMED) == 9


KNOWN = list_parts(
    {"section .text": 4, "loaded": 9},
    ByteTable(least_bytes=64, components={"kernels/x86/conv_bias": {"f": 1}, "runtime": {"g": 1}}),
)
MORE = frozenset({"section .relr.dyn", "component operators"})


def expect(measure: str, known: frozenset[str] = KNOWN) -> None:
    kind, _, name = measure.partition(" ")
    keys = {kind: name} if name else {"size": kind}
    expect_part(Budget.model_validate({"artifact": "lar", "max": 1, **keys}), known, MORE)


@pytest.mark.parametrize(
    "measure",
    [
        *("section .text", "section .relr.dyn", "component kernels", "component kernels/x86"),
        *("component runtime", "component operators", "deflated"),
    ],
)
def test_what_some_build_has_may_be_gone(measure: str) -> None:
    """A component is there if one below it is; other measures are of the whole file."""
    expect(measure)


@pytest.mark.parametrize(
    ("measure", "near"),
    [
        ("section .txt", " (did you mean .text?)"),
        ("section mgb", ""),
        ("component kernels/x86/conv_bais", " (did you mean kernels/x86/conv_bias?)"),
        ("component kernel", " (did you mean kernels?)"),
    ],
)
def test_what_no_build_has_is_refused(measure: str, near: str) -> None:
    with pytest.raises(InputError) as caught:
        expect(measure)

    assert caught.value.message.endswith(f"no build of lar has a {measure}{near}")


def test_without_symbols_no_component_is_refused() -> None:
    """What a stripped program had cannot be seen, whatever what ships still has."""
    stripped = list_parts({"section .text": 4, "loaded": 9}, UNNAMED)

    assert stripped == {"section .text"}
    expect("component kernels/x86", stripped)
