"""Objects and archives as compilers write them: their members, the offsets of their parts, edits.

Archives are GNU's or BSD's. Objects have 64 bits and relocations with addends, or they are for
32-bit Arm and have bare ones. Damage raises ValueError or struct.error. Pure.
"""

import struct
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple, TypeVar

from megtrim.libs.elf.layout import (
    AARCH64,
    ARM,
    ELF_MAGIC,
    SYMBOL_TABLE,
    X86_64,
    ElfLayout,
    PlacedSection,
    refuse,
)
from megtrim.libs.util.errors import InputError

Found = TypeVar("Found")

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
    at = len(ARCHIVE_MAGIC)
    long_names = b""
    while at < len(data):
        field, digits, mark = _MEMBER_HEADER.unpack_from(data, at)
        start = at + _MEMBER_HEADER.size
        end = start + _number(digits)
        if mark != _END or end > len(data):
            refuse("a damaged archive")
        raw = field.rstrip()
        kind = MemberKind.FILE
        if raw.startswith(b"#1/"):
            length = _number(raw[3:])
            if start + length > end:
                refuse("a name that is longer than its member")
            raw = bytes(data[start : start + length]).rstrip(b"\0")
            start = start + length
        elif raw == b"//":
            kind = MemberKind.NAMES
            long_names = bytes(data[start:end])
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


_COMPACT_RELOCATIONS = 0x40000014
"""LLVM's CREL, which no compiler writes by default, and which cannot be edited in place."""
_KIND = struct.Struct("<4x2B10x2H")
_LITTLE = 1
_RELOCATABLE = 1
_WIDTHS = {(2, AARCH64), (2, X86_64), (1, ARM)}
"""Width, 1 for 32 bits and 2 for 64, and machine of objects that can be edited."""
RELOCATIONS_WITH_ADDENDS = 4
BARE_RELOCATIONS = 9
BEHIND_THE_PLACE = (2, 4, 9, 41, 42)
"""x86-64's relocations that are relative to the end of the 4 bytes that they fill in."""
_ARM_BRANCHES = {1: 8, 10: 4, 27: 8, 28: 8, 29: 8, 30: 4}
"""32-bit Arm: by the relocation of a branch, how far ahead the processor counts from."""

_ADDEND = struct.Struct("<QIIq")
_BARE = struct.Struct("<II")
_NAME = struct.Struct("<I")


class ObjectFields(NamedTuple):
    """Where numbers stand in the headers of sections, in symbols and in relocations."""

    word: struct.Struct
    place: struct.Struct
    """A section's offset and size."""
    start_at: int
    size_at: int
    alignment_at: int
    symbol_bytes: int
    symbol_size_at: int
    info_at: int
    nothing: bytes
    """A relocation's kind, symbol and addend, if it has one, of one that does nothing."""


_FIELDS_32 = ObjectFields(struct.Struct("<I"), struct.Struct("<II"), 16, 20, 32, 16, 8, 4, bytes(4))
_FIELDS_64 = ObjectFields(
    struct.Struct("<Q"), struct.Struct("<QQ"), 24, 32, 48, 24, 16, 8, bytes(16)
)


# Named tuples, because an engine's archives have millions of these, and dataclasses are slower.
class Symbol(NamedTuple):
    name: str
    entry: int
    """Offset of its entry in the symbol table."""
    kind: int
    section: int
    address: int
    size_bytes: int
    thumb: bool = False


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
        self.fields = _FIELDS_64 if self.is_wide else _FIELDS_32
        kinds = (RELOCATIONS_WITH_ADDENDS, BARE_RELOCATIONS)
        own, self._foreign = kinds if self.is_wide else kinds[::-1]
        self.relocated: dict[int, list[int]] = {}
        """By the number of a section, the numbers of those with its relocations."""
        for at, each in enumerate(self.sections):
            if each.kind == own:
                self.relocated.setdefault(each.info, []).append(at)

    def name_at(self, number: int) -> int:
        """Return where a section's name begins, among those of all sections."""
        (start,) = _NAME.unpack_from(self._data, self.header_at(number))
        return int(start)

    @property
    def is_usable(self) -> bool:
        """Whether its relocations are of one kind, and no hostile ones that overlap."""
        tables = (self.sections[at] for filling in self.relocated.values() for at in filling)
        claimed = sum(table.size_bytes for table in tables)
        foreign = any(each.kind == self._foreign for each in self.sections)
        return not foreign and not self.is_compact and claimed <= self.size_bytes

    @property
    def is_compact(self) -> bool:
        return any(each.kind == _COMPACT_RELOCATIONS for each in self.sections)

    def find_symbols(self) -> dict[int, Symbol]:
        table = self.find_table(SYMBOL_TABLE)
        if table is None:
            return {}
        width = self.fields.symbol_bytes
        place_bits = 1 if self.machine == ARM else 0
        symbols = {}
        for at, (name, info, section, value, size) in enumerate(self.entries(table)):
            if section > 0:
                entry = table.offset + at * width
                address = value & ~place_bits
                thumb = bool(value & place_bits)
                symbols[at] = Symbol(name, entry, info & 15, section, address, size, thumb)
        return symbols

    def relocations(self, section: PlacedSection) -> Iterator[Relocation]:
        """Of those without addends, that of a branch is how far behind the symbol it leads."""
        if self.is_wide:
            for at, raw in enumerate(_ADDEND.iter_unpack(self.content(section))):
                address, kind, symbol, addend = raw
                yield Relocation(section.offset + at * _ADDEND.size, address, kind, symbol, addend)
            return
        filled = self.content(self.sections[section.info])
        for at, (address, info) in enumerate(_BARE.iter_unpack(self.content(section))):
            kind = info & 0xFF
            entry = section.offset + at * _BARE.size
            yield Relocation(entry, address, kind, info >> 8, _read_branch(filled, address, kind))


def open_object(data: bytes) -> Object | None:
    """Return an object that can be edited; None for files of all other kinds."""
    unit = _open_any(data)
    return unit if unit is not None and unit.is_usable else None


def _open_any(data: bytes) -> Object | None:
    width, order, kind, machine = _KIND.unpack_from(data)
    if (order, kind) != (_LITTLE, _RELOCATABLE) or (width, machine) not in _WIDTHS:
        return None
    return Object(data)


def _open_readable(data: bytes, member: str, source: str) -> Object | None:
    """Raises InputError for compact relocations: what it refers to would not be seen."""
    unit = _open_any(data)
    if unit is not None and unit.is_compact:
        where = f"{source}({member})" if member else source
        msg = f"{where}: its relocations are compact (CREL), which megtrim does not read"
        raise InputError(msg, hint="compile it without -Wa,--crel")
    return unit if unit is not None and unit.is_usable else None


def members(data: memoryview) -> Iterator[tuple[str, int, int]]:
    """Yield name, start and end of each object: of a single one, without name, or of every member
    of an archive.
    """
    if data[:4] == ELF_MAGIC:
        yield "", 0, len(data)
    if data[: len(ARCHIVE_MAGIC)] != ARCHIVE_MAGIC:
        return
    for member in iter_members(data):
        if data[member.start : member.start + len(ELF_MAGIC)] == ELF_MAGIC:
            yield member.name, member.start, member.end


def read_each(
    data: bytes, read: Callable[[str, Object], Iterable[Found]], *, source: str
) -> list[tuple[int, Found]]:
    """Return all that ``read`` finds in the objects of a file, with where each object begins.

    ``read`` gets a member's name and its object; files of other kinds have none. Raises InputError
    for a damaged object or archive, and for objects with compact relocations.
    """
    view = memoryview(data)
    try:
        return [
            (start, found)
            for member, start, end in members(view)
            if (unit := _open_readable(bytes(view[start:end]), member, source))
            for found in read(member, unit)
        ]
    except (ValueError, LookupError, struct.error, OverflowError, MemoryError, TypeError):
        msg = f"{source}: a damaged object or archive"
        raise InputError(msg, hint="build it again") from None


def _read_branch(content: bytes, at: int, kind: int) -> int:
    ahead = _ARM_BRANCHES.get(kind)
    if ahead is None or at + 4 > len(content):
        return 0
    if ahead == 8:
        words = int.from_bytes(content[at : at + 3], "little")
        return ahead + 4 * (words - (words >> 23 << 24))
    return ahead + thumb_distance(*struct.unpack_from("<HH", content, at))


def thumb_distance(first: int, second: int) -> int:
    """Return how far a Thumb branch of 4 bytes without condition leads, from where it counts."""
    sign = first >> 10 & 1
    one = second >> 13 & 1
    two = second >> 11 & 1
    high = (one ^ sign ^ 1) << 23 | (two ^ sign ^ 1) << 22 | (first & 0x3FF) << 12
    return (high | (second & 0x7FF) << 1) - (sign << 24)


_TABLE = ".eh_frame"
_LENGTH_AT = 4
_NO_LENGTH = bytes(4)
_FIELDS = struct.Struct("<II")
_LONG = 0xFFFFFFFF
INDEX_OF_UNWINDING = 0x70000001
"""Kind of 32-bit Arm's sections of unwinding, ``.ARM.exidx``."""
_INDEX_BYTES = 8
_TO_FUNCTION = 42
"""The relocation of an entry's first word, R_ARM_PREL31."""
_CANNOT_UNWIND = (1).to_bytes(4, "little")


def remove_functions(
    unit: Object, symbols: Mapping[int, Symbol], sections: Container[int] | None
) -> Iterator[tuple[int, bytes]]:
    """Yield edits, offset and bytes, that remove the functions in these sections; None: all."""
    for at, filling in unit.relocated.items():
        table = unit.sections[at]
        if table.kind == INDEX_OF_UNWINDING:
            yield from _forbid_unwinding(unit, table, filling, symbols, sections)
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
                yield each.entry + unit.fields.info_at, unit.fields.nothing


def _forbid_unwinding(
    unit: Object,
    table: PlacedSection,
    filling: Sequence[int],
    symbols: Mapping[int, Symbol],
    sections: Container[int] | None,
) -> Iterator[tuple[int, bytes]]:
    """On 32-bit Arm an entry is two words: its function, and how to unwind it or where that is."""
    found = [each for number in filling for each in unit.relocations(unit.sections[number])]
    functions = {
        each.address: symbols.get(each.symbol)
        for each in found
        if each.kind == _TO_FUNCTION and each.address % _INDEX_BYTES == 0
    }
    removed = {
        at
        for at, target in functions.items()
        if at + _INDEX_BYTES <= table.file_bytes
        and (sections is None or (target is not None and target.section in sections))
    }
    for at in sorted(removed):
        yield table.offset + at + _INDEX_BYTES // 2, _CANNOT_UNWIND
    for each in found:
        own = each.kind == _TO_FUNCTION and each.address in removed
        if each.address - each.address % _INDEX_BYTES in removed and not own:
            yield each.entry + unit.fields.info_at, unit.fields.nothing


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
