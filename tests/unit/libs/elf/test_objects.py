import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.libs.elf.objects import (
    MemberKind,
    Object,
    iter_members,
    members,
    read_each,
    remove_functions,
)
from megtrim.libs.util.errors import InputError
from unit.libs.elf.made_objects import (
    AARCH64,
    X86_64,
    Named,
    Part,
    archive,
    object_file,
    read,
    unwind_table,
)

CREL = 0x40000014
OBJECT = object_file(
    [Part(name=".text.f", content=bytes(8))], [Named(name="f", part=".text.f", size=8)]
)


OTHERS = {"/": b"\0\0\0\1abc", "//": b"long.o/\n"}


@pytest.mark.parametrize(
    ("data", "objects"),
    [
        (OBJECT, [OBJECT]),
        (archive(OTHERS | {"one.o/": OBJECT, "two.o/": OBJECT}), [OBJECT, OBJECT]),
        (b"", []),
        (b"INPUT(-lc++_static)", []),
        (b"BC\xc0\xde" + bytes(60), []),
        (archive({"one.o/": OBJECT}, magic=b"!<thin>\n"), []),
    ],
)
def test_the_objects_that_a_file_holds(data: bytes, objects: list[bytes]) -> None:
    assert [data[start:end] for _, start, end in members(memoryview(data))] == objects


COMPACT = object_file(
    [Part(name=".text.f", content=bytes(8)), Part(name=".crel.text.f", content=b"\0", kind=CREL)],
    [Named(name="f", part=".text.f", size=8)],
)


@pytest.mark.parametrize(
    ("data", "where"),
    [(COMPACT, "x"), (archive({"one.o/": OBJECT, "two.o/": COMPACT}), r"x\(two\.o\)")],
)
def test_compact_relocations_are_refused_by_name(data: bytes, where: str) -> None:
    with pytest.raises(InputError, match=f"^{where}: its relocations are compact") as caught:
        read_each(data, lambda _member, _unit: (), source="x")
    assert caught.value.hint == "compile it without -Wa,--crel"


TABLE = ".rela.eh_frame"


def made(machine: int = AARCH64) -> bytes:
    names = ("gone", "kept")
    code = [Part(name=f".text.{name}", content=bytes(16)) for name in names]
    tables = [Part(name=f".gcc_except.{name}", content=bytes(8), flags=2) for name in names]
    entries = unwind_table(
        *((f".text.{name}", f".gcc_except.{name}") for name in names), machine=machine
    )
    symbols = [Named(name=name, part=f".text.{name}", size=16) for name in names]
    return object_file([*code, *tables, entries], symbols, machine=machine)


def edited(data: bytes, *removed: str, everything: bool = False) -> bytes:
    unit = Object(data)
    sections = {at for at, each in enumerate(unit.sections) if each.name in removed}
    changed = bytearray(data)
    symbols = unit.find_symbols()
    for at, new in remove_functions(unit, symbols, None if everything else sections):
        changed[at : at + len(new)] = new
    assert len(changed) == len(data)
    return bytes(changed)


@pytest.mark.parametrize("machine", [AARCH64, X86_64])
def test_an_entry_names_nothing_afterwards(machine: int) -> None:
    """Neither its function nor its exceptions, and its length is 0; the other entry stays."""
    data = made(machine)
    before = read(data)
    after = read(edited(data, ".text.gone"))

    assert [target for _, target in before.relocations[TABLE]] == [
        ".text.gone",
        ".gcc_except.gone",
        ".text.kept",
        ".gcc_except.kept",
    ]
    assert [target for _, target in after.relocations[TABLE]] == [
        "",
        "",
        ".text.kept",
        ".gcc_except.kept",
    ]
    old = before.sections[".eh_frame"][1]
    new = after.sections[".eh_frame"][1]
    lengths = [new[at : at + 4] for at in (24, 48)]
    assert lengths == [bytes(4), old[48:52]]
    assert old[48:52] != bytes(4)
    assert new[:24] == old[:24]
    assert new[28:] == old[28:]


def test_nothing_is_edited_without_need() -> None:
    data = made()
    assert edited(data, ".gcc_except.gone") == data

    call = Part(name=".text.a", content=bytes(16), relocations=((4, 283, "b", 0),))
    other = object_file(
        [call, Part(name=".text.b", content=bytes(8))], [Named(name="b", part=".text.b")]
    )
    assert edited(other, everything=True) == other


def test_a_damaged_entry_ends_the_table() -> None:
    """A size beyond the table: what follows cannot be distinguished, and is left as it is."""
    data = made()
    unit = Object(data)
    (table,) = (each for each in unit.sections if each.name == ".eh_frame")
    second = table.offset + 12 + 24
    damaged = bytearray(data)
    damaged[second : second + 4] = (1000).to_bytes(4, "little")

    after = read(edited(bytes(damaged), everything=True))

    assert {target for _, target in read(edited(data, everything=True)).relocations[TABLE]} == {""}
    assert [target for _, target in after.relocations[TABLE]] == [
        "",
        "",
        ".text.kept",
        ".gcc_except.kept",
    ]


def test_long_names_are_in_a_member_of_their_own_or_precede_the_content() -> None:
    named = {"/0": b"one", "short.o/": b"two", "#1/8": b"name.o\0\0content"}
    data = archive({"/": b"index", "//": b"a_long_name_of_a_file.o/\nb.o/\n"} | named)

    found = [(each.name, each.kind, data[each.start : each.end]) for each in iter_members(data)]

    assert found == [
        ("", MemberKind.INDEX, b"index"),
        ("/", MemberKind.NAMES, b"a_long_name_of_a_file.o/\nb.o/\n"),
        ("a_long_name_of_a_file.o", MemberKind.FILE, b"one"),
        ("short.o", MemberKind.FILE, b"two"),
        ("name.o", MemberKind.FILE, b"content"),
    ]


@pytest.mark.parametrize(
    "data",
    [
        b"!<thin>\n",
        archive({"a": b"1234"})[:-1],
        archive({"a": b"1234"}).replace(b"`\n", b"xx"),
        archive({"a": b"1234"}).replace(b"4         `", b"-4        `"),
        archive({"#1/9": b"1234"}),
        archive({"/7": b"1234"}),
        archive({"a": b"1234"}) + b"rest",
    ],
)
def test_a_damaged_archive_is_an_error(data: bytes) -> None:
    with pytest.raises((ValueError, struct.error)):
        list(iter_members(data))


@given(st.binary(max_size=200))
def test_any_bytes_end(content: bytes) -> None:
    try:
        found = list(iter_members(b"!<arch>\n" + content))
    except (ValueError, struct.error):
        return
    assert all(one.end <= two.header for one, two in pairwise(found))
