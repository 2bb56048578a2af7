"""Objects and archives as compilers write them: their members, the offsets of their parts, edits.

Archives are GNU's or BSD's; objects have 64 bits. Damage raises ValueError or struct.error. Pure.
"""

import struct
from collections.abc import Container, Iterator, Mapping
from enum import Enum, auto
from typing import NamedTuple

from megtrim.elf.layout import (
    AARCH64,
    ELF_MAGIC,
    SYMBOL_TABLE,
    X86_64,
    ElfLayout,
    PlacedSection,
    refuse,
)

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


_FOREIGN_RELOCATIONS = (9, 0x40000014)
"""REL, without addends, and LLVM's compact CREL: no 64-bit compiler writes them by default."""
_KIND = struct.Struct("<4x2B10x2H")
_ELF64, _LITTLE, _RELOCATABLE = 2, 1, 1
RELOCATIONS_WITH_ADDENDS = 4
BEHIND_THE_PLACE = (2, 4, 9, 41, 42)
"""x86-64's relocations that are relative to the end of the 4 bytes that they fill in."""

_ADDEND = struct.Struct("<QIIq")
_SYMBOL_BYTES = 24


# Named tuples, because an engine's archives have millions of these, and dataclasses are slower.
class Symbol(NamedTuple):
    name: str
    entry: int
    """Offset of its entry in the symbol table."""
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


class Object(ElfLayout):
    """An object whose parts may be edited in place; offsets are from its first byte."""

    most_names = 64

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.relocated: dict[int, list[int]] = {}
        """By the number of a section, the numbers of those with its relocations."""
        for at, each in enumerate(self.sections):
            if each.kind == RELOCATIONS_WITH_ADDENDS:
                self.relocated.setdefault(each.info, []).append(at)

    @property
    def is_usable(self) -> bool:
        """Whether its relocations are of one kind, and no hostile ones that overlap."""
        tables = (self.sections[at] for filling in self.relocated.values() for at in filling)
        claimed = sum(table.size_bytes for table in tables)
        foreign = any(section.kind in _FOREIGN_RELOCATIONS for section in self.sections)
        return not foreign and claimed <= self.size_bytes

    def find_symbols(self) -> dict[int, Symbol]:
        table = self.find_table(SYMBOL_TABLE)
        if table is None:
            return {}
        return {
            at: Symbol(name, table.offset + at * _SYMBOL_BYTES, info & 15, section, address, size)
            for at, (name, info, section, address, size) in enumerate(self.entries(table))
            if section > 0
        }

    def relocations(self, section: PlacedSection) -> Iterator[Relocation]:
        for at, raw in enumerate(_ADDEND.iter_unpack(self.content(section))):
            address, kind, symbol, addend = raw
            yield Relocation(section.offset + at * _ADDEND.size, address, kind, symbol, addend)


def open_object(data: bytes) -> Object | None:
    """Return an object that can be edited; None for files of all other kinds."""
    width, order, kind, machine = _KIND.unpack_from(data)
    if (width, order, kind) != (_ELF64, _LITTLE, _RELOCATABLE) or machine not in {AARCH64, X86_64}:
        return None
    unit = Object(data)
    return unit if unit.is_usable else None


def members(data: memoryview) -> Iterator[tuple[int, int]]:
    """Yield start and end of each object: of a single one, or of every member of an archive."""
    if data[:4] == ELF_MAGIC:
        yield 0, len(data)
    if data[: len(ARCHIVE_MAGIC)] != ARCHIVE_MAGIC:
        return
    for member in iter_members(data):
        if data[member.start : member.start + len(ELF_MAGIC)] == ELF_MAGIC:
            yield member.start, member.end


_TABLE = ".eh_frame"
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
        if table.name != _TABLE:
            continue
        ends = dict(_entries(unit, table))
        found = (each for number in filling for each in unit.relocations(unit.sections[number]))
        end = 0
        for each in sorted(found, key=lambda each: each.address):
            if each.address in ends:
                target = symbols.get(each.symbol)
                removed = sections is None or (target is not None and target.section in sections)
                end = ends[each.address] if removed else 0
                if removed:
                    yield table.offset + each.address + _LENGTH_AT, _NO_LENGTH
            if each.address < end:
                yield each.entry + _INFO_AT, _NOTHING


def _entries(unit: Object, table: PlacedSection) -> Iterator[tuple[int, int]]:
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
