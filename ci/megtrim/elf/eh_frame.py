"""Removes functions from an object's unwind tables.

An entry of the table names its function by a relocation, and a linker drops the entry of a function
that it drops. Here the relocation is changed to name nothing, and the function's length to 0:
linkers check one or the other. What only that entry refers to, the exception tables, is dropped
with it. Pure.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Iterator, Mapping

from megtrim.elf.objects import Object, Section, Symbol

_TABLE = b".eh_frame"
_INFO_AT = 8
_NOTHING = bytes(16)
_LENGTH_AT = 4
_NO_LENGTH = bytes(4)
_FIELDS = struct.Struct("<II")
_LONG = 0xFFFFFFFF


def remove_functions(
    unit: Object, symbols: Mapping[int, Symbol], sections: Container[int] | None
) -> Iterator[tuple[int, bytes]]:
    """Yield edits, offset and bytes, that remove the functions in these sections; None: all."""
    for at, filling in unit.relocated.items():
        table = unit.sections[at]
        if unit.name(table) != _TABLE:
            continue
        ends = dict(_entries(unit, table))
        found = (each for section in filling for each in unit.relocations(section))
        end = 0
        for each in sorted(found, key=lambda each: each.address):
            if each.address in ends:
                target = symbols.get(each.symbol)
                removed = sections is None or (target is not None and target.section in sections)
                end = ends[each.address] if removed else 0
                if removed:
                    yield table.start + each.address + _LENGTH_AT, _NO_LENGTH
            if each.address < end:
                yield each.entry + _INFO_AT, _NOTHING


def _entries(unit: Object, table: Section) -> Iterator[tuple[int, int]]:
    """Yield the offset of each entry's function field, and the offset of the entry's end."""
    content = unit.content(table)
    at = 0
    while at + _FIELDS.size <= len(content):
        size_bytes, common = _FIELDS.unpack_from(content, at)
        end = at + 4 + size_bytes
        if size_bytes in {0, _LONG} or end > len(content):
            return
        if common and end - at >= _FIELDS.size + _LENGTH_AT + len(_NO_LENGTH):
            yield at + _FIELDS.size, end
        at = end
