"""Which place of a linked file refers to which address: by its relocations, or by its machine code.

A linker called with ``--emit-relocs`` leaves every relocation. Without it, only the loader's are
there, and instructions are read: on x86-64 every byte could begin one, so some references are none.
There are millions, so arrays hold them. What is damaged raises ValueError or IndexError. Pure.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megtrim.libs.elf.layout import (
    AARCH64,
    ARM,
    DYNAMIC_SYMBOLS,
    EXECUTED,
    NO_BITS,
    RELATIVE,
    SYMBOL_TABLE,
    X86_64,
    ElfLayout,
    PlacedSection,
    refuse,
)
from megtrim.libs.elf.objects import BEHIND_THE_PLACE, INDEX_OF_UNWINDING, RELOCATIONS_WITH_ADDENDS

Addresses = NDArray[np.int64]

RELOCATIONS = 9
THREAD_LOCAL = 0x400
_ENTRIES_64 = np.dtype([("place", "<u8"), ("info", "<u8"), ("addend", "<i8")])
_ENTRIES_32 = np.dtype([("place", "<u4"), ("info", "<u4"), ("addend", "<i4")])
_BARE_64 = np.dtype([("place", "<u8"), ("info", "<u8")])
_BARE_32 = np.dtype([("place", "<u4"), ("info", "<u4")])
_SYMBOLS_64 = np.dtype(
    [
        ("name", "<u4"),
        ("info", "u1"),
        ("other", "u1"),
        ("section", "<u2"),
        ("value", "<u8"),
        ("size", "<u8"),
    ]
)
_SYMBOLS_32 = np.dtype(
    [
        ("name", "<u4"),
        ("value", "<u4"),
        ("size", "<u4"),
        ("info", "u1"),
        ("other", "u1"),
        ("section", "<u2"),
    ]
)
_SECTION = 3
_THREAD_LOCAL_SYMBOL = 6
_FUNCTION = 2
_UNDEFINED = 0
_FIRST_RESERVED = 0xFF00
_EXTENDED = 0xFFFF
_WORDS = (2, 38)
"""Arm's relocations whose place holds the address itself."""


class References(NamedTuple):
    places: Addresses
    targets: Addresses


def read_emitted(layout: ElfLayout) -> References | None:
    tables = [table for table in _list_tables(layout) if not table.in_memory and table.info]
    parts = [_read_table(layout, table) for table in tables]
    return join_references(parts) if parts else None


def read_dynamic(layout: ElfLayout) -> References:
    tables = [table for table in _list_tables(layout) if table.in_memory]
    return join_references([_read_table(layout, table) for table in tables])


def read_guessed(layout: ElfLayout) -> References:
    """Return what code and pointers refer to, in a file without the linker's relocations."""
    return join_references([read_code(layout), read_dynamic(layout)])


def iter_dynamic_places(layout: ElfLayout) -> Iterator[tuple[PlacedSection, int, Addresses]]:
    for table in _list_tables(layout):
        if table.in_memory:
            entries = _read_entries(layout, table)
            yield table, entries.dtype.itemsize, entries["place"].astype(np.int64)


def _list_tables(layout: ElfLayout) -> Iterator[PlacedSection]:
    for section in layout.sections:
        if section.kind in {RELOCATIONS_WITH_ADDENDS, RELOCATIONS}:
            yield section


def join_references(parts: Sequence[References]) -> References:
    if not parts:
        nothing = np.zeros(0, dtype=np.int64)
        return References(nothing, nothing)
    return References(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _read_entries(layout: ElfLayout, table: PlacedSection) -> NDArray[np.void]:
    with_addends = table.kind == RELOCATIONS_WITH_ADDENDS
    if layout.is_wide:
        kind = _ENTRIES_64 if with_addends else _BARE_64
    else:
        kind = _ENTRIES_32 if with_addends else _BARE_32
    content = layout.content(table)
    return np.frombuffer(content[: len(content) // kind.itemsize * kind.itemsize], kind)


def _read_table(layout: ElfLayout, table: PlacedSection) -> References:
    entries = _read_entries(layout, table)
    places = entries["place"].astype(np.int64)
    info = entries["info"].astype(np.int64)
    shift = 32 if layout.is_wide else 8
    indices = info >> shift
    kinds = info & ((1 << shift) - 1)
    symbols = _read_symbols(layout, table)
    if len(indices) and int(indices.max()) >= max(len(symbols), 1):
        refuse("a relocation of a symbol that is not there")
    addends, known = _find_addends(layout, table, entries, kinds)
    relative = kinds == RELATIVE.get(layout.machine, -1)
    if not len(symbols):
        targets = addends
        usable = relative & known
        return References(places[usable], targets[usable])
    chosen = symbols[indices]
    values = _find_values(layout, chosen)
    form = chosen["info"] & 15
    near = chosen["section"].astype(np.int64)
    placed = (near != _UNDEFINED) & ((near < _FIRST_RESERVED) | (near == _EXTENDED))
    behind = np.isin(kinds, BEHIND_THE_PLACE) if layout.machine == X86_64 else kinds < 0
    whole_section = form == _SECTION
    targets = values + np.where(whole_section, addends + np.where(behind, 4, 0), 0)
    targets = np.where(relative, addends, targets)
    usable = (placed & (~whole_section | known)) | (relative & known)
    return References(places[usable], targets[usable])


def _find_values(layout: ElfLayout, symbols: NDArray[np.void]) -> Addresses:
    """Return the address of each symbol; that of what each thread has is in its template."""
    values: Addresses = symbols["value"].astype(np.int64)
    form = symbols["info"] & 15
    if layout.machine == ARM:
        values = np.where(form == _FUNCTION, values & ~1, values)
    first = min((e.address for e in layout.sections if e.flags & THREAD_LOCAL), default=0)
    return np.where(form == _THREAD_LOCAL_SYMBOL, values + first, values)


def _find_addends(
    layout: ElfLayout, table: PlacedSection, entries: NDArray[np.void], kinds: NDArray[np.int64]
) -> tuple[Addresses, NDArray[np.bool_]]:
    """Return the addends, and which are known: without a field, whole addresses in data."""
    if table.kind == RELOCATIONS_WITH_ADDENDS:
        return entries["addend"].astype(np.int64), np.ones(len(entries), dtype=bool)
    words = np.zeros(len(entries), dtype=np.int64)
    wanted = np.isin(kinds, (*_WORDS, RELATIVE.get(layout.machine, -1)))
    width = 8 if layout.is_wide else 4
    for at in np.flatnonzero(wanted).tolist():
        content = layout.at_address(int(entries["place"][at]), width)
        words[at] = int.from_bytes(content, "little")
        wanted[at] = len(content) == width
    if layout.machine == ARM and not table.in_memory:
        # The whole address is there, not a distance from the section's first byte.
        symbols = _read_symbols(layout, table)
        shift = 32 if layout.is_wide else 8
        words -= symbols[entries["info"].astype(np.int64) >> shift]["value"].astype(np.int64)
    return words, wanted


def _read_symbols(layout: ElfLayout, table: PlacedSection) -> NDArray[np.void]:
    kind = _SYMBOLS_64 if layout.is_wide else _SYMBOLS_32
    if not 0 < table.link < len(layout.sections):
        return np.zeros(0, dtype=kind)
    found = layout.sections[table.link]
    if found.kind not in {SYMBOL_TABLE, DYNAMIC_SYMBOLS}:
        return np.zeros(0, dtype=kind)
    content = layout.content(found)
    return np.frombuffer(content[: len(content) // kind.itemsize * kind.itemsize], kind)


_PAGE = 0xFFF
_WITHIN = 6


def read_code(layout: ElfLayout) -> References:
    how = {AARCH64: _read_aarch64, X86_64: _read_x86_64}.get(layout.machine)
    return join_references(
        [
            how(layout.content(section), section)
            for section in layout.sections
            if how and section.in_memory and section.flags & EXECUTED and section.kind != NO_BITS
        ]
    )


def _read_aarch64(content: bytes, section: PlacedSection) -> References:
    words = np.frombuffer(content[: len(content) & ~3], "<u4").astype(np.int64)
    places = section.address + 4 * np.arange(len(words), dtype=np.int64)
    branches = words & 0x7C000000 == 0x14000000
    targets = places[branches] + 4 * _sign(words[branches] & 0x3FFFFFF, 26)
    found = [References(places[branches], targets)]
    near = words & 0x9F000000 == 0x10000000  # adr
    distance = (words >> 5 & 0x7FFFF) << 2 | words >> 29 & 3
    found.append(References(places[near], places[near] + _sign(distance[near], 21)))
    pages = words & 0x9F000000 == 0x90000000  # adrp
    base = (places & ~_PAGE) + (_sign(distance, 21) << 12)
    register = words & 31
    for behind in range(1, _WITHIN + 1):
        ahead = np.roll(words, -behind)
        ahead[-behind:] = 0
        same = pages & (ahead >> 5 & 31 == register)
        added = same & (ahead & 0xFFC00000 == 0x91000000)
        found.append(References(places[added], base[added] + (ahead[added] >> 10 & _PAGE)))
        loaded = same & (ahead & 0x3B000000 == 0x39000000)
        scale = ahead >> 30 & 3
        offset = (ahead >> 10 & _PAGE) << scale
        found.append(References(places[loaded], base[loaded] + offset[loaded]))
    return join_references(found)


def _read_x86_64(content: bytes, section: PlacedSection) -> References:
    octets = np.frombuffer(content, "u1").astype(np.int64)
    count = len(octets) - 5
    if count <= 0:
        return join_references([])
    one = octets[:count]
    two = octets[1 : count + 1]
    calls = (one & 0xFE == 0xE8) | ((one == 0x0F) & (two & 0xF0 == 0x80))
    # An operand relative to the instruction's end, where no constant follows it.
    operands = (two & 0xC7 == 5) & np.isin(one, (0x8D, 0x8B, 0x89, 0xFF, 0x3B, 0x39, 0x03, 0x63))
    found = []
    for chosen, behind in ((calls, np.where(one == 0x0F, 2, 1)), (operands, one * 0 + 2)):
        at = np.flatnonzero(chosen)
        place = at + behind[at]
        inside = place + 4 <= len(octets)
        at = at[inside]
        place = place[inside]
        raw = octets[place] | octets[place + 1] << 8 | octets[place + 2] << 16
        raw |= octets[place + 3] << 24
        targets = section.address + place + 4 + _sign(raw, 32)
        found.append(References(section.address + at, targets))
    return join_references(found)


def _sign(values: Addresses, bits: int) -> Addresses:
    return values - ((values >> (bits - 1) & 1) << bits)


TABLE = ".eh_frame"
_FIELDS = struct.Struct("<II")
_LONG = 0xFFFFFFFF
_PC_RELATIVE = 0x10
_INDIRECT = 0x80
_NONE = 0xFF
_FORMS = {0x2: "<H", 0x3: "<I", 0x4: "<Q", 0xA: "<h", 0xB: "<i", 0xC: "<q"}
"""Numbers of a fixed size, by the lower half of an encoding."""
_MOST_DIGITS = 10
_LETTERS_AT = 9


class UnwindEntry(NamedTuple):
    function: int
    size_bytes: int
    refers_to: tuple[int, ...]
    """Addresses of its table of exceptions, and of the routine or the place that names it."""


class _Common(NamedTuple):
    function: int
    """How an entry encodes the address of its function."""
    exceptions: int
    routine: tuple[int, ...]
    sized: bool


def iter_entries(layout: ElfLayout) -> Iterator[UnwindEntry]:
    for section in layout.sections:
        if section.name == TABLE and section.in_memory:
            yield from _Table(layout, section).entries()
        elif section.kind == INDEX_OF_UNWINDING:
            yield from _read_index(layout, section)


def _read_index(layout: ElfLayout, section: PlacedSection) -> Iterator[UnwindEntry]:
    """On 32-bit Arm an entry is two words: its function, and how to unwind it or where that is."""
    content = layout.content(section)
    pairs = struct.iter_unpack("<II", content[: len(content) & ~7])
    for place, (function, how) in enumerate(pairs):
        at = section.address + 8 * place
        table = () if how >> 31 or how == 1 else (_behind(at + 4, how),)
        yield UnwindEntry(_behind(at, function) & ~1, 8, table)


def _behind(place: int, distance: int) -> int:
    """Return the address at a distance of 31 bits."""
    return place + (distance & 0x7FFFFFFF) - (distance << 1 & 1 << 31)


class _Table:
    def __init__(self, layout: ElfLayout, section: PlacedSection) -> None:
        self._content = layout.content(section)
        self._address = section.address
        self._word = "<Q" if layout.is_wide else "<I"

    def entries(self) -> Iterator[UnwindEntry]:
        known: dict[int, _Common | None] = {}
        at = 0
        while at + _FIELDS.size <= len(self._content):
            size_bytes, back = _FIELDS.unpack_from(self._content, at)
            end = at + 4 + size_bytes
            if size_bytes in {0, _LONG} or end > len(self._content):
                at += 4  # the end of one object's entries, with others after it
                continue
            if back:
                first = at + 4 - back
                if first not in known:
                    known[first] = self._read_common(first)
                if (common := known[first]) is not None:
                    yield from self._read_entry(at, end, common)
            at = end

    def _read_entry(self, at: int, end: int, common: _Common) -> Iterator[UnwindEntry]:
        function, place = self._number(at + _FIELDS.size, end, common.function)
        _, place = self._number(place, end, common.function)
        if function is None or place >= end:
            return
        found = common.routine
        if common.sized and common.exceptions != _NONE:
            raw = self._content[self._skip_number(place, end) :][:8]
            exceptions, _ = self._number(self._skip_number(place, end), end, common.exceptions)
            if exceptions is not None and any(raw):
                found = (exceptions, *found)
        yield UnwindEntry(function, end - at, found)

    def _read_common(self, at: int) -> _Common | None:
        """Read what entries have in common; None: damaged, or of a kind that no compiler writes."""
        if at < 0 or at + _LETTERS_AT > len(self._content):
            return None
        size_bytes, back = _FIELDS.unpack_from(self._content, at)
        end = at + 4 + size_bytes
        if back or end > len(self._content):
            return None
        letters_end = self._content.find(b"\0", at + _LETTERS_AT, end)
        if letters_end < 0:
            return None
        letters = self._content[at + _LETTERS_AT : letters_end]
        place = letters_end + 1
        for _ in range(4):  # two alignments, a register, and the size of what follows
            place = self._skip_number(place, end)
        function = 0
        exceptions = _NONE
        routine: tuple[int, ...] = ()
        for letter in letters[1:]:
            if place >= end:
                return None
            encoding = self._content[place]
            place = place + 1
            if letter == ord("R"):
                function = encoding
            elif letter == ord("L"):
                exceptions = encoding
            elif letter == ord("P"):
                address, place = self._number(place, end, encoding)
                routine = () if address is None else (address,)
            else:
                place -= 1  # a letter without a value: of a signal handler, or of a key
        return _Common(function, exceptions, routine, letters.startswith(b"z"))

    def _number(self, place: int, end: int, encoding: int) -> tuple[int | None, int]:
        form = self._word if encoding & 0xF == 0 else _FORMS.get(encoding & 0xF)
        if form is None or encoding == _NONE or place + struct.calcsize(form) > end:
            return None, end
        (value,) = struct.unpack_from(form, self._content, place)
        relative = encoding & ~_INDIRECT & 0x70 == _PC_RELATIVE
        after = place + struct.calcsize(form)
        return int(value) + (self._address + place if relative else 0), after

    def _skip_number(self, at: int, end: int) -> int:
        """Return the offset after a number whose bytes have 7 bits each."""
        for place in range(at, min(at + _MOST_DIGITS, end)):
            if self._content[place] < 0x80:
                return place + 1
        return end
