import re
import struct
import sys
from pathlib import Path

import pytest

from megtrim.libs.elf.layout import ElfLayout
from megtrim.libs.elf.sections import ElfFacts, Group, Purpose, find_purpose, parse_elf, read_elf
from megtrim.libs.util.errors import InputError
from unit.core.size.made_files import (
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


@pytest.mark.parametrize(
    ("section", "purpose", "group"),
    [
        ((".text", PROGBITS, A | X, 100), Purpose.CODE, "text"),
        ((".plt", PROGBITS, A | X, 100), Purpose.LINKING, "text"),
        ((".rodata", PROGBITS, A, 100), Purpose.CONSTANTS, "rodata"),
        ((".data", PROGBITS, A | W, 100), Purpose.DATA, "data"),
        ((".data.rel.ro", PROGBITS, A | W, 100), Purpose.DATA, "data"),
        ((".init_array", INIT_ARRAY, A | W, 100), Purpose.DATA, "data"),
        ((".got.plt", PROGBITS, A | W, 100), Purpose.LINKING, "data"),
        ((".rela.dyn", RELA, A, 100), Purpose.RELOCATIONS, "relocations"),
        ((".rel.dyn", REL, A, 100), Purpose.RELOCATIONS, "relocations"),
        ((".relr.dyn", RELR, A, 100), Purpose.RELOCATIONS, "relocations"),
        ((".rela.dyn", ANDROID_RELA, A, 100), Purpose.RELOCATIONS, "relocations"),
        ((".eh_frame", PROGBITS, A, 100), Purpose.UNWIND, "unwind"),
        ((".eh_frame_hdr", PROGBITS, A, 100), Purpose.UNWIND, "unwind"),
        ((".gcc_except_table", PROGBITS, A, 100), Purpose.UNWIND, "unwind"),
        ((".ARM.exidx", 0x70000001, A, 100), Purpose.UNWIND, "unwind"),
        ((".dynstr", STRTAB, A, 100), Purpose.LINKING, ""),
        ((".gnu.hash", 0x6FFFFFF6, A, 100), Purpose.LINKING, ""),
        ((".bss", NOBITS, A | W, 100), Purpose.DATA, ""),
        ((".note.ABI-tag", NOTE, A, 100), Purpose.NOTES, ""),
        ((".comment", PROGBITS, 0, 100), Purpose.NOTES, ""),
        ((".rela.text", RELA, 0, 100), Purpose.RELOCATIONS, ""),
        ((".debug_info", PROGBITS, 0, 100), Purpose.DEBUG, ""),
        ((".shstrtab", STRTAB, 0, 0), Purpose.HEADERS, ""),
        ((".symtab", SYMTAB, 0, 0), Purpose.SYMBOLS, ""),
    ],
)
def test_a_section_has_a_purpose_and_a_group(
    section: Section, purpose: Purpose, group: str
) -> None:
    named = () if section[0] == ".shstrtab" else (section,)
    data = elf((".strtab", STRTAB, 0, 1), *named)
    layout = ElfLayout(data)
    facts = parse_elf(data, source="x")
    found = next(each for each in layout.sections if each.name == section[0])

    assert find_purpose(found, layout) is purpose
    assert sum(size for _, size in facts.groups) == facts.size_bytes == len(data)
    sized = {str(name): size for name, size in facts.groups if size and name is not Group.OTHER}
    assert sized == ({group: 100} if group else {})


def test_groups_sum_to_the_file() -> None:
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
    assert parse_elf(elf((".strtab", STRTAB, 0, 1), section), source="x").stripped is stripped


@pytest.mark.parametrize(
    ("number", "machine"),
    [
        (183, "aarch64"),
        (62, "x86_64"),
        (40, "armv7l"),
        (3, "i686"),
        (243, "riscv64"),
        (8, "machine 8"),
    ],
)
def test_machine(number: int, machine: str) -> None:
    assert parse_elf(elf(machine=number), source="x").machine == machine


def test_real_program() -> None:
    path = Path(sys.executable).resolve()

    facts = read_elf(path)

    assert facts.size_bytes == path.stat().st_size
    assert sum(size for _, size in facts.groups) == facts.size_bytes
    assert dict(facts.groups)[Group.TEXT] > 100


@pytest.mark.parametrize("data", [b"", b"\x7fEL", b"MZ" + bytes(100), b"#!/bin/sh\n"])
def test_other_files_are_refused(data: bytes) -> None:
    said = re.escape(f"out/lar: not an ELF file: it begins with {data[:4]!r}")
    with pytest.raises(InputError, match=rf"^{said}(\n|$)"):
        parse_elf(data, source="out/lar")


@pytest.mark.parametrize("kept", [4, 16, 40, 63, 100])
def test_cut_off_file_is_refused(kept: int) -> None:
    data = elf((".text", PROGBITS, A | X, 40))[:kept]

    with pytest.raises(InputError, match=r"^out/lar: a damaged ELF file"):
        parse_elf(data, source="out/lar")


@pytest.mark.parametrize(
    ("at", "size", "why"),
    [
        (64, 10_000, "a section ends after the end of the file"),
        (0, 400, "its sections are larger than its 423 bytes"),
    ],
)
def test_sections_larger_than_the_file_are_refused(at: int, size: int, why: str) -> None:
    data = bytearray(elf((".text", PROGBITS, A | X, 40), (".data", PROGBITS, A | W, 40)))
    table = struct.unpack_from("<Q", data, 40)[0]
    struct.pack_into("<QQ", data, table + 64 + 24, at, size)

    with pytest.raises(InputError, match=rf"^out/lar: a damaged ELF file: {why}(\n|$)"):
        parse_elf(bytes(data), source="out/lar")
