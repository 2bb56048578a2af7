import struct
import zlib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.config.limits import Budget
from megtrim.core.functions.link_map import LinkMap
from megtrim.core.size.attribution import NameSources, Piece, Spans, attribute
from megtrim.core.size.breakdown import (
    Breakdown,
    ByteRow,
    FileSizes,
    break_down,
    compare_breakdowns,
    compare_tables,
    expect_part,
    find_measure,
    list_measures,
    list_parts,
)
from megtrim.core.size.byte_table import SMALLER, ByteTable
from megtrim.core.size.prices import Price, PriceList
from megtrim.core.size.views import PriceKind, View
from megtrim.libs.elf.sections import Purpose
from megtrim.libs.util.errors import InputError
from unit.core.size.made_files import LINKED, OBJECT, PARTS, break_down_engine
from unit.libs.elf.made_objects import Named, Part, archive, object_file

NOTHING = NameSources()


def test_every_byte_of_an_object_counts_once() -> None:
    """An alias and a part of a function count once, and assembler lasts until what follows.

    Data that no symbol names is no padding.
    """
    found = attribute(OBJECT, NOTHING, source="one.o")

    assert sum(found.pieces.values()) == found.size_bytes == len(OBJECT)
    assert found.pieces[Piece("[ELF header]", Purpose.HEADERS)] == 64
    assert found.pieces[Piece("[section headers]", Purpose.HEADERS)] == 64 * 6
    assert found.pieces[Piece(".symtab", Purpose.SYMBOLS)] == 24 * 9
    assert found.memory_bytes == 64 + 28
    code = {piece: size for piece, size in found.pieces.items() if piece.section == ".text"}
    named = {piece.symbol: size for piece, size in code.items() if piece.symbol}
    assert named == {"_Z1fv": 20, "label": 16, "g": 8}
    assert code[Piece(".text", Purpose.PADDING)] == 12 + 8
    assert sum(code.values()) == 64
    assert found.pieces[Piece(".rodata", Purpose.CONSTANTS, "table")] == 8
    assert found.pieces[Piece(".rodata", Purpose.CONSTANTS)] == 16 + 4


@pytest.mark.parametrize(("byte", "purpose"), [(b"\0", "PADDING"), (b"\7", "CONSTANTS")])
def test_short_constants_are_padding_if_they_are_zero(byte: bytes, purpose: str) -> None:
    rodata = Part(name=".rodata", content=b"a" + byte * 3 + b"bbbb", flags=PARTS[1].flags)
    named = (Named(name="a", part=".rodata", size=1), Named(name="b", part=".rodata", at=4, size=4))

    found = attribute(object_file((rodata,), named), NOTHING, source="one.o").pieces
    assert found[Piece(".rodata", Purpose[purpose])] == 3


def test_a_map_names_sources() -> None:
    parts = (Part(name=".text", content=b"\1" * 64), PARTS[1])
    data = object_file(parts, (Named(name="f", part=".text", size=20),), kind=2)
    origins = LinkMap(starts=(0, 32), ends=(32, 60), files=("a.o", "liby.a(b.o)"))

    found = attribute(data, NameSources(origins=origins), source="p").pieces

    assert found[Piece(".text", Purpose.CODE, "f", "a.o")] == 20
    assert found[Piece(".text", Purpose.CODE, "", "a.o")] == 12
    assert found[Piece(".text", Purpose.CODE, "", "liby.a(b.o)")] == 28
    assert sum(found.values()) == len(data)


def test_a_twin_names_symbols() -> None:
    stripped = object_file(PARTS, (), kind=2)

    found = attribute(stripped, NameSources(twin=LINKED, twin_source="twin"), source="p").pieces

    assert found[Piece(".text", Purpose.CODE, "_Z1fv")] == 20
    assert sum(found.values()) == len(stripped)


@pytest.mark.parametrize(
    ("twin", "message"),
    [
        (object_file((PARTS[0],), (), kind=2), "twin: this is another program"),
        (
            object_file((Part(name=".text", content=b"\xdd" * 64), PARTS[1]), (), kind=2),
            "another program",
        ),
        (LINKED[:100], "twin: a damaged ELF file"),
    ],
)
def test_another_twin_is_refused(twin: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        attribute(LINKED, NameSources(twin=twin, twin_source="twin"), source="p")


def test_every_byte_of_an_archive_counts_once() -> None:
    text = b"some text"
    data = archive({"/": b"index", "one.o/": OBJECT, "two.o/": OBJECT, "notes/": text})

    found = attribute(data, NOTHING, source="lib.a").pieces

    assert sum(found.values()) == len(data)
    for member in ("one.o", "two.o"):
        assert found[Piece(".text", Purpose.CODE, "_Z1fv", member)] == 20
        assert found[Piece("[archive]", Purpose.HEADERS, "", member)] == 60
    assert found[Piece("[archive index]", Purpose.SYMBOLS)] == 5
    assert found[Piece("[no object]", Purpose.NOTES, "", "notes")] == len(text)


def test_what_is_appended_is_unexplained_and_sections_of_functions_are_one() -> None:
    appended = b"a payload of thirty-one bytes.."
    parts = (Part(name=".text.f", content=b"\1" * 8), Part(name=".text.g", content=b"\1" * 8))

    found = attribute(object_file(parts, ()) + appended, NOTHING, source="one.o").pieces

    assert found[Piece(".text", Purpose.CODE)] == 16
    assert found[Piece("[no section]", Purpose.UNEXPLAINED)] == len(appended)


@pytest.mark.parametrize(
    ("data", "names", "message"),
    [
        (b"#!/bin/sh\n", NOTHING, "neither an ELF file nor an archive"),
        (b"!<thin>\n", NOTHING, "a thin archive, which only names its members"),
        (OBJECT[:200], NOTHING, "x: a damaged ELF file"),
        (archive({"a.o/": OBJECT})[:-9], NOTHING, "x: a damaged ELF file"),
        (archive({}), NameSources(twin=LINKED), "no link map and no twin"),
    ],
)
def test_other_files_are_refused(data: bytes, names: NameSources, message: str) -> None:
    with pytest.raises(InputError, match=message):
        attribute(data, names, source="x")


@given(st.integers(0, len(OBJECT) - 8), st.integers(0, 2**64 - 1))
def test_a_changed_file_adds_up_or_is_refused(at: int, value: int) -> None:
    data = bytearray(OBJECT)
    struct.pack_into("<Q", data, at, value)

    try:
        found = attribute(bytes(data), NOTHING, source="x")
    except InputError:
        return
    assert sum(found.pieces.values()) == len(data)
    assert min(found.pieces.values()) > 0


def test_the_first_claim_counts() -> None:
    spans = Spans([(2, 6, "a"), (4, 9, "b"), (5, 6, "c"), (12, 14, "d")])

    assert list(spans.cut(0, 13)) == [
        (0, 2, None),
        (2, 6, "a"),
        (6, 9, "b"),
        (9, 12, None),
        (12, 13, "d"),
    ]
    assert [spans.at(place) for place in (1, 5, 8, 9, 13, 14)] == [None, "a", "b", None, "d", None]


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
    deflated = break_down(data, NameSources(), source="one.o", deflate=True).sizes.deflated_bytes
    assert 0 < (deflated or 0) < len(zlib.compress(data))


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


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (
            [("ops", "grew", 160), ("ops", "new", 70)],
            [("old", -200, ""), ("new", 70, ""), ("grew", 60, "")],
        ),
        ([("ops", "grew", 100), ("ops", "new", 200)], [("new", 0, "old")]),
        (
            [("ops", "grew", 100), ("ops", "new", 200), ("ops", "newer", 200)],
            [("new", 200, ""), ("newer", 200, ""), ("old", -200, "")],
        ),
        (
            [("ops", "grew", 100), ("runtime", "new", 200)],
            [("new", 200, ""), ("old", -200, "")],
        ),
    ],
    ids=["the largest is first", "renamed", "two that could be it", "in another component"],
)
def test_changes_are_matched_and_ordered(
    after: list[tuple[str, str, int]], expected: list[tuple[str, int, str]]
) -> None:
    found = compare_breakdowns(BEFORE, breakdown(("ops", "same", 10), *after), View.SYMBOL)

    assert sorted((each.label, each.growth, each.former) for each in found) == sorted(expected)
    sizes = [abs(each.growth) for each in found]
    assert sizes == sorted(sizes, reverse=True)


def test_tables_are_compared_by_the_higher_limit() -> None:
    before = ByteTable(least_bytes=64, components={"ops": {"a": 100, "b": 300, SMALLER: 10}})
    after = ByteTable(
        least_bytes=128, components={"ops": {"b": 340, SMALLER: 110}, "new": {"c": 1}}
    )

    found = compare_tables(before, after, View.SYMBOL)

    assert [(each.component, each.label, each.growth) for each in found] == [
        ("ops", "b", 40),
        ("new", SMALLER, 1),
    ]
    by_component = compare_tables(before, after, View.COMPONENT)
    assert [(each.label, each.growth) for each in by_component] == [("ops", 40), ("new", 1)]


_ROWS = st.lists(
    st.tuples(st.sampled_from(["x", "y"]), st.sampled_from("abcdef"), st.integers(1, 300)),
    max_size=8,
)


@given(_ROWS, _ROWS, st.sampled_from(View))
def test_changes_add_up(
    one: list[tuple[str, str, int]], two: list[tuple[str, str, int]], view: View
) -> None:
    before = breakdown(*one)
    after = breakdown(*two)

    found = compare_breakdowns(before, after, view)

    growth = after.sizes.file_bytes - before.sizes.file_bytes
    assert sum(each.growth for each in found) == growth
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
STRIPPED = list_parts({"section .text": 4, "loaded": 9}, UNNAMED)
MORE = frozenset({"section .relr.dyn", "component operators"})


def expect(measure: str, known: frozenset[str] = KNOWN) -> None:
    kind, _, name = measure.partition(" ")
    keys = {kind: name} if name else {"size": kind}
    expect_part(Budget.model_validate({"artifact": "lar", "max": 1, **keys}), known, MORE)


@pytest.mark.parametrize(
    ("known", "measure"),
    [
        *((KNOWN, f"section {name}") for name in (".text", ".relr.dyn")),
        *((KNOWN, f"component {name}") for name in ("kernels", "kernels/x86", "runtime")),
        *((KNOWN, measure) for measure in ("component operators", "deflated")),
        (STRIPPED, "component kernels/x86"),
    ],
)
def test_what_some_build_has_may_be_gone(known: frozenset[str], measure: str) -> None:
    """A component is there if one below it is; other measures are of the whole file.

    What a stripped program had cannot be seen, whatever what ships still has.
    """
    expect(measure, known)
    assert {"section .text"} == STRIPPED


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
