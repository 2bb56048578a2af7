import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.elf.sections import Purpose
from megtrim.functions.link_map import LinkMap
from megtrim.size.attribution import NameSources, Piece, Spans, attribute
from megtrim.util.errors import InputError
from unit.elf.made_objects import Named, Part, archive, object_file
from unit.size.made_files import LINKED, OBJECT, PARTS

NOTHING = NameSources()


def test_every_byte_of_an_object_counts_once() -> None:
    found = attribute(OBJECT, NOTHING, source="one.o")

    assert sum(found.pieces.values()) == found.size_bytes == len(OBJECT)
    assert found.pieces[Piece("[ELF header]", Purpose.HEADERS)] == 64
    assert found.pieces[Piece("[section headers]", Purpose.HEADERS)] == 64 * 6
    assert found.pieces[Piece(".symtab", Purpose.SYMBOLS)] == 24 * 9
    assert found.memory_bytes == 64 + 28


def test_symbols_share_a_section() -> None:
    """An alias and a part of a function count once, and assembler lasts until what follows."""
    found = attribute(OBJECT, NOTHING, source="one.o").pieces

    code = {piece: size for piece, size in found.items() if piece.section == ".text"}
    named = {piece.symbol: size for piece, size in code.items() if piece.symbol}
    assert named == {"_Z1fv": 20, "label": 16, "g": 8}
    assert code[Piece(".text", Purpose.PADDING)] == 12 + 8
    assert sum(code.values()) == 64


def test_data_that_no_symbol_names_is_no_padding() -> None:
    found = attribute(OBJECT, NOTHING, source="one.o").pieces

    assert found[Piece(".rodata", Purpose.CONSTANTS, "table")] == 8
    assert found[Piece(".rodata", Purpose.CONSTANTS)] == 16 + 4


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
        (object_file((PARTS[0],), (), kind=2), "twin: not the same program"),
        (object_file((Part(name=".text", content=b"\xdd" * 64), PARTS[1]), (), kind=2), "not the"),
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


def test_sections_of_one_function_are_one() -> None:
    parts = (Part(name=".text.f", content=b"\1" * 8), Part(name=".text.g", content=b"\1" * 8))

    found = attribute(object_file(parts, ()), NOTHING, source="one.o").pieces

    assert found[Piece(".text", Purpose.CODE)] == 16


def test_what_is_appended_is_unexplained() -> None:
    appended = b"a payload of thirty-one bytes.."

    found = attribute(OBJECT + appended, NOTHING, source="one.o").pieces

    assert found[Piece("[no section]", Purpose.UNEXPLAINED)] == len(appended)


@pytest.mark.parametrize(
    ("data", "names", "message"),
    [
        (b"#!/bin/sh\n", NOTHING, "neither an ELF file nor an archive"),
        (b"!<thin>\n", NOTHING, "a thin archive, which names its members"),
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


_CLAIMS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40), st.integers(0, 9)), max_size=8)


def test_the_first_claim_counts() -> None:
    spans = Spans([(2, 6, "a"), (4, 9, "b"), (5, 6, "c"), (12, 14, "d")])

    assert list(spans.cut(0, 13)) == [
        *[(0, 2, None), (2, 6, "a"), (6, 9, "b"), (9, 12, None), (12, 13, "d")]
    ]
    assert [spans.at(place) for place in (1, 5, 8, 9, 13, 14)] == [None, "a", "b", None, "d", None]


@given(_CLAIMS, st.integers(0, 40), st.integers(0, 40))
def test_pieces_cover_the_stretch_exactly(
    claims: list[tuple[int, int, int]], start: int, end: int
) -> None:
    spans = Spans(sorted(claims))

    pieces = list(spans.cut(start, end))

    labels = [(place, label) for first, last, label in pieces for place in range(first, last)]
    assert labels == [(place, spans.at(place)) for place in range(start, end)]
    assert all(first < last for first, last, _ in pieces)
