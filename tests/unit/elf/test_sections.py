"""What a file's bytes are for: made files section by section, a real program, damaged ones."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megtrim.elf.sections import ElfFacts, Group, parse_elf, read_elf
from megtrim.errors import InputError
from unit.size.support import (
    ANDROID_RELA,
    INIT_ARRAY,
    NOBITS,
    NOTE,
    PROGBITS,
    REL,
    RELA,
    RELR,
    STRTAB,
    SYMTAB,
    A,
    Section,
    W,
    X,
    elf,
)


def groups(*sections: Section) -> dict[str, int]:
    """Return the groups of a file with these sections, without the rest."""
    facts = parse_elf(elf(*sections), source="x")
    assert sum(size for _, size in facts.groups) == facts.size_bytes == len(elf(*sections))
    return {str(group): size for group, size in facts.groups if size and group is not Group.OTHER}


@pytest.mark.parametrize(
    ("section", "group"),
    [
        ((".text", PROGBITS, A | X, 100), "text"),
        ((".plt", PROGBITS, A | X, 100), "text"),
        ((".rodata", PROGBITS, A, 100), "rodata"),
        ((".data", PROGBITS, A | W, 100), "data"),
        ((".data.rel.ro", PROGBITS, A | W, 100), "data"),
        ((".init_array", INIT_ARRAY, A | W, 100), "data"),
        ((".rela.dyn", RELA, A, 100), "relocations"),
        ((".rel.dyn", REL, A, 100), "relocations"),
        ((".relr.dyn", RELR, A, 100), "relocations"),
        ((".rela.dyn", ANDROID_RELA, A, 100), "relocations"),
        ((".eh_frame", PROGBITS, A, 100), "unwind"),
        ((".eh_frame_hdr", PROGBITS, A, 100), "unwind"),
        ((".gcc_except_table", PROGBITS, A, 100), "unwind"),
        ((".ARM.exidx", 0x70000001, A, 100), "unwind"),
    ],
)
def test_group_of_a_section(section: Section, group: str) -> None:
    """Each kind of section belongs to one group."""
    assert groups(section) == {group: 100}


@pytest.mark.parametrize(
    "section",
    [
        (".bss", NOBITS, A | W, 100),
        (".note.ABI-tag", NOTE, A, 100),
        (".comment", PROGBITS, 0, 100),
        (".rela.text", RELA, 0, 100),
        (".debug_info", PROGBITS, 0, 100),
    ],
)
def test_sections_of_no_group(section: Section) -> None:
    """What is not loaded, or takes no room in the file, is other or nothing."""
    assert groups(section) == {}


def test_groups_sum_to_the_file() -> None:
    """In one order, with headers, gaps and names in the last group."""
    data = elf((".text", PROGBITS, A | X, 40), (".data", PROGBITS, A | W, 2), tail=7)

    facts = parse_elf(data, source="x")

    assert facts == ElfFacts(
        size_bytes=len(data),
        machine="aarch64",
        stripped=True,
        groups=(
            (Group.TEXT, 40),
            (Group.RODATA, 0),
            (Group.DATA, 2),
            (Group.RELOCATIONS, 0),
            (Group.UNWIND, 0),
            (Group.OTHER, len(data) - 42),
        ),
    )


@pytest.mark.parametrize(
    ("section", "stripped"),
    [
        ((".symtab", SYMTAB, 0, 24), False),
        ((".debug_info", PROGBITS, 0, 8), False),
        ((".zdebug_info", PROGBITS, 0, 8), False),
        ((".comment", PROGBITS, 0, 8), True),
    ],
)
def test_stripped(section: Section, stripped: bool) -> None:
    """Symbols and debug information alone make a file unstripped."""
    assert parse_elf(elf((".strtab", STRTAB, 0, 1), section), source="x").stripped is stripped


@pytest.mark.parametrize(
    ("number", "machine"),
    [
        (183, "aarch64"),
        (62, "x86_64"),
        (40, "armv7l"),
        (3, "i686"),
        (243, "riscv64"),
        (8, "EM_MIPS"),
    ],
)
def test_machine(number: int, machine: str) -> None:
    """The word that the toolchains use."""
    assert parse_elf(elf(machine=number), source="x").machine == machine


def test_real_program() -> None:
    """The interpreter that runs this test, if this system's programs are ELF."""
    path = Path(sys.executable).resolve()

    facts = read_elf(path)

    assert facts.size_bytes == path.stat().st_size
    assert sum(size for _, size in facts.groups) == facts.size_bytes
    assert dict(facts.groups)[Group.TEXT] > 100


@pytest.mark.parametrize("data", [b"", b"\x7fEL", b"MZ" + bytes(100), b"#!/bin/sh\n"])
def test_other_files_are_refused(data: bytes) -> None:
    """A script or a Windows program is named for what it begins with."""
    with pytest.raises(InputError) as caught:
        parse_elf(data, source="out/lar")

    assert caught.value.message == f"out/lar: not an ELF file: it begins with {data[:4]!r}"


@pytest.mark.parametrize("kept", [4, 16, 40, 63, 100])
def test_cut_off_file_is_refused(kept: int) -> None:
    """One clear message, whatever the reader trips over."""
    data = elf((".text", PROGBITS, A | X, 40))[:kept]

    with pytest.raises(InputError) as caught:
        parse_elf(data, source="out/lar")

    assert caught.value.message == "out/lar: a damaged ELF file"


@pytest.mark.parametrize("more", [1, 10_000])
def test_sections_larger_than_the_file_are_refused(more: int) -> None:
    """Groups could not sum to the file."""
    data = bytearray(elf((".text", PROGBITS, A | X, 40)))
    table = struct.unpack_from("<Q", data, 40)[0]
    struct.pack_into("<Q", data, table + 64 + 32, len(data) + more)

    with pytest.raises(InputError) as caught:
        parse_elf(bytes(data), source="out/lar")

    assert caught.value.message == (
        f"out/lar: a damaged ELF file: its sections are larger than its {len(data)} bytes"
    )


def test_missing_file_is_refused(tmp_path: Path) -> None:
    """The path and the reason."""
    with pytest.raises(InputError, match="cannot be read: No such file or directory"):
        read_elf(tmp_path / "none")


WHOLE = elf(
    (".strtab", STRTAB, 0, 1),
    (".text", PROGBITS, A | X, 40),
    (".symtab", SYMTAB, 0, 24),
    (".rela.dyn", RELA, A, 24),
)


def test_whole_file_of_the_damaged_ones() -> None:
    """What is damaged below is whole before."""
    assert not parse_elf(WHOLE, source="x").stripped


@settings(deadline=2000)
@given(st.lists(st.tuples(st.integers(4, len(WHOLE) - 1), st.integers(0, 255)), max_size=8))
def test_damaged_files_are_read_or_refused(changes: list[tuple[int, int]]) -> None:
    """Any byte may be wrong."""
    data = bytearray(WHOLE)
    for at, value in changes:
        data[at] = value

    try:
        facts = parse_elf(bytes(data), source="out/lar")
    except InputError as error:
        assert error.message.startswith("out/lar: a damaged ELF file")
    else:
        assert sum(size for _, size in facts.groups) == len(WHOLE)
