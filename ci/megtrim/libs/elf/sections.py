"""What the bytes of a program or shared library are for, section by section.

The groups add up to the file; headers, gaps, symbol tables, debug information are ``other``. Pure.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from megtrim.libs.elf.layout import (
    DAMAGE,
    DYNAMIC_SYMBOLS,
    ELF_MAGIC,
    EXECUTED,
    INDICES,
    MACHINES,
    PROGBITS,
    REBUILD,
    STRINGS,
    SYMBOL_TABLE,
    WRITTEN,
    ElfLayout,
    PlacedSection,
    make_damage_error,
)
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.value import Value

if TYPE_CHECKING:
    from pathlib import Path

_MAX_FILE_BYTES = 4 * 1024**3


class Purpose(StrEnum):
    CODE = "code"
    CONSTANTS = "read-only data"
    DATA = "data"
    UNWIND = "unwind tables"
    RELOCATIONS = "relocations"
    LINKING = "dynamic linking"
    HEADERS = "headers"
    PADDING = "padding"
    SYMBOLS = "symbol table"
    DEBUG = "debug information"
    NOTES = "notes"
    UNEXPLAINED = "unexplained"


STRIPPED = frozenset({Purpose.SYMBOLS, Purpose.DEBUG})
NAMED = frozenset({Purpose.CODE, Purpose.CONSTANTS, Purpose.DATA})

_NOTE = 7
_DYNAMIC = 6
_DEBUG = (".debug_", ".zdebug_")
_RELOCATIONS = {4, 9, 19, 0x40000014, 0x60000001, 0x60000002, 0x6FFFFF00}
_LINKING = {STRINGS, DYNAMIC_SYMBOLS, 5, _DYNAMIC, 0x6FFFFFF6, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF}
_BY_NAME = (
    ((*_DEBUG, ".gdb_index", ".gnu_debug", ".stab"), Purpose.DEBUG),
    ((".eh_frame", ".gcc_except_table", ".ARM.exidx", ".ARM.extab"), Purpose.UNWIND),
    ((".got", ".plt", ".interp"), Purpose.LINKING),
)


def find_purpose(section: PlacedSection, layout: ElfLayout) -> Purpose:
    if section.kind in {SYMBOL_TABLE, INDICES}:
        return Purpose.SYMBOLS
    if section.kind == STRINGS and section is layout.symbol_names:
        return Purpose.SYMBOLS
    if section is layout.section_names:
        return Purpose.HEADERS
    if section.kind in _RELOCATIONS:
        return Purpose.RELOCATIONS
    for names, purpose in _BY_NAME:
        if section.name.startswith(names):
            return purpose
    if not section.in_memory or section.kind == _NOTE:
        return Purpose.NOTES
    if section.kind in _LINKING:
        return Purpose.LINKING
    if section.flags & EXECUTED:
        return Purpose.CODE
    return Purpose.DATA if section.flags & WRITTEN else Purpose.CONSTANTS


class Group(StrEnum):
    TEXT = "text"
    RODATA = "rodata"
    DATA = "data"
    RELOCATIONS = "relocations"
    UNWIND = "unwind"
    OTHER = "other"


class ElfFacts(Value):
    size_bytes: int
    machine: str
    """As ``uname -m`` prints it, or ELF's number if megtrim does not build for it."""
    stripped: bool
    groups: tuple[tuple[Group, int], ...]
    """Every group with its bytes, in the order of :class:`Group`; they add up to the size."""


def parse_elf(data: bytes, *, source: str) -> ElfFacts:
    """Parse a program's bytes. Raises InputError for anything but an intact ELF file."""
    if not data.startswith(ELF_MAGIC):
        msg = f"{source}: not an ELF file: it begins with {data[:4]!r}"
        raise InputError(msg, hint="expected a program or shared library for Linux or Android")
    try:
        layout = ElfLayout(data)
    except DAMAGE as error:
        raise make_damage_error(source, error, hint=REBUILD) from None
    sizes = dict.fromkeys(Group, 0)
    for section in layout.sections:
        sizes[_find_group(section, layout)] += section.file_bytes
    grouped = sum(size for group, size in sizes.items() if group is not Group.OTHER)
    sizes[Group.OTHER] = len(data) - grouped
    if sizes[Group.OTHER] < 0:
        larger = ValueError(f"its sections are larger than its {len(data)} bytes")
        raise make_damage_error(source, larger, hint=REBUILD)
    has_names = any(
        section.kind == SYMBOL_TABLE or section.name.startswith(_DEBUG)
        for section in layout.sections
    )
    return ElfFacts(
        size_bytes=len(data),
        machine=MACHINES.get(layout.machine, f"machine {layout.machine}"),
        stripped=not has_names,
        groups=tuple(sizes.items()),
    )


def read_elf(path: Path) -> ElfFacts:
    expected = "a built program or shared library"
    data = read_bytes(path, most_bytes=_MAX_FILE_BYTES, expected=expected)
    return parse_elf(data, source=str(path))


def _find_group(section: PlacedSection, layout: ElfLayout) -> Group:
    if not section.in_memory:
        return Group.OTHER
    purpose = find_purpose(section, layout)
    if purpose is Purpose.RELOCATIONS:
        return Group.RELOCATIONS
    if purpose is Purpose.UNWIND:
        return Group.UNWIND
    if section.flags & EXECUTED:
        return Group.TEXT
    if section.flags & WRITTEN:
        return Group.DATA
    return Group.RODATA if section.kind == PROGBITS else Group.OTHER
