"""Deferred functions: out of a linked program into its rest, at the addresses that they had.

Their sections get another name in copies of the objects, so that a script of the linker places them
behind everything else, after the unwind tables. The file is cut there. A runtime (``rest.c``) takes
the rest in, block by block, where the program reaches it. Pure: bytes in, bytes out.
"""

import hashlib
import struct
from bisect import bisect_left
from collections.abc import Collection, Sequence
from importlib.resources import files as package_files
from itertools import pairwise

from megtrim.build_spec import REST_SUFFIX
from megtrim.elf import unwind_tables
from megtrim.elf.layout import (
    ALLOCATED,
    DAMAGE,
    EXECUTED,
    LOADED,
    NO_BITS,
    PROGBITS,
    SYMBOL_TABLE,
    WRITTEN,
    ElfLayout,
    PlacedSection,
    Segment,
    parse_build_id,
    refuse,
)
from megtrim.elf.objects import RELOCATIONS_WITH_ADDENDS, Object, members, open_object
from megtrim.elf.symbol_names import brief
from megtrim.elf.symbol_table import FunctionTable
from megtrim.util.errors import InputError, ProductFailure
from megtrim.util.value import Value

RUNTIME = (package_files("megtrim.functions") / "rest.c").read_text("utf-8")
SCRIPT = """SECTIONS {
  .eh_frame_hdr ALIGN(CONSTANT(MAXPAGESIZE)) +
      ((. - SIZEOF(.bss)) & (CONSTANT(MAXPAGESIZE) - 1)) : { *(.eh_frame_hdr) }
  .eh_frame : { KEEP(*(.eh_frame)) }
  .megtrim_rest ALIGN(CONSTANT(MAXPAGESIZE)) : {
    . += 64;
    *(.restexcept_table.*) *(.rest .rest.*)
  }
} INSERT AFTER .bss;
"""
"""The tables begin in their page where the file's data ends: a linker need not fill it up."""
EXPORT = "VERSION { { global: megtrim_rest; }; }\n"
"""Behind the script for a shared object, whose own version script may hide all names that it does
not know. GNU ld takes no second one.
"""
_ROOM_BYTES = 64
"""Before the deferred code, for what the unwind tables need beyond what they had."""
_SECTION, _ROWS, _ENTRIES = ".megtrim_rest", ".eh_frame_hdr", ".eh_frame"
_MARK = b".rest"
_CODE, _EXCEPTIONS = ".text", ".gcc_except_table"
BLOCK_BYTES = 65_536
_WRAPPED = ("sigaction", "sigprocmask", "pthread_sigmask", "signal")
_OURS = "megtrim_rest"
_TABLE_MAGIC = b"megtrim: the table of a rest, 1\0"
_HEAD = struct.Struct("<16s40sQ")
_MAGIC = b"megtrim rest 1\n\0"
_TABLE = struct.Struct("<32s7Q64s64s")
_NAME_BYTES = 63
_ENTRY, _INSTRUCTION_BYTES = struct.Struct("<II"), 4
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
_NUMBER, _PLACE = struct.Struct("<I"), struct.Struct("<Q")
_SEGMENTS_AT, _SECTIONS_AT = 32, 40
_FUNCTION, _SYMBOL_BYTES, _HASH_BYTES = 2, 24, 32
_UNWIND_ROWS = 0x6474E550
IDENTITY = hashlib.sha256(f"{RUNTIME}{SCRIPT}{EXPORT}".encode()).hexdigest()
"""Of how a program gets at its rest."""
_HINT = "this linker cannot place functions as megtrim needs it: trim.level: function"


class CutProgram(Value):
    first: bytes
    rest: bytes


def sources(untrimmed_bytes: int) -> tuple[tuple[str, str], ...]:
    """``untrimmed_bytes``: of the stripped unfolded link, which no rest exceeds."""
    blocks = untrimmed_bytes // BLOCK_BYTES + 4
    return (("megtrim_rest.c", f"#define MEGTRIM_BLOCKS {blocks}\n{RUNTIME}"),)


def flags(*, shared: bool) -> tuple[str, ...]:
    """A shared object is never unloaded: faults need the handler that is in it."""
    wraps = tuple(f"-Wl,--wrap={name}" for name in _WRAPPED)
    wraps += tuple(f"-Wl,--undefined={name}" for name in _WRAPPED if name != "signal")
    return (*wraps, "-Wl,-z,nodelete") if shared else wraps


def edits(data: bytes, names: Collection[str], *, source: str) -> list[tuple[int, bytes]]:
    """Return the edits that rename the sections of the functions in a copy of ``data``.

    A section is renamed if all functions in it are among ``names``. Raises InputError for a damaged
    object or archive.
    """
    view = memoryview(data)
    try:
        return [
            (start + at, _MARK)
            for start, end in members(view)
            for at in _find_names(bytes(view[start:end]), names)
        ]
    except DAMAGE:
        msg = f"{source}: a damaged object or archive"
        raise InputError(msg, hint="build it again") from None


def _find_names(data: bytes, names: Collection[str]) -> list[int]:
    """Return where the names of deferred sections begin, unless something else shares the bytes."""
    unit = open_object(data)
    if unit is None or unit.section_names is None:
        return []
    moved = _find_deferred(unit, names)
    texts, symbols = unit.section_names, unit.find_table(SYMBOL_TABLE)
    users = [
        (_NUMBER.unpack_from(data, unit.header_at(at))[0], at in moved or _fills(each, moved))
        for at, each in enumerate(unit.sections)
    ]
    if symbols and unit.symbol_names == texts:
        entries = range(symbols.offset, symbols.offset + symbols.size_bytes, _SYMBOL_BYTES)
        users += [(_NUMBER.unpack_from(data, at)[0], False) for at in entries]
    users.sort()
    content, found = unit.content(texts), []
    for at in sorted(moved):
        (place,) = _NUMBER.unpack_from(data, unit.header_at(at))
        begin = bisect_left(users, (content.rfind(b"\0", 0, place) + 1, False))
        end = bisect_left(users, (place + len(_MARK), False))
        if all(ours for _, ours in users[begin:end]):
            found.append(texts.offset + place)
    return found


def _find_deferred(unit: Object, names: Collection[str]) -> set[int]:
    functions: dict[int, list[str]] = {}
    for symbol in unit.find_symbols().values():
        if symbol.kind == _FUNCTION:
            functions.setdefault(symbol.section, []).append(symbol.name)
    moved = {
        at
        for at, held in functions.items()
        if _is_code(unit.sections[at]) and all(name in names for name in held)
    }
    own = {unit.sections[at].name.removeprefix(_CODE) for at in moved}
    for at, each in enumerate(unit.sections):
        name = each.name.removeprefix(_EXCEPTIONS)
        if name != each.name and name in own - {""}:
            moved.add(at)
    return moved


def _is_code(section: PlacedSection) -> bool:
    code = ALLOCATED | EXECUTED
    named = f"{section.name}.".startswith(f"{_CODE}.")
    return named and section.kind == PROGBITS and section.flags & (code | WRITTEN) == code


def _fills(section: PlacedSection, moved: Collection[int]) -> bool:
    return section.kind == RELOCATIONS_WITH_ADDENDS and section.info in moved


def prove(
    before: FunctionTable,
    after: FunctionTable,
    deferred: Collection[str],
    place: range,
    *,
    source: str,
) -> None:
    """Compare the unfolded link with the one whose functions ``deferred`` lie in ``place``.

    Raises ProductFailure.
    """
    held = {each.name for each in after.functions if each.address in place}
    new = {each for each in after.exported - before.exported if not each.startswith(_OURS)}
    expected = before.registrations
    for wrong, problem in (
        (held - {*deferred}, "functions that are to stay lie in the rest"),
        (before.exported - after.exported, "names are no longer exported"),
        (new, "names became exported"),
        (() if held else deferred, "functions that are to be deferred are still there"),
        (() if after.registrations >= expected else ("main",), "less is called before main"),
    ):
        if wrong:
            msg = f"{source}: its functions cannot be deferred: {problem}, {brief(min(wrong))}"
            raise ProductFailure(msg, hint=_HINT)


def find_place(data: bytes, *, source: str) -> range:
    """Return the addresses of what is deferred in a linked file."""
    try:
        section = next(each for each in ElfLayout(data).sections if each.name == _SECTION)
    except (*DAMAGE, StopIteration):
        msg = f"{source}: nothing was deferred"
        raise ProductFailure(msg, hint=_HINT) from None
    return range(section.address, section.address + section.size_bytes)


def cut(data: bytes, name: str, functions: FunctionTable, *, source: str) -> CutProgram:
    """Cut a linked file, stripped or not. Raises ProductFailure for one that the script did not
    lay out.
    """
    try:
        return _Cutter(data, name).cut(sorted({each.address for each in functions.functions}))
    except (*DAMAGE, KeyError, StopIteration) as error:
        msg = f"{source}: its rest cannot be cut off: {error}"
        raise ProductFailure(msg, hint=_HINT) from None


class _Cutter:
    """The linked file, and what becomes of it.

    At its end lie the unwind tables, if there are any, and the deferred code. The first functions'
    tables stay; the rest begins at the page with the header of the tables' rows, which it replaces.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self._data, self._name = data, name
        self._layout = ElfLayout(data)
        found = {each.name: each for each in self._layout.sections}
        self._code, self._rows = found[_SECTION], found.get(_ROWS)
        self._entries = found[_ENTRIES] if self._rows else None
        self._tables: unwind_tables.DividedTables | None = None
        self._first = bytearray(data[: self._code.offset])
        self._memory = bytearray(self._layout.content(self._code))
        self._begin = self._start = self._code.address
        """Address of the rest's first byte, and of the first one that only the rest has."""

    def cut(self, functions: Sequence[int]) -> CutProgram:
        """``functions``: where they begin, sorted."""
        load, segment = self._find_segment(self._code.address)
        if self._rows and self._entries:
            self._divide_tables(self._rows, self._entries, segment.alignment)
        listed = self._append_list(functions)
        end = self._begin + len(self._memory)
        reserved = -(-(end - self._start) // BLOCK_BYTES) * BLOCK_BYTES
        self._put_segment(load, LOADED, 0, 0, self._start, 0, reserved, segment.alignment)
        head = _HEAD.pack(_MAGIC, parse_build_id(self._data).encode(), end - self._begin)
        self._fill_table(head, listed, end)
        self._append_sections()
        return CutProgram(first=bytes(self._first), rest=head + bytes(self._memory))

    def _append_list(self, functions: Sequence[int]) -> int:
        """Return its address. Functions that share an instruction are not in it."""
        self._memory += bytes(-len(self._memory) % _INSTRUCTION_BYTES)
        listed, before = self._begin + len(self._memory), self._begin
        for at, behind in pairwise((*functions, listed)):
            if at >= self._code.address and behind - at >= _INSTRUCTION_BYTES:
                self._memory += _ENTRY.pack(at - before, 0)
                before = at
        return listed

    def _divide_tables(self, rows: PlacedSection, entries: PlacedSection, align: int) -> None:
        room = self._code.address - rows.address
        self._tables = tables = unwind_tables.divide(
            self._layout.content(entries), entries.address, rows.address, self._code.address
        )
        if len(tables.image) > room + _ROOM_BYTES:
            refuse(f"its unwind tables take {len(tables.image)} bytes, and there are {room}")
        whole = bytearray(room) + self._memory
        whole[: len(tables.image)] = tables.image
        head, end = rows.address + tables.header, rows.address + tables.first_bytes
        self._begin, self._start = head - head % align, end + -end % align
        behind = self._begin - rows.address
        self._memory = bytearray(max(0, -behind)) + whole[max(0, behind) :]
        self._first = self._first[: rows.offset] + tables.first
        load, segment = self._find_segment(rows.address)
        size_bytes = tables.first_bytes
        self._put_segment(load, LOADED, segment.flags, rows.offset, rows.address, size_bytes)
        at, _ = self._find_segment(rows.address, _UNWIND_ROWS)
        offset, size_bytes = rows.offset + tables.header, tables.first_bytes - tables.header
        self._put_segment(at, _UNWIND_ROWS, segment.flags, offset, head, size_bytes, align=4)

    def _find_segment(self, address: int, kind: int = LOADED) -> tuple[int, Segment]:
        """Return where its header is, and what it says."""
        (start,) = _PLACE.unpack_from(self._data, _SEGMENTS_AT)
        return next(
            (start + number * _SEGMENT.size, each)
            for number, each in enumerate(self._layout.segments)
            if each.kind == kind and 0 <= address - each.address < each.memory_bytes
        )

    def _put_segment(
        self,
        at: int,
        kind: int,
        flags: int,
        offset: int,
        address: int,
        size_bytes: int,
        memory_bytes: int = 0,
        align: int = 0,
    ) -> None:
        align = align or self._find_segment(self._code.address)[1].alignment
        sizes = (size_bytes, memory_bytes or size_bytes)
        _SEGMENT.pack_into(self._first, at, kind, flags, offset, address, address, *sizes, align)

    def _fill_table(self, head: bytes, listed: int, end: int) -> None:
        at = self._first.index(_TABLE_MAGIC)
        here = next(
            at - each.offset + each.address
            for each in self._layout.segments
            if each.kind == LOADED and 0 <= at - each.offset < each.size_bytes
        )
        alone = self._start - self._begin
        starts = (0, *range(alone, len(self._memory), BLOCK_BYTES))
        ends = (*starts[1:], len(self._memory))
        file = f"{self._name}{REST_SUFFIX}".encode()[:_NAME_BYTES]
        places = (here, self._begin, end, listed, self._start, BLOCK_BYTES, len(starts))
        _TABLE.pack_into(self._first, at, _TABLE_MAGIC, *places, head, file)
        for number, (start, stop) in enumerate(zip(starts, ends, strict=True)):
            place = at + _TABLE.size + number * _HASH_BYTES
            if any(self._first[place : place + _HASH_BYTES]):
                refuse("the table of its rest is too small")
            digest = hashlib.blake2b(self._memory[start:stop], digest_size=_HASH_BYTES).digest()
            self._first[place : place + _HASH_BYTES] = digest

    def _append_sections(self) -> None:
        """What lies behind the deferred code stays: names, symbols, the headers of sections."""
        headers = []
        for number, each in enumerate(self._layout.sections):
            raw = [*_SECTION_HEADER.unpack_from(self._data, self._layout.header_at(number))]
            if each is self._code:
                raw[1], raw[4] = NO_BITS, len(self._first)
            elif self._tables and self._rows and each in {self._rows, self._entries}:
                rows, header = self._rows, self._tables.header
                start = header if each is rows else 0
                end = self._tables.first_bytes if each is rows else header
                raw[3:6] = rows.address + start, rows.offset + start, end - start
            elif each.offset > self._code.offset and not each.in_memory:
                self._first += bytes(-len(self._first) % max(each.alignment, 1))
                raw[4] = len(self._first)
                self._first += self._layout.content(each)
            headers.append(_SECTION_HEADER.pack(*raw))
        self._first += bytes(-len(self._first) % 8)
        _PLACE.pack_into(self._first, _SECTIONS_AT, len(self._first))
        self._first += b"".join(headers)
