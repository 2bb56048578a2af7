"""Cuts a linked program into the file that ships and its rest, which has the other addresses.

The linker laid it out by the script of :mod:`megtrim.core.functions.rest`. Behind the program's
own data lie the loader's table and the unwind tables, then deferred code, then deferred data. Of
the tables, the file keeps what its own functions and data need: of the loader's, bits instead of
most rows. The rest begins at the page with the header of the unwind tables' rows, which it
replaces. On 32-bit Arm, where those have no header, it begins at the page with the first row of a
deferred function. Pure.
"""

import hashlib
import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from megtrim.core.build_spec import REST_SUFFIX
from megtrim.core.functions.rest import (
    BLOCK_BYTES,
    CODE,
    DATA,
    ENTRIES,
    HINT,
    IMPORTS,
    INDEX,
    LATE_ROWS,
    ROOM_BYTES,
    ROWS,
)
from megtrim.libs.elf import loader_words, unwind_index, unwind_tables
from megtrim.libs.elf.layout import (
    ARM,
    DAMAGE,
    LOADED,
    NO_BITS,
    ElfLayout,
    PlacedSection,
    Segment,
    is_wide,
    parse_build_id,
    refuse,
)
from megtrim.libs.elf.loader_words import DividedWords
from megtrim.libs.elf.symbol_table import Function, FunctionTable
from megtrim.libs.util.errors import ProductFailure
from megtrim.libs.util.value import Value

_OWN = ".data.rel.ro"
_BSS = ".bss"
_DYNAMIC = ".dynamic"
_TABLE_MAGIC = b"megtrim: the table of a rest, 2\0"
_HEAD = struct.Struct("<16s40sQ")
_MAGIC = b"megtrim rest 2\n\0"
_NAME_BYTES = 63
_HASH_BYTES = 32
NO_REST = "it is not a file of deferred functions"
_ENTRY = struct.Struct("<II")
_INSTRUCTION_BYTES = 4
_THUMB_BYTES = 2
_READ_ONLY = 0x6474E552
_PAGE_BYTES = 4096
"""On 32-bit Arm. What a segment has behind its bytes of the file, not every kernel fills with zeros
in the page of these, if the program may not write there.
"""


_NO_SEGMENT = Segment(0, 0, 0, 0, 0, 0, 0, 0)


class _Form(NamedTuple):
    """What depends on how wide a machine's words are."""

    words: str
    """The loader's table."""
    rows_bytes: int
    relative_rows: int
    """Of that table, in the dynamic section."""
    pair: struct.Struct
    """A row of the dynamic section."""
    table: struct.Struct
    """Of a rest, up to its digests."""
    rows: str
    """How functions are unwound, by their addresses."""
    rows_segment: int


_FORM_64 = _Form(
    words=".rela.dyn",
    rows_bytes=8,
    relative_rows=0x6FFFFFF9,
    pair=struct.Struct("<QQ"),
    table=struct.Struct(f"<32s19Q64s64s{8 * IMPORTS}x"),
    rows=ROWS,
    rows_segment=0x6474E550,
)
_FORM_32 = _Form(
    words=".rel.dyn",
    rows_bytes=18,
    relative_rows=0x6FFFFFFA,
    pair=struct.Struct("<II"),
    table=struct.Struct(f"<32s19I64s64s{4 * IMPORTS}x"),
    rows=INDEX,
    rows_segment=0x70000001,
)


class CutProgram(Value):
    first: bytes
    rest: bytes


def cut(data: bytes, name: str, functions: FunctionTable, *, source: str) -> CutProgram:
    """Cut a linked file, stripped or not. Raises ProductFailure for one that the script did not
    lay out.
    """
    try:
        return _Cutter(data, name).cut(functions.functions)
    except (*DAMAGE, KeyError, StopIteration) as error:
        msg = f"{source}: its companion file cannot be split off: {error}"
        raise ProductFailure(msg, hint=HINT) from None


def _span(section: PlacedSection) -> range:
    return range(section.address, section.address + section.size_bytes)


def _align(address: int, to: int) -> int:
    return address + -address % to


class _Cutter:
    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._name = name
        self._layout = layout = ElfLayout(data)
        self._found = found = {each.name: each for each in layout.sections}
        self._form = _FORM_64 if layout.is_wide else _FORM_32
        self._word = loader_words.word_of(layout)
        self._code = found[CODE]
        self._words = found.get(self._form.words)
        self._rows = found.get(self._form.rows)
        between = range(found[_BSS].address + 1, self._code.address)
        behind = [each for each in (self._words, self._rows) if each and each.address in between]
        self._tail = min((*behind, self._code), key=lambda each: each.address)
        """The first section of those that are laid out again."""
        self._own = _span(found[_OWN]) if self._words in behind else range(0)
        self._late = _span(found[DATA])
        """Addresses of data whose words get bits: in this file, and in the rest."""
        self._image = bytearray()
        """What lies from the tail's address on, once the rest is there."""
        self._late_rows = range(0)
        """Addresses of rows that are zeros until then, and have no bytes in the file."""
        self._first = bytearray(data[: self._tail.offset])
        self._moved: dict[PlacedSection, range] = {}

    def cut(self, functions: Sequence[Function]) -> CutProgram:
        table = self._form.table
        word_bytes = self._word.size
        at = self._first.index(_TABLE_MAGIC)
        here = at - self._found[_OWN].offset + self._found[_OWN].address
        end_of_imports = here + table.size
        words = self._divide_words(range(end_of_imports - word_bytes * IMPORTS, end_of_imports))
        own_bits = self._tail.address + len(self._image)
        self._image += words.bits(self._own)
        self._first += self._image
        begin = self._divide_unwinding()
        align = self._find_segment(self._code.address)[1].alignment
        own_end = max(
            self._tail.address + len(self._first) - self._tail.offset, self._late_rows.stop
        )
        start = _align(own_end, align)
        begin = min(begin - begin % align, start)
        late_bits = _align(self._late.stop, word_bytes)
        rest = self._gather(begin, words, late_bits)
        # What lies behind the data is in another page.
        listed = _align(begin + len(rest), align)
        rest = rest.ljust(listed - begin, b"\0") + self._list(functions, begin, listed)
        starts = range(start - begin, len(rest), BLOCK_BYTES)
        blocks = [rest[: start - begin], *(rest[each : each + BLOCK_BYTES] for each in starts)]
        data = (self._late.start - start) // BLOCK_BYTES + 1
        behind = -((start - listed) // BLOCK_BYTES) + 1
        head = _HEAD.pack(_MAGIC, parse_build_id(self._data).encode(), len(rest))
        places = (here, begin, begin + len(rest), listed)
        divided = (start, BLOCK_BYTES, len(blocks), data, behind)
        own_words = (self._own.start, len(self._own) // word_bytes, own_bits)
        late_words = (self._late.start, len(self._late) // word_bytes, late_bits)
        name = f"{self._name}{REST_SUFFIX}".encode()[:_NAME_BYTES]
        filled = table.pack(
            _TABLE_MAGIC,
            *places,
            *divided,
            *own_words,
            *self._find_protected(),
            *late_words,
            self._late.start,
            listed,
            head,
            name,
        )
        digests = (hashlib.blake2b(each, digest_size=_HASH_BYTES) for each in blocks)
        filled += b"".join(each.digest() for each in digests)
        if any(self._first[at + len(_TABLE_MAGIC) : at + len(filled)]):
            refuse("the table of its rest is too small")
        self._first[at : at + len(filled)] = filled
        for address, value in words.added.items():
            self._word.pack_into(self._first, at + address - here, value)
        reserved = range(start, start + BLOCK_BYTES * len(starts))
        self._put_segments(reserved)
        self._append_sections(reserved)
        return CutProgram(first=bytes(self._first), rest=head + rest)

    def _list(self, functions: Sequence[Function], begin: int, listed: int) -> bytes:
        """Functions that share an instruction are not in the list. The lowest bit of a place says
        that its code is Thumb's.
        """
        thumb = {each.address for each in functions if each.thumb}
        entries = bytearray()
        before = begin
        for at, behind in pairwise((*sorted({each.address for each in functions}), listed)):
            shortest = _THUMB_BYTES if at in thumb else _INSTRUCTION_BYTES
            if at >= self._code.address and behind - at >= shortest:
                place = at + 1 if at in thumb else at
                entries += _ENTRY.pack(place - before & 0xFFFFFFFF, 0)
                before = place
        return bytes(entries)

    def _divide_words(self, imports: range) -> DividedWords:
        table = self._words
        own = self._found[_OWN]
        if table is None:
            return loader_words.leave_words(self._layout)
        words = loader_words.divide(self._layout, table, self._own, self._late, imports)
        counts = {self._form.relative_rows: words.relative}
        if table is self._tail:
            self._image += words.rows
            self._moved[table] = range(table.address, table.address + len(words.rows))
            counts[self._form.rows_bytes] = len(words.rows)
        else:  # rows of nothing keep its size
            rows = words.rows.ljust(table.size_bytes, b"\0")
            self._first[table.offset : table.offset + len(rows)] = rows
        for address, value in words.words.items():
            if address in self._own:
                self._word.pack_into(self._first, own.offset + address - own.address, value)
        if dynamic := self._found.get(_DYNAMIC):
            pair = self._form.pair
            for at in range(dynamic.offset, dynamic.offset + dynamic.file_bytes, pair.size):
                tag, value = pair.unpack_from(self._first, at)
                pair.pack_into(self._first, at, tag, counts.get(tag, value))
        return words

    def _divide_unwinding(self) -> int:
        """Return where what differs from one to the other begins, once the rest is there."""
        to = _align(self._tail.address + len(self._image), self._word.size)
        if self._layout.machine == ARM:
            return self._divide_index(to)
        return self._divide_unwind_tables(to)

    def _divide_index(self, to: int) -> int:
        rows = self._rows
        if rows is None or self._tail is self._code:
            return to
        index = unwind_index.divide(
            self._layout.content(rows), rows.address, to, self._code.address
        )
        gap = bytes(to - self._tail.address - len(self._image))
        begin = to + index.first_bytes
        end = to + len(index.image)
        own_end = min(_align(begin, _PAGE_BYTES), end)
        self._first += gap + index.image[: index.first_bytes] + bytes(own_end - begin)
        self._image += gap + index.image
        self._late_rows = range(own_end, end)
        late = self._found[LATE_ROWS]
        self._moved |= {rows: range(to, own_end), late: self._late_rows}
        return begin

    def _divide_unwind_tables(self, to: int) -> int:
        """Return where the header of their rows is."""
        rows = self._rows
        entries = self._found.get(ENTRIES)
        if rows is None or entries is None or self._tail is self._code:
            return to
        tables = unwind_tables.divide(
            self._layout.content(entries), entries.address, to, self._code.address
        )
        gap = bytes(to - self._tail.address - len(self._image))
        self._first += gap + tables.first
        self._image += gap + tables.image
        header = to + tables.header
        self._moved |= {entries: range(to, header), rows: range(header, to + tables.first_bytes)}
        return header

    def _gather(self, begin: int, words: DividedWords, late_bits: int) -> bytes:
        """Return what is in memory from ``begin`` on, once the rest is there."""
        room = self._code.address - self._tail.address
        room += 0 if self._layout.machine == ARM else ROOM_BYTES
        if len(self._image) > room:
            refuse(f"its tables take {len(self._image)} bytes, and there are {room}")
        deferred = (each for each in self._layout.sections if each.name in {CODE, DATA})
        parts = [(each.address, self._layout.content(each)) for each in deferred]
        parts.append((self._tail.address, bytes(self._image)))
        parts.append((late_bits, words.bits(self._late)))
        memory = bytearray(max(at + len(content) for at, content in parts) - begin)
        for at, content in parts:
            shown = content[max(0, begin - at) :]
            place = max(0, at - begin)
            memory[place : place + len(shown)] = shown
        for address, value in words.words.items():
            if address in self._late:
                self._word.pack_into(memory, address - begin, value)
        return bytes(memory)

    def _find_protected(self) -> tuple[int, int]:
        """Return first and last address of what the loader fills in and then protects."""
        found = [each for each in self._layout.segments if each.kind == _READ_ONLY and self._own]
        return next(((each.address, each.address + each.memory_bytes) for each in found), (0, 0))

    def _find_segment(self, address: int, kind: int = LOADED) -> tuple[int, Segment]:
        """Return where its header is, and what it says."""
        start, end = self._layout.segment_headers
        size_bytes = (end - start) // len(self._layout.segments)
        number, found = next(
            (number, segment)
            for number, segment in enumerate(self._layout.segments)
            if segment.kind == kind and 0 <= address - segment.address < segment.memory_bytes
        )
        return start + number * size_bytes, found

    def _put_segments(self, reserved: range) -> None:
        """One holds the tables that stay; the next one has the addresses that only the rest has."""
        # Code may share a segment with the tables before it.
        at, _ = self._find_segment(self._code.address)
        self._put(at, _NO_SEGMENT)
        if size_bytes := len(self._first) - self._tail.offset:
            at, tail = self._find_segment(self._tail.address)
            if tail.address != self._tail.address:
                refuse("its tables are not in a separate segment")
            end = max(tail.address + size_bytes, self._late_rows.stop)
            self._place(at, tail, range(tail.address, end), size_bytes)
        if self._rows and self._rows in self._moved:
            at, rows = self._find_segment(self._rows.address, self._form.rows_segment)
            moved = self._moved[self._rows]
            whole = range(moved.start, max(moved.stop, self._late_rows.stop))
            self._place(at, rows, whole, len(moved))
        at, late = self._find_segment(self._late.start)
        self._place(at, late._replace(flags=0), reserved, 0)

    def _place(self, at: int, segment: Segment, place: range, size_bytes: int) -> None:
        moved = segment._replace(
            offset=self._offset(place.start) if size_bytes else 0,
            address=place.start,
            physical=place.start,
            size_bytes=size_bytes,
            memory_bytes=len(place),
        )
        self._put(at, moved)

    def _put(self, at: int, segment: Segment) -> None:
        header = self._layout.pack_segment(segment)
        self._first[at : at + len(header)] = header

    def _offset(self, address: int) -> int:
        return self._tail.offset + address - self._tail.address

    def _append_sections(self, reserved: range) -> None:
        """What lies behind the deferred code stays: names, symbols, the headers of sections.

        Sections fill what is reserved: tools that strip a file make its segments as large as these.
        """
        places = {
            CODE: range(reserved.start, self._late.start),
            DATA: range(self._late.start, reserved.stop),
        }
        headers = []
        for number, each in enumerate(self._layout.sections):
            raw = self._layout.unpack_section(number)
            if place := places.get(each.name):
                raw[1] = NO_BITS
                raw[3:6] = place.start, len(self._first), len(place)
            elif each in self._moved:
                start = self._moved[each].start
                raw[3:6] = start, self._offset(start), len(self._moved[each])
                if each.name == LATE_ROWS:
                    raw[1] = NO_BITS
            elif each.offset > self._code.offset and not each.in_memory:
                self._first += bytes(-len(self._first) % max(each.alignment, 1))
                raw[4] = len(self._first)
                self._first += self._layout.content(each)
            headers.append(self._layout.pack_section(raw))
        self._first += bytes(-len(self._first) % 8)
        self._word.pack_into(self._first, self._layout.sections_at, len(self._first))
        self._first += b"".join(headers)


def defers(first: bytes) -> bool:
    """Return whether a linked file has the table of a rest."""
    return _TABLE_MAGIC in first


def find_mismatch(first: bytes, rest: bytes, *, name: str) -> str:
    """Return why ``rest`` is not what was cut off from ``first``; empty: it is, byte for byte.

    ``name`` is that of ``first``. The table in it has a digest of each block.
    """
    at = first.find(_TABLE_MAGIC)
    form = _FORM_64 if is_wide(first) else _FORM_32
    table = form.table
    if at < 0 or first.find(_TABLE_MAGIC, at + 1) >= 0 or len(first) < at + table.size:
        return f"{name} has no table of a rest, or more than one"
    fields = table.unpack_from(first, at)
    head = fields[20]
    own_name = fields[21].rstrip(b"\0")
    build_id = parse_build_id(first).encode()
    if not rest.startswith(head[: len(_MAGIC)]):
        return NO_REST
    if not rest.startswith(head) or head[len(_MAGIC) :][:40] != build_id[:40].ljust(40, b"\0"):
        return f"it is from another build than {name}"
    if own_name != f"{name}{REST_SUFFIX}".encode()[:_NAME_BYTES]:
        return f"{name} looks for a rest of another name"
    return _compare_blocks(fields, first[at + table.size :], rest[len(head) :], name)


def _compare_blocks(fields: Sequence[int], digests: bytes, body: bytes, name: str) -> str:
    """``fields``: of the table; ``body``: of the rest, behind its head."""
    start, end, code, block_bytes, blocks = (fields[number] for number in (2, 3, 5, 6, 7))
    if len(body) != end - start:
        return f"it has {len(body):,} bytes of functions and data, expected {end - start:,}"
    if not (start <= code <= end and block_bytes):
        return f"{name} has a damaged table of its rest"
    begins = range(code - start, len(body), block_bytes)
    if len(begins) + 1 != blocks:
        return f"{name} has a damaged table of its rest"
    for number in range(blocks):
        begin = begins[number - 1] if number else 0
        end_of_block = begin + block_bytes if number else code - start
        digest = hashlib.blake2b(body[begin:end_of_block], digest_size=_HASH_BYTES).digest()
        if digest != digests[_HASH_BYTES * number :][:_HASH_BYTES]:
            return f"its block {number + 1} of {blocks} has other bytes than were linked"
    return ""
