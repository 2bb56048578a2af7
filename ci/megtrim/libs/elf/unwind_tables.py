"""Divides a linked file's unwind tables: those of its first functions alone, and all of them.

Unwinders look an address up in a sorted table behind a header (``.eh_frame_hdr``), whose rows refer
to entries (``.eh_frame``). The rows of functions at the highest addresses are its last ones, so a
header with a smaller count and the same rows is a valid table of the others. Pure.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from megtrim.libs.elf.layout import refuse
from megtrim.libs.util.value import Value

_HEADER = struct.Struct("<4BiI")
_ENCODINGS = (1, 0x1B, 0x03, 0x3B)
"""The header's: version; and all is relative, in 4 signed bytes, but the count."""
_ROW = struct.Struct("<ii")
_WORDS = struct.Struct("<II")
_LONG = 0xFFFFFFFF
_OMITTED = 0xFF
_RELATIVE = 0x10
_INDIRECT = 0x80
_WIDTHS = {0x0: 8, 0x2: 2, 0xA: 2, 0x3: 4, 0xB: 4, 0x4: 8, 0xC: 8}
_ALIGNMENT = 8


class DividedTables(Value):
    image: bytes
    """Entries of the first functions, header and rows of all, entries of the others."""
    header: int
    """Offset of the header, and after it of the rows."""
    first_bytes: int
    """Where the rows of the first functions end."""
    first: bytes
    """As the image begins, with the count of the first functions."""


class _Entry(NamedTuple):
    start: int
    end: int
    common: int
    """Start of the entry that it refers to; -1: it is one that others refer to."""
    relative: tuple[tuple[int, int], ...]
    """Offset and width of each value that is relative to its own address."""
    function: int
    """Address."""


class _Common(NamedTuple):
    pointers: int
    """Encoding of a function's address."""
    data: int
    """Encoding of the address of its exception table."""
    augmented: bool


def divide(content: bytes, address: int, to: int, from_address: int) -> DividedTables:
    """Lay the entries at ``address`` out again at ``to``, those of ``from_address`` on last.

    Raises ValueError or struct.error for what cannot be moved.
    """
    entries = [*_parse(content, address)]
    rows = sorted((each.function, each.start) for each in entries if each.common >= 0)
    last = {start for function, start in rows if function >= from_address}
    out = bytearray()
    places: dict[int, int] = {}
    for each in entries:
        if each.start not in last:
            _move(each, content, address, out, to, places)
    out += bytes(4)
    out += bytes(-len(out) % _ALIGNMENT)
    header = len(out)
    first_bytes = header + _HEADER.size + _ROW.size * (len(rows) - len(last))
    out += bytes(_HEADER.size + _ROW.size * len(rows))
    out += bytes(-len(out) % _ALIGNMENT)
    for each in entries:
        if each.start in last:
            _move(each, content, address, out, to, places)
    out += bytes(4)
    for at, (function, start) in enumerate(rows):
        row = (function - to - header, places[start] - header)
        _ROW.pack_into(out, header + _HEADER.size + at * _ROW.size, *row)
    firsts = bytearray(out[:first_bytes])
    for target, count in ((out, len(rows)), (firsts, len(rows) - len(last))):
        _HEADER.pack_into(target, header, *_ENCODINGS, -header - 4, count)
    return DividedTables(
        image=bytes(out), header=header, first_bytes=first_bytes, first=bytes(firsts)
    )


def _move(
    entry: _Entry, content: bytes, address: int, out: bytearray, to: int, places: dict[int, int]
) -> None:
    place = len(out)
    places[entry.start] = place
    out += content[entry.start : entry.end]
    if entry.common >= 0:
        struct.pack_into("<I", out, place + 4, place + 4 - places[entry.common])
    moved = (address + entry.start) - (to + place)
    for at, width in entry.relative:
        here = place + at - entry.start
        value = int.from_bytes(out[here : here + width], "little") + moved
        out[here : here + width] = (value % (1 << 8 * width)).to_bytes(width, "little")
        if not 0 <= -moved < 1 << 31 and not 0 <= moved < 1 << 31:
            refuse("unwind tables that are too far away")


def _parse(content: bytes, address: int) -> Iterator[_Entry]:
    commons: dict[int, _Common] = {}
    at = 0
    while at + _WORDS.size <= len(content):
        size_bytes, reference = _WORDS.unpack_from(content, at)
        end = at + 4 + size_bytes
        if not size_bytes:
            at += 4
            continue
        if size_bytes == _LONG or end > len(content):
            refuse("an unwind table that is damaged or of another form")
        if reference:
            start = at + 4 - reference
            if start not in commons:
                refuse("an unwind table without its common part")
            yield _parse_function(content, at, end, start, commons[start], address)
        else:
            commons[at], relative = _parse_common(content, at)
            yield _Entry(at, end, -1, relative, 0)
        at = end


def _parse_common(content: bytes, start: int) -> tuple[_Common, tuple[tuple[int, int], ...]]:
    version = content[start + 8]
    named = content.index(b"\0", start + 9)
    letters = content[start + 9 : named].decode("ascii")
    at = _skip_number(content, _skip_number(content, named + 1))
    at = at + 1 if version == 1 else _skip_number(content, at)
    pointers = 0
    data = _OMITTED
    relative: list[tuple[int, int]] = []
    if not letters.startswith("z"):
        if letters:
            refuse(f"unwind tables of the form {letters!r}")
        return _Common(pointers, data, augmented=False), ()
    at = _skip_number(content, at)
    for letter in letters[1:]:
        match letter:
            case "R":
                pointers = content[at]
                at = at + 1
            case "L":
                data = content[at]
                at = at + 1
            case "P":
                encoding = content[at]
                at = at + 1
                relative += _find_relative(encoding, at)
                at += _width(encoding)
            case "S" | "B" | "G":
                pass
            case _:
                refuse(f"unwind tables of the form {letters!r}")
    return _Common(pointers, data, augmented=True), tuple(relative)


def _parse_function(
    content: bytes, start: int, end: int, common_at: int, common: _Common, address: int
) -> _Entry:
    at = start + 8
    width = _width(common.pointers)
    value = int.from_bytes(content[at : at + width], "little", signed=True)
    relative = [*_find_relative(common.pointers, at)]
    function = value + address + at if relative else value
    at += 2 * width
    if common.augmented and common.data != _OMITTED:
        at = _skip_number(content, at)
        if any(content[at : at + _width(common.data)]):
            relative += _find_relative(common.data, at)
    return _Entry(start, end, common_at, tuple(relative), function)


def _find_relative(encoding: int, at: int) -> list[tuple[int, int]]:
    how = encoding & ~_INDIRECT & 0xF0
    if how not in {0, _RELATIVE}:
        refuse(f"unwind tables with addresses of the form {encoding:#x}")
    return [(at, _width(encoding))] if how else []


def _width(encoding: int) -> int:
    if encoding & 0x0F not in _WIDTHS:
        refuse(f"unwind tables with addresses of the form {encoding:#x}")
    return _WIDTHS[encoding & 0x0F]


def _skip_number(content: bytes, at: int) -> int:
    while content[at] & 0x80:
        at += 1
    return at + 1
