"""Where everything in an ELF file is: its headers, segments, sections and symbols.

Plain unpacking reads some hundred thousand symbols. What is damaged raises :data:`DAMAGE`. Pure.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import ClassVar, NamedTuple, NoReturn

from megtrim.libs.elf.symbol_names import MAX_NAME
from megtrim.libs.util.errors import InputError

ELF_MAGIC = b"\x7fELF"
DAMAGE = (struct.error, ValueError, IndexError, OverflowError)
ARM = 40
X86_64 = 62
AARCH64 = 183
MACHINES = {3: "i686", ARM: "armv7l", X86_64: "x86_64", AARCH64: "aarch64", 243: "riscv64"}
"""As ``uname -m`` prints them."""
_LINKED = (2, 3)
"""Kinds of files: a program at fixed addresses, and one, or a library, at any."""
RELATIVE = {X86_64: 8, AARCH64: 1027, ARM: 23, 3: 8}
"""By machine: the relocation that adds the address at which the file was loaded."""
ALLOCATED = 0x2
EXECUTED = 0x4
WRITTEN = 0x1
PROGBITS = 1
SYMBOL_TABLE = 2
STRINGS = 3
NO_BITS = 8
DYNAMIC_SYMBOLS = 11
INDICES = 18
LOADED = 1
DYNAMIC = 2
LOADER = 3
NOTES = 4
"""Kinds of segments: what is loaded into memory, what it needs, the path of the loader, notes."""
EXECUTABLE = 1
REBUILD = "build or fetch the file again"
WITH_BUILD_ID = "-Wl,--build-id=sha1"
NO_BUILD_ID = "-Wl,--build-id=none"
"""The compiler's flags for a build id that depends on nothing but the content, and for none."""
_NOTE = struct.Struct("<3I")
_OWNER = b"GNU\0"
_BUILD_ID = 3
_MAX_ID_BYTES = 64
_RELOCATABLE = 1
_LINKED = (2, 3)
_WIDE = 2
_SYSTEMS = {3: 0}
"""GNU's own system is Unix; its ``strip`` says so once no symbol needs more."""
_INDEX = struct.Struct("<I")
_MOST_SECTIONS = 1_000_000
_MOST_SYMBOLS = 8_000_000
_FIRST_RESERVED = 0xFF00
_EXTENDED = 0xFFFF
_FUNCTION = 2
_NO_PLACES = frozenset({3, 4, 6})
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
        return 0 if self.kind in {0, NO_BITS} else self.size_bytes

    @property
    def in_memory(self) -> bool:
        return bool(self.flags & ALLOCATED)


class Segment(NamedTuple):
    kind: int
    flags: int
    offset: int
    address: int
    physical: int
    size_bytes: int
    memory_bytes: int
    alignment: int


class PlacedSymbol(NamedTuple):
    name: str
    section: int
    start: int
    """Offset from the first byte of its section."""
    size_bytes: int
    """0 if it is not recorded."""


class _Words(NamedTuple):
    header: struct.Struct
    section: struct.Struct
    segment: struct.Struct
    symbol: struct.Struct
    symbol_fields: tuple[int, ...]
    """Which field is the symbol's name, info, section, value and size."""
    segment_fields: tuple[int, ...]
    """Which field is which of a :class:`Segment`."""
    sections_at: int
    """Where the file's header says where those of its sections are."""


_WIDTHS = {
    1: _Words(
        header=struct.Struct("<16xHHIIIIIHHHHHH"),
        section=struct.Struct("<10I"),
        segment=struct.Struct("<8I"),
        symbol=struct.Struct("<IIIBBH"),
        symbol_fields=(0, 3, 5, 1, 2),
        segment_fields=(0, 6, 1, 2, 3, 4, 5, 7),
        sections_at=32,
    ),
    2: _Words(
        header=struct.Struct("<16xHHIQQQIHHHHHH"),
        section=struct.Struct("<IIQQQQIIQQ"),
        segment=struct.Struct("<IIQQQQQQ"),
        symbol=struct.Struct("<IBBHQQ"),
        symbol_fields=(0, 1, 3, 4, 5),
        segment_fields=(0, 1, 2, 3, 4, 5, 6, 7),
        sections_at=40,
    ),
}


def is_wide(data: bytes) -> bool:
    """Return whether the words of an ELF file have 64 bits."""
    return data[4:5] == bytes([_WIDE])


class ElfHeader:
    def __init__(self, data: bytes) -> None:
        if data[:4] != ELF_MAGIC or data[5:6] != b"\x01" or data[4] not in _WIDTHS:
            refuse("not a little-endian ELF file")
        self._data = data
        self._words = words = _WIDTHS[data[4]]
        fields = words.header.unpack_from(data)
        self._kind, self.machine, _, self.entry, segments, self._table, *rest = fields
        flags, _, _, count, *self._sections = rest
        self.header_bytes = words.header.size
        self.form = (data[4:7], _SYSTEMS.get(data[7], data[7]), data[8:9], self._kind, self.machine)
        """Width, byte order, version, system and kind of the file, and its machine."""
        self.is_linked = self._kind in _LINKED
        self.flags = flags
        self.is_wide = data[4] == _WIDE
        entries = self._part(segments, count * words.segment.size)
        self.segments = tuple(
            Segment(*(each[at] for at in words.segment_fields))
            for each in words.segment.iter_unpack(entries)
        )
        self.segment_headers = (segments, segments + len(entries))
        self.sections_at = words.sections_at

    def pack_segment(self, segment: Segment) -> bytes:
        """Return a segment's header, as this file has it."""
        fields = dict(zip(self._words.segment_fields, segment, strict=True))
        return self._words.segment.pack(*(fields[at] for at in range(len(fields))))

    def _part(self, start: int, size_bytes: int) -> bytes:
        if start + size_bytes > len(self._data):
            refuse("a part is outside of the file")
        return self._data[start : start + size_bytes]


class ElfLayout(ElfHeader):
    most_names: ClassVar[int] = 4
    """Names may share their ends; their total size is limited to this many times the file."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.relocatable = self._kind == _RELOCATABLE
        if not self.relocatable and self._kind not in _LINKED:
            refuse("neither linked nor an object")
        width, count, names = self._sections
        raw = self._read_headers(self._table, width, count)
        if raw and names == _EXTENDED:
            names = raw[0][6]
        texts = self._part(raw[names][4], raw[names][5]) if raw else b""
        named = _Names(texts, self.most_names * len(data))
        self.sections = tuple(self._place(each, named) for each in raw)
        self.section_names = self.sections[names] if raw else None
        table = self.find_table(SYMBOL_TABLE)
        self.symbol_names = self.sections[table.link] if table else None
        end = self._table + len(raw) * self.section_header_bytes
        self.headers = (
            ("[ELF header]", 0, self._words.header.size),
            ("[program headers]", *self.segment_headers),
            ("[section headers]", self._table, end),
        )
        """Name, start and end."""

    @property
    def size_bytes(self) -> int:
        return len(self._data)

    @property
    def section_header_bytes(self) -> int:
        return self._words.section.size

    def header_at(self, number: int) -> int:
        at: int = self._table + number * self.section_header_bytes
        return at

    def unpack_section(self, number: int) -> list[int]:
        """Return the fields of a section's header, which :meth:`pack_section` puts together."""
        return [*self._words.section.unpack_from(self._data, self.header_at(number))]

    def pack_section(self, fields: Sequence[int]) -> bytes:
        return self._words.section.pack(*fields)

    def find_table(self, kind: int) -> PlacedSection | None:
        """Return the first section of a kind: a valid file has one table of symbols of each."""
        return next((section for section in self.sections if section.kind == kind), None)

    def symbols(self) -> Iterator[PlacedSymbol]:
        table = self.find_table(SYMBOL_TABLE) or self.find_table(DYNAMIC_SYMBOLS)
        return self._iter_placed(table)

    def dynamic_symbols(self) -> Iterator[PlacedSymbol]:
        return self._iter_placed(self.find_table(DYNAMIC_SYMBOLS))

    def content(self, section: PlacedSection) -> bytes:
        return self._part(section.offset, section.file_bytes)

    def at_address(self, address: int, size_bytes: int) -> bytes:
        for section in self.sections:
            start = address - section.address
            if section.in_memory and 0 <= start < section.file_bytes:
                at = section.offset + start
                return self._data[at : at + min(size_bytes, section.file_bytes - start)]
        return b""

    def entries(self, table: PlacedSection) -> Iterator[tuple[str, int, int, int, int]]:
        """Yield name, info, section, value and size of each symbol; section -1: in none."""
        if table.size_bytes > _MOST_SYMBOLS * self._words.symbol.size:
            refuse("too many symbols")
        names = _Names(self.content(self.sections[table.link]), self.most_names * self.size_bytes)
        indices = self.find_table(INDICES)
        extended = tuple(_INDEX.iter_unpack(self.content(indices))) if indices else ()
        unpacked = self._words.symbol.iter_unpack(self.content(table))
        ordered = map(itemgetter(*self._words.symbol_fields), unpacked)
        for at, (named, info, near, value, size) in enumerate(ordered):
            number = -1 if near >= _FIRST_RESERVED else near
            if near == _EXTENDED and extended:
                number = extended[at][0]
            yield names.at(named) if named else "", info, number, value, size

    def _iter_placed(self, table: PlacedSection | None) -> Iterator[PlacedSymbol]:
        if table is None:
            return
        firsts = [0 if self.relocatable else section.address for section in self.sections]
        # In an address for Arm, one bit says that the function's instructions are Thumb.
        place_bits = ~1 if self.machine == ARM else ~0
        for name, info, number, value, size in self.entries(table):
            if number <= 0 or not name or info & 15 in _NO_PLACES:
                continue
            if name.startswith("$") and _MAPPING.match(name):
                continue
            start = value & place_bits if info & 15 == _FUNCTION else value
            yield PlacedSymbol(name, number, start - firsts[number], size)

    def _read_headers(self, start: int, width: int, count: int) -> list[tuple[int, ...]]:
        section = self._words.section
        if not start:
            return []
        if width != section.size:
            refuse("section headers of another size")
        # If there are too many sections for the header, the first section's header has the count.
        count = count or section.unpack_from(self._data, start)[5]
        if count > _MOST_SECTIONS:
            refuse(f"{count} sections")
        return list(section.iter_unpack(self._part(start, count * section.size)))

    def _place(self, raw: tuple[int, ...], names: _Names) -> PlacedSection:
        name, kind, flags, address, offset, size, link, info, alignment, _ = raw
        each = PlacedSection(
            names.at(name), kind, flags, address, offset, size, link, alignment, info
        )
        if each.file_bytes and offset + size > len(self._data):
            refuse("a section ends after the end of the file")
        return each


class _Names:
    def __init__(self, strings: bytes, most_bytes: int) -> None:
        self._strings = strings
        self._left_bytes = most_bytes

    def at(self, start: int) -> str:
        end = self._strings.index(b"\0", start, start + MAX_NAME + 1)
        self._left_bytes -= end - start
        if self._left_bytes < 0:
            refuse("too long names")
        return self._strings[start:end].decode("utf-8", "backslashreplace")


def refuse(what: str) -> NoReturn:
    """Raise the error of damage of which :func:`make_damage_error` shows the reason."""
    raise ValueError(what)


def make_damage_error(
    source: str, error: Exception, *, hint: str, what: str = "ELF file"
) -> InputError:
    why = f": {error}" if type(error) is ValueError else ""
    return InputError(f"{source}: a damaged {what}{why}", hint=hint)


def segments(data: bytes, *, source: str) -> tuple[Segment, ...]:
    try:
        return ElfHeader(data).segments
    except DAMAGE as error:
        raise make_damage_error(source, error, hint=REBUILD) from None


def parse_build_id(data: bytes) -> str:
    """Return the build id, a digest in a note, as hexadecimal digits; empty: there is none."""
    try:
        notes = [each for each in ElfHeader(data).segments if each.kind == NOTES]
    except DAMAGE:
        return ""
    for segment in notes:
        content = data[segment.offset : segment.offset + segment.size_bytes]
        for owner, kind, digest in _iter_notes(content):
            if (owner, kind) == (_OWNER, _BUILD_ID) and 0 < len(digest) <= _MAX_ID_BYTES:
                return digest.hex()
    return ""


def _iter_notes(data: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    at = 0
    while at + _NOTE.size <= len(data):
        owner_bytes, content_bytes, kind = _NOTE.unpack_from(data, at)
        owner = at + _NOTE.size
        content = owner + owner_bytes + -owner_bytes % 4
        at = content + content_bytes + -content_bytes % 4
        if content + content_bytes > len(data):
            return
        yield data[owner : owner + owner_bytes], kind, data[content : content + content_bytes]
