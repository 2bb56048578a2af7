"""A trimmed program as crashes are looked up in it: what ships, its symbols, what was left out.

Pure: bytes in, values out.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from megtrim.crashes.left_out import LeftOutFunctions
from megtrim.elf.layout import EXECUTABLE, LOADED, Segment, parse_build_id, segments
from megtrim.elf.symbol_table import FunctionTable, parse_table
from megtrim.functions.calls import Disassembly, parse_code

_TYPE_AT, _FIXED = 16, 2
_MACHINE_AT, _AARCH64 = 18, 183
_BRK_MASK, _BRK = 0xFFE0001F, 0xD4200000
_X86_TRAPS = re.compile(rb"\x0f[\x0b\xb9]")
"""``ud2`` and ``ud1``."""
_PAGE_BYTES = 4096
_PACKED = b"APS2"
"""Begins relocations that Android packs: addresses in data cannot be read then."""


@dataclass(frozen=True, kw_only=True)
class TrimmedProgram:
    """One program or shared object that a trim made, without and with its symbols."""

    name: str
    shipped: bytes = field(repr=False)
    """The stripped file."""
    table: FunctionTable = field(repr=False)
    """The functions of its twin, which was linked alike and has symbols."""
    left_out: LeftOutFunctions = field(default_factory=LeftOutFunctions, repr=False)
    """Which functions are not in it; none if only regions are trimmed."""
    trims_regions: bool = True
    crash_ids: bool = False
    """Each stub and region has a trap of its own."""

    @cached_property
    def build_id(self) -> str:
        """Its build id, empty if it has none."""
        return parse_build_id(self.shipped)

    @cached_property
    def _loaded(self) -> tuple[Segment, ...]:
        """The segments that are loaded. Raises InputError for a damaged file."""
        every = segments(self.shipped, source=self.name)
        return tuple(each for each in every if each.kind == LOADED)

    @cached_property
    def code(self) -> tuple[Segment, ...]:
        """The segments that are code. Raises InputError for a damaged file."""
        return tuple(each for each in self._loaded if each.flags & EXECUTABLE)

    @property
    def first_address(self) -> int:
        """The address that is loaded to where the program begins in memory."""
        first = min((each.address for each in self._loaded), default=0)
        return first - first % _PAGE_BYTES

    @property
    def is_fixed(self) -> bool:
        """Whether it is always loaded to the addresses in its file."""
        return bool(struct.unpack_from("<H", self.shipped, _TYPE_AT)[0] == _FIXED)

    @property
    def is_aarch64(self) -> bool:
        """Whether its code is for aarch64; else it is for x86_64."""
        return bool(struct.unpack_from("<H", self.shipped, _MACHINE_AT)[0] == _AARCH64)

    @cached_property
    def traps(self) -> tuple[int, ...]:
        """The addresses of all instructions that stop the program, sorted.

        On x86_64, where instructions have no fixed size, places that only look so are among them.
        """
        return tuple(sorted(address for each in self.code for address in self._traps_in(each)))

    def is_trap(self, address: int) -> bool:
        """Return whether the instruction at ``address`` stops the program."""
        at = bisect_right(self.traps, address) - 1
        return at >= 0 and self.traps[at] == address

    def word(self, address: int, size_bytes: int) -> bytes:
        """Return bytes of the code; fewer, or none, if they are not all in it."""
        for each in self.code:
            at = address - each.address
            if 0 <= at < each.size_bytes:
                end = min(at + size_bytes, each.size_bytes)
                return self.shipped[each.offset + at : each.offset + end]
        return b""

    def address_of(self, offset: int) -> int | None:
        """Return the address of a byte of the file, None if it is not code."""
        for each in self.code:
            if 0 <= offset - each.offset < each.size_bytes:
                return offset - each.offset + each.address
        return None

    def _traps_in(self, segment: Segment) -> Iterator[int]:
        content = self.shipped[segment.offset : segment.offset + segment.size_bytes]
        if not self.is_aarch64:
            yield from (segment.address + each.start() for each in _X86_TRAPS.finditer(content))
            return
        words = struct.iter_unpack("<I", content[: len(content) & ~3])
        for at, (word,) in enumerate(words):
            if word & _BRK_MASK == _BRK:
                yield segment.address + 4 * at


def read_unfolded(data: bytes, *, source: str) -> tuple[Disassembly, frozenset[int] | None]:
    """Return the code of an unfolded link, and the addresses in its data; None if they are packed.

    Raises InputError for a file that no linker wrote.
    """
    table = parse_table(data, source=source)
    code = parse_code(data, table, source=source)
    if _PACKED in data:
        return code, None
    wanted = {each.address for each in table.functions}
    loaded = (e for e in segments(data, source=source) if e.kind == LOADED)
    # What a loader reads, relocations among it; the symbols of the link are not.
    parts = (data[e.offset + -e.offset % 8 : e.offset + e.size_bytes] for e in loaded)
    whole = (each[: len(each) & ~7] for each in parts)
    words = (word for each in whole for (word,) in struct.iter_unpack("<Q", each))
    return code, frozenset(wanted.intersection(words))
