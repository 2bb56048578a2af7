import struct

import pytest

from megtrim.libs.elf.layout import (
    EXECUTABLE,
    LOADED,
    LOADER,
    ElfLayout,
    PlacedSymbol,
    Segment,
    parse_build_id,
    segments,
)
from megtrim.libs.util.errors import InputError
from support.made_programs import ID, with_build_id
from unit.core.functions.made_links import linked
from unit.libs.elf.made_objects import DATA, Named, Part, object_file, read, with_segments

OBJECT = object_file(
    (Part(name=".text.one", content=b"\1" * 24), Part(name=".rodata", content=b"\2" * 9, flags=2)),
    (
        Named(name="one", part=".text.one", size=16, at=4),
        Named(name="$x.0", part=".text.one", kind=0),
        Named(name="table", part=".rodata", size=8, kind=DATA),
    ),
)


def header_of_32_bits(machine: int = 40) -> bytes:
    """Return a program for a 32-bit machine that has one segment and nothing else."""
    head = b"\x7fELF\x01\x01\x01" + bytes(9)
    head += struct.pack("<HHIIIIIHHHHHH", 2, machine, 1, 0, 52, 0, 0, 52, 32, 1, 40, 0, 0)
    return head + struct.pack("<8I", 1, 0, 0, 0, 84, 4096, 5, 4096)


def test_sections_are_those_that_another_reader_finds() -> None:
    layout = ElfLayout(OBJECT)
    other = read(OBJECT)

    found = {
        each.name: (each.flags, layout.content(each), each.alignment)
        for each in layout.sections
        if each.kind
    }
    expected = {name: each for name, each in other.sections.items() if name}
    assert found == expected
    assert layout.relocatable


def test_marks_of_the_assembler_are_no_symbols() -> None:
    one = PlacedSymbol("one", 1, 4, 16)
    table = PlacedSymbol("table", 2, 0, 8)

    assert list(ElfLayout(OBJECT).symbols()) == [one, table]
    assert list(ElfLayout(OBJECT).dynamic_symbols()) == []


def test_symbols_of_a_file_with_very_many_sections_are_found() -> None:
    data = object_file(
        (Part(name=".text", content=bytes(8)),),
        (Named(name="f", part=".text", size=8),),
        extended=True,
    )

    assert list(ElfLayout(data).symbols()) == [PlacedSymbol("f", 1, 0, 8)]


def test_a_file_for_32_bits_is_read() -> None:
    layout = ElfLayout(header_of_32_bits())

    assert layout.machine == 40
    assert [each.memory_bytes for each in layout.segments] == [4096]
    assert layout.headers[1] == ("[program headers]", 52, 84)
    assert layout.sections == ()


@pytest.mark.parametrize("length", [0, 3, 15, 40, 63, 64, 200, len(OBJECT) - 1])
def test_a_truncated_file_is_an_error(length: int) -> None:
    with pytest.raises((ValueError, IndexError, struct.error)):
        ElfLayout(OBJECT[:length])


def test_names_that_share_their_ends_do_not_fill_the_memory() -> None:
    """Each of many symbols may claim the same long name."""
    parts = (
        Part(name=".text", content=bytes(1)),
        Part(name=".many", content=struct.pack("<IBBHQQ", 1, 2, 0, 1, 0, 1) * 100),
    )
    data = bytearray(object_file(parts, (Named(name="n" * 4000, part=".text", size=1),)))
    layout = ElfLayout(bytes(data))
    many = layout.sections[2]
    table = layout.sections[3]
    header = layout.headers[2][1] + 3 * 64
    struct.pack_into("<QQ", data, header + 24, many.offset, many.size_bytes)

    assert table.name == ".symtab"
    with pytest.raises(ValueError, match="too long names"):
        list(ElfLayout(bytes(data)).symbols())


def test_content_is_found_by_address() -> None:
    part = Part(name=".rodata", content=b"some text", flags=2, address=0x2000)
    layout = ElfLayout(object_file((part,), (), kind=2, entry=0x2005))

    assert layout.at_address(0x2005, 4) == b"text"
    assert layout.at_address(0x2005, 40) == b"text"
    assert layout.at_address(0x3000, 4) == b""
    assert (layout.entry, layout.is_wide) == (0x2005, True)


CODE = Segment(LOADED, 4 | EXECUTABLE, 0x1000, 0x401000, 0x401000, 0x20, 0x30, 0x1000)
NAME = Segment(LOADER, 4, 0x200, 0x400200, 0x400200, 28, 28, 1)


@pytest.mark.parametrize(("headers", "at"), [((NAME, CODE), 64), ((CODE,), 4096), ((), 64)])
def test_every_segment_is_read_in_order(headers: tuple[Segment, ...], at: int) -> None:
    assert segments(with_segments(*headers, at=at), source="p") == headers


@pytest.mark.parametrize(
    "data",
    [
        *(with_segments(CODE)[:size] for size in (0, 32, 57, 64 + 55)),
        *(
            with_segments(CODE).replace(struct.pack("<Q", 64), struct.pack("<Q", start), 1)
            for start in (2**16, 2**63 - 1, 2**63, 2**64 - 1)
        ),
    ],
)
def test_segments_outside_of_the_file_are_an_error(data: bytes) -> None:
    with pytest.raises(InputError, match=r"^p: a damaged ELF file"):
        segments(data, source="p")
    assert parse_build_id(data) == ""


@pytest.mark.parametrize(
    ("at", "value"), [(0x800, 1 << 31), (0x804, 1 << 31), (0x804, 0), (0x808, 1)]
)
def test_a_linked_file_has_a_build_id_unless_its_note_is_damaged(at: int, value: int) -> None:
    data = bytearray(with_build_id(linked(None)))
    assert parse_build_id(bytes(data)) == ID
    struct.pack_into("<I", data, at, value)

    assert parse_build_id(bytes(data)) == parse_build_id(linked(None)) == ""
