"""Which parts of a linked file stay although nothing refers to them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from megtrim.elf.layout import ElfLayout
from megtrim.elf.sections import Purpose, find_purpose
from megtrim.size.references.graph import Part

ENTRY = "the entry point"
EXPORTED = "exported"
BEFORE_MAIN, AT_EXIT = "runs before main", "runs at exit"
LOADER = "for the loader"
NAMED_SECTION = "in a section that code finds by its name"
_ARRAYS = (
    ((".preinit_array", ".init_array", ".ctors", ".init"), BEFORE_MAIN),
    ((".fini_array", ".dtors", ".fini"), AT_EXIT),
)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LOADED = frozenset(
    {Purpose.LINKING, Purpose.NOTES, Purpose.RELOCATIONS, Purpose.HEADERS, Purpose.SYMBOLS}
)


def find_roots(
    layout: ElfLayout, parts: Sequence[Part], locate: Callable[[int], int]
) -> dict[int, str]:
    """Return why each root stays. ``locate`` returns the part at an address, -1 for none."""
    sections = {each.name: each for each in layout.sections}
    roots: dict[int, str] = {}
    for number, part in enumerate(parts):
        section = sections[part.section]
        if part.section.startswith(".eh_frame") or find_purpose(section, layout) in _LOADED:
            roots[number] = LOADER
        elif _IDENTIFIER.fullmatch(part.section):
            roots[number] = NAMED_SECTION
        else:
            why = (why for names, why in _ARRAYS if part.section.startswith(names))
            roots.update((number, each) for each in why)
    for name, section_number, start, _ in layout.dynamic_symbols():
        address = layout.sections[section_number].address + start
        if name and (number := locate(address)) >= 0:
            roots.setdefault(number, EXPORTED)
    if layout.entry and (number := locate(layout.entry)) >= 0:
        roots[number] = ENTRY
    return roots
