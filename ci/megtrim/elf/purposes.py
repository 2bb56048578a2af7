"""What a section of an ELF file is for. Pure."""

from __future__ import annotations

from enum import StrEnum

from megtrim.elf.layout import (
    DYNAMIC_SYMBOLS,
    EXECUTED,
    INDICES,
    STRINGS,
    SYMBOL_TABLE,
    WRITTEN,
    ElfLayout,
    PlacedSection,
)


class Purpose(StrEnum):
    """What bytes are for, in the order of tables with equal sizes."""

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
"""What a stripped file does not have."""
NAMED = frozenset({Purpose.CODE, Purpose.CONSTANTS, Purpose.DATA})
"""What symbols name, part by part."""

_NOTE, _DYNAMIC = 7, 6
_RELOCATIONS = {4, 9, 19, 0x40000014, 0x60000001, 0x60000002, 0x6FFFFF00}
"""With and without addends, relative ones, LLVM's compact ones, and Android's."""
_LINKING = {STRINGS, DYNAMIC_SYMBOLS, 5, _DYNAMIC, 0x6FFFFFF6, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF}
"""Names, symbols, both kinds of hash tables, the dynamic section, and versions."""
_BY_NAME = (
    ((".debug_", ".zdebug_", ".gdb_index", ".gnu_debug", ".stab"), Purpose.DEBUG),
    ((".eh_frame", ".gcc_except_table", ".ARM.exidx", ".ARM.extab"), Purpose.UNWIND),
    ((".got", ".plt", ".interp"), Purpose.LINKING),
)


def find_purpose(section: PlacedSection, layout: ElfLayout) -> Purpose:
    """Return what a section's bytes are for, by its kind, name and flags."""
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
