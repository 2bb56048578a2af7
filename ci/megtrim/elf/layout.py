"""Where everything in an ELF file is: its headers, sections, segments and symbols.

Of programs, shared libraries and objects, for 32 and for 64 bits. A program has some hundred
thousand symbols, so plain unpacking reads them. Pure: bytes in, values out. Whatever is outside of
the bytes, or could grow without bounds, raises ValueError, IndexError or struct.error.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

from megtrim.elf.symbol_names import MAX_NAME

ELF_MAGIC = b"\x7fELF"
ARM = 40
ALLOCATED, EXECUTED, WRITTEN = 0x2, 0x4, 0x1
SYMBOL_TABLE, STRINGS, NO_BITS, DYNAMIC_SYMBOLS, INDICES = 2, 3, 8, 11, 18
LOADED = 1
_RELOCATABLE, _LINKED = 1, (2, 3)
_WIDE = 2
_INDEX = struct.Struct("<I")
_MOST_SECTIONS = 1_000_000
_MOST_SYMBOLS = 8_000_000
_MOST_NAMES = 4
"""Names may share their ends; their total size is limited to this many times the file."""
_FIRST_RESERVED, _EXTENDED = 0xFF00, 0xFFFF
_FUNCTION = 2
_NO_PLACES = frozenset({3, 4, 6})
"""Symbols of sections, of files, and of what each thread has for itself."""
_MAPPING = re.compile(r"\$[adtx](?:\.|$)")
"""Marks of Arm's tools: from here on there are instructions, or data."""


class PlacedSection(NamedTuple):
    """One section; its number is its place in ``ElfLayout.sections``."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size_bytes: int
    """Size in memory."""
    link: int
    alignment: int
    info: int = 0
    """Of relocations: the number of the section that they fill in."""

    @property
    def file_bytes(self) -> int:
        """Return its size in the file."""
        return 0 if self.kind in {0, NO_BITS} else self.size_bytes

    @property
    def in_memory(self) -> bool:
        """Return whether the running program has it."""
        return bool(self.flags & ALLOCATED)


class LoadedSegment(NamedTuple):
    """One part of the file that the loader maps into memory."""

    offset: int
    size_bytes: int
    memory_bytes: int


class PlacedSymbol(NamedTuple):
    """One name of a place in a section."""

    name: str
    section: int
    start: int
    """Offset from the first byte of its section."""
    size_bytes: int
    """0 if it is not recorded."""


class _Words(NamedTuple):
    """How files of one width are laid out."""

    header: struct.Struct
    section: struct.Struct
    segment: struct.Struct
    symbol: struct.Struct
    symbol_fields: tuple[int, ...]
    """Which field is the symbol's name, info, section, value and size."""
    segment_fields: tuple[int, ...]
    """Which field is the segment's kind, offset, size in the file and in memory."""


_WIDTHS = {
    1: _Words(
        header=struct.Struct("<16xHHIIIIIHHHHHH"),
        section=struct.Struct("<10I"),
        segment=struct.Struct("<8I"),
        symbol=struct.Struct("<IIIBBH"),
        symbol_fields=(0, 3, 5, 1, 2),
        segment_fields=(0, 1, 4, 5),
    ),
    2: _Words(
        header=struct.Struct("<16xHHIQQQIHHHHHH"),
        section=struct.Struct("<IIQQQQIIQQ"),
        segment=struct.Struct("<IIQQQQQQ"),
        symbol=struct.Struct("<IBBHQQ"),
        symbol_fields=(0, 1, 3, 4, 5),
        segment_fields=(0, 2, 5, 6),
    ),
}


class ElfLayout:
    """The parts of one ELF file."""

    def __init__(self, data: bytes) -> None:
        if data[:4] != ELF_MAGIC or data[5:6] != b"\x01" or data[4] not in _WIDTHS:
            msg = "not a little-endian ELF file"
            raise ValueError(msg)
        self._data = data
        self._words = words = _WIDTHS[data[4]]
        fields = words.header.unpack_from(data)
        kind, self.machine, _, self.entry, segments, sections, *rest = fields
        _, _, _, many, width, count, names = rest
        self.is_wide = data[4] == _WIDE
        """Whether its addresses have 64 bits."""
        self.relocatable = kind == _RELOCATABLE
        if not self.relocatable and kind not in _LINKED:
            msg = "neither linked nor an object"
            raise ValueError(msg)
        raw = self._read_headers(sections, width, count)
        if raw and names == _EXTENDED:
            names = raw[0][6]
        texts = self._part(raw[names][4], raw[names][5]) if raw else b""
        named = _Names(texts, len(data))
        self.sections = tuple(self._place(each, named) for each in raw)
        self.section_names = self.sections[names] if raw else None
        table = next((each for each in self.sections if each.kind == SYMBOL_TABLE), None)
        self.symbol_names = self.sections[table.link] if table else None
        entries = self._part(segments, many * words.segment.size)
        found = (
            tuple(each[at] for at in words.segment_fields)
            for each in words.segment.iter_unpack(entries)
        )
        self.segments = tuple(LoadedSegment(*each[1:]) for each in found if each[0] == LOADED)
        self.headers = (
            ("[ELF header]", 0, words.header.size),
            ("[program headers]", segments, segments + len(entries)),
            ("[section headers]", sections, sections + len(raw) * words.section.size),
        )
        """Name, start and end of what describes the file itself."""

    @property
    def section_header_bytes(self) -> int:
        """Return the size of a section's header."""
        return self._words.section.size

    def symbols(self) -> Iterator[PlacedSymbol]:
        """Yield every name of a place in a section; of a stripped file, those that it exports."""
        for kind in (SYMBOL_TABLE, DYNAMIC_SYMBOLS):
            table = next((each for each in self.sections if each.kind == kind), None)
            if table is not None:
                yield from self._iter_symbols(table)
                return

    def dynamic_symbols(self) -> Iterator[PlacedSymbol]:
        """Yield the names that other files can use."""
        table = next((each for each in self.sections if each.kind == DYNAMIC_SYMBOLS), None)
        if table is not None:
            yield from self._iter_symbols(table)

    def content(self, section: PlacedSection) -> bytes:
        """Return a section's bytes in the file."""
        return self._part(section.offset, section.file_bytes)

    def at_address(self, address: int, size_bytes: int) -> bytes:
        """Return the bytes that the file has for an address; fewer if it does not have them."""
        for each in self.sections:
            start = address - each.address
            if each.in_memory and 0 <= start < each.file_bytes:
                at = each.offset + start
                return self._data[at : at + min(size_bytes, each.file_bytes - start)]
        return b""

    def _iter_symbols(self, table: PlacedSection) -> Iterator[PlacedSymbol]:
        if table.size_bytes > _MOST_SYMBOLS * self._words.symbol.size:
            msg = "too many symbols"
            raise ValueError(msg)
        names = _Names(self.content(self.sections[table.link]), len(self._data))
        indices = next((each for each in self.sections if each.kind == INDICES), None)
        extended = tuple(_INDEX.iter_unpack(self.content(indices))) if indices else ()
        firsts = [0 if self.relocatable else each.address for each in self.sections]
        entries = self._words.symbol.iter_unpack(self.content(table))
        ordered = map(itemgetter(*self._words.symbol_fields), entries)
        # In an address for Arm, one bit says that the function's instructions are Thumb.
        place_bits = ~1 if self.machine == ARM else ~0
        for at, (named, info, near, value, size) in enumerate(ordered):
            number = extended[at][0] if near == _EXTENDED and extended else near
            if number == 0 or (number == near and near >= _FIRST_RESERVED):
                continue
            if not named or info & 15 in _NO_PLACES:
                continue
            name = names.at(named)
            if name.startswith("$") and _MAPPING.match(name):
                continue
            start = value & place_bits if info & 15 == _FUNCTION else value
            yield PlacedSymbol(name, number, start - firsts[number], size)

    def _read_headers(self, start: int, width: int, count: int) -> list[tuple[int, ...]]:
        section = self._words.section
        if not start:
            return []
        if width != section.size:
            msg = "section headers of another size"
            raise ValueError(msg)
        # If there are too many sections for the header, the first section's header has the count.
        count = count or section.unpack_from(self._data, start)[5]
        if count > _MOST_SECTIONS:
            msg = f"{count} sections"
            raise ValueError(msg)
        return list(section.iter_unpack(self._part(start, count * section.size)))

    def _place(self, raw: tuple[int, ...], names: _Names) -> PlacedSection:
        name, kind, flags, address, offset, size, link, info, alignment, _ = raw
        each = PlacedSection(
            names.at(name), kind, flags, address, offset, size, link, alignment, info
        )
        if each.file_bytes and offset + size > len(self._data):
            msg = "a section ends after the end of the file"
            raise ValueError(msg)
        return each

    def _part(self, start: int, size_bytes: int) -> bytes:
        if start + size_bytes > len(self._data):
            msg = "a part is outside of the file"
            raise ValueError(msg)
        return self._data[start : start + size_bytes]


class _Names:
    """A string table."""

    def __init__(self, strings: bytes, file_bytes: int) -> None:
        self._strings = strings
        self._left_bytes = _MOST_NAMES * file_bytes

    def at(self, start: int) -> str:
        """Return the name that begins at ``start``."""
        end = self._strings.index(b"\0", start, start + MAX_NAME + 1)
        self._left_bytes -= end - start
        if self._left_bytes < 0:
            msg = "too long names"
            raise ValueError(msg)
        return self._strings[start:end].decode("utf-8", "backslashreplace")
