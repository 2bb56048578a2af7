"""Objects and archives as compilers write them: their members, the offsets of their parts, edits.

Archives are of GNU's form or BSD's; a thin one has no members of its own. Of objects only what
in-place edits need: sections, symbols and relocations of 64-bit objects. Pure: bytes in, offsets
out. What is damaged raises ValueError or struct.error.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Iterator, Mapping
from enum import Enum, auto
from typing import NamedTuple

from megtrim.elf.layout import refuse
from megtrim.elf.symbol_names import MAX_NAME

ARCHIVE_MAGIC = b"!<arch>\n"
THIN_MAGIC = b"!<thin>\n"
_MEMBER_HEADER = struct.Struct("<16s32x10s2s")
_END = b"`\n"
_INDICES = (b"/", b"/SYM64/", b"__.SYMDEF", b"__.SYMDEF SORTED")


class MemberKind(Enum):
    FILE = auto()
    INDEX = auto()
    NAMES = auto()
    """The names that are too long for a member's header."""


class ArchiveMember(NamedTuple):
    """One member; offsets are from the archive's first byte."""

    name: str
    kind: MemberKind
    header: int
    start: int
    end: int


def iter_members(data: bytes | memoryview) -> Iterator[ArchiveMember]:
    if data[: len(ARCHIVE_MAGIC)] != ARCHIVE_MAGIC:
        refuse("not an archive, or a thin one")
    at, long_names = len(ARCHIVE_MAGIC), b""
    while at < len(data):
        field, digits, mark = _MEMBER_HEADER.unpack_from(data, at)
        start = at + _MEMBER_HEADER.size
        end = start + _number(digits)
        if mark != _END or end > len(data):
            refuse("a damaged archive")
        raw, kind = field.rstrip(), MemberKind.FILE
        if raw.startswith(b"#1/"):
            length = _number(raw[3:])
            if start + length > end:
                refuse("a name that is longer than its member")
            raw, start = bytes(data[start : start + length]).rstrip(b"\0"), start + length
        elif raw == b"//":
            kind, long_names = MemberKind.NAMES, bytes(data[start:end])
        elif raw[:1] == b"/" and raw[1:].isdigit():
            name_at = _number(raw[1:])
            raw = long_names[name_at : long_names.index(b"/\n", name_at)]
        if raw in _INDICES:
            kind = MemberKind.INDEX
        name = raw.removesuffix(b"/").decode("utf-8", "backslashreplace")
        yield ArchiveMember(name, kind, at, start, end)
        at = end + end % 2


def _number(digits: bytes) -> int:
    text = digits.rstrip()
    if not text.isdigit():
        refuse("a damaged archive")
    return int(text)


ELF_MAGIC = b"\x7fELF"
AARCH64, X86_64 = 183, 62
ALLOCATED, EXECUTED = 0x2, 0x4
CODE, SYMBOLS, ADDENDS, INDICES = 1, 2, 4, 18
_EMPTY_IN_FILES = 8
_FOREIGN_RELOCATIONS = (9, 0x40000014)
"""REL, without addends, and LLVM's compact CREL: no 64-bit compiler writes them by default."""
_HEADER = struct.Struct("<4sBB10xHHI8x8xQ4xHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_ADDEND = struct.Struct("<QIIq")
_RELOCATABLE, _ELF64, _LITTLE = 1, 2, 1
_MOST_NAMES = 64
"""Names may share their ends; their total size is limited to this many times the object."""
_FIRST_RESERVED, _EXTENDED = 0xFF00, 0xFFFF


# Named tuples, because an engine's archives have millions of these, and dataclasses are slower.
class Section(NamedTuple):
    """One section; offsets are from the object's first byte."""

    name_at: int
    """See ``Object.name``."""
    header: int
    kind: int
    flags: int
    start: int
    size_bytes: int
    link: int
    info: int


class Symbol(NamedTuple):
    name: bytes
    entry: int
    kind: int
    section: int
    address: int
    size_bytes: int


class Relocation(NamedTuple):
    entry: int
    address: int
    """Offset of what it fills in, from the first byte of its section."""
    kind: int
    symbol: int
    addend: int


class Object:
    def __init__(self, data: memoryview) -> None:
        fields = _HEADER.unpack_from(data)
        _, width, order, kind, self.machine, _, table, _, _, _, entry, count, names = fields
        self._data = data
        self.usable = (
            (kind, width, order) == (_RELOCATABLE, _ELF64, _LITTLE)
            and self.machine in {AARCH64, X86_64}
            and entry == _SECTION.size
        )
        self.sections: list[Section] = []
        self.relocated: dict[int, list[Section]] = {}
        """The relocation sections of each section that has one, by its number."""
        if not self.usable or not table:
            self.usable = False
            return
        first = _SECTION.unpack_from(data, table)
        # If there are too many sections for the header, the first section's header has the count.
        count, names = count or first[5], names if names != _EXTENDED else first[6]
        headers = _part(data, table, count * _SECTION.size)
        texts = _SECTION.unpack_from(headers, names * _SECTION.size)
        self.names = bytes(_part(data, texts[4], texts[5]))
        claimed = 0
        for at, raw in enumerate(_SECTION.iter_unpack(headers)):
            name, kind, flags, _, start, size, link, info, _, _ = raw
            place = table + at * _SECTION.size
            each = Section(name, place, kind, flags, start, size, link, info)
            if kind != _EMPTY_IN_FILES:
                _part(data, start, size)
            self.sections.append(each)
            if kind == ADDENDS:
                claimed += size
                self.relocated.setdefault(info, []).append(each)
            self.usable &= kind not in _FOREIGN_RELOCATIONS
        # Hostile sections may overlap, and would be read again and again.
        self.usable &= claimed <= len(data)

    def name(self, section: Section) -> bytes:
        return _text(self.names, section.name_at)

    def content(self, section: Section) -> memoryview:
        return _part(self._data, section.start, section.size_bytes)

    def symbols(self) -> dict[int, Symbol]:
        table = next((each for each in self.sections if each.kind == SYMBOLS), None)
        if table is None:
            return {}
        strings = bytes(self.content(self.sections[table.link]))
        indices = [each for each in self.sections if each.kind == INDICES]
        extended = self.content(indices[0]).cast("I") if indices else None
        found = {}
        left_bytes = _MOST_NAMES * len(self._data)
        for at, raw in enumerate(_SYMBOL.iter_unpack(self.content(table))):
            name, info, _, section, address, size = raw
            if section == _EXTENDED and extended is not None:
                section = extended[at]
            elif section == 0 or section >= _FIRST_RESERVED:
                continue
            text = _text(strings, name) if name else b""
            left_bytes -= len(text)
            if left_bytes < 0:
                refuse("too long names")
            entry = table.start + at * _SYMBOL.size
            found[at] = Symbol(text, entry, info & 15, section, address, size)
        return found

    def relocations(self, section: Section) -> Iterator[Relocation]:
        for at, raw in enumerate(_ADDEND.iter_unpack(self.content(section))):
            address, kind, symbol, addend = raw
            yield Relocation(section.start + at * _ADDEND.size, address, kind, symbol, addend)


def members(data: memoryview) -> Iterator[tuple[int, int]]:
    """Yield start and end of each object: of a single one, or of every member of an archive."""
    if data[:4] == ELF_MAGIC:
        yield 0, len(data)
    if data[: len(ARCHIVE_MAGIC)] != ARCHIVE_MAGIC:
        return
    for each in iter_members(data):
        if data[each.start : each.start + len(ELF_MAGIC)] == ELF_MAGIC:
            yield each.start, each.end


def _part(data: memoryview, start: int, size_bytes: int) -> memoryview:
    if start + size_bytes > len(data):
        refuse("a part is outside of the file")
    return data[start : start + size_bytes]


def _text(strings: bytes, start: int) -> bytes:
    return strings[start : strings.index(b"\0", start, start + MAX_NAME + 1)]


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
