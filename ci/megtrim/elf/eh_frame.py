"""Takes functions out of an object's unwind tables.

A table's entry names its function by a relocation, and a linker drops the entry of a function
that it drops. Here the relocations are made to name nothing instead, and the function's length
0: linkers go by the one or by the other. With an entry goes what only it refers to,
the tables of exceptions. Pure.
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


def forgotten(
    unit: Object, symbols: Mapping[int, Symbol], sections: Container[int] | None
) -> Iterator[tuple[int, bytes]]:
    """Yield edits that take out the functions in these sections; None takes out all."""
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
                goes = sections is None or (target is not None and target.section in sections)
                end = ends[each.address] if goes else 0
                if goes:
                    yield table.start + each.address + _LENGTH_AT, _NO_LENGTH
            if each.address < end:
                yield each.entry + _INFO_AT, _NOTHING


def _entries(unit: Object, table: Section) -> Iterator[tuple[int, int]]:
    """Yield where each function's entry names its function, and where the entry ends."""
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
