"""A trimmed program as crashes are looked up in it: what ships, its symbols, what was left out."""

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import field
from functools import cached_property

from megtrim.libs.elf.layout import (
    AARCH64,
    ARM,
    EXECUTABLE,
    LOADED,
    Segment,
    parse_build_id,
    segments,
)
from megtrim.libs.elf.symbol_table import FunctionTable
from megtrim.libs.util.strict_json import dump, load
from megtrim.libs.util.value import Value

VERSION = 4
HINT = "another version of megtrim wrote it, or it was damaged: fetch the release again"
_TYPE_AT = 16
_FIXED = 2
_MACHINE_AT = 18
_BRK_MASK = 0xFFE0001F
_BRK = 0xD4200000
_X86_TRAPS = re.compile(rb"\x0f[\x0b\xb9]")
_THUMB_TRAPS = re.compile(rb"(?=.\xde|[\xf0-\xff]\xf7.[\xa0-\xaf])", re.DOTALL)
_ARM_TRAPS = re.compile(rb"(?=[\xf0-\xff].[\xf0-\xff]\xe7)", re.DOTALL)
_PAGE_BYTES = 4096


class TrimmedProgram(Value):
    name: str
    shipped: bytes = field(repr=False)
    table: FunctionTable = field(repr=False)
    left_out: tuple[str, ...] = field(default=(), repr=False)
    trims_regions: bool = True
    crash_ids: bool = False

    @cached_property
    def build_id(self) -> str:
        return parse_build_id(self.shipped)

    @cached_property
    def _loaded(self) -> tuple[Segment, ...]:
        every = segments(self.shipped, source=self.name)
        return tuple(each for each in every if each.kind == LOADED)

    @cached_property
    def code(self) -> tuple[Segment, ...]:
        return tuple(each for each in self._loaded if each.flags & EXECUTABLE)

    @cached_property
    def reserved(self) -> tuple[Segment, ...]:
        """Where deferred functions have their addresses: it has no bytes in the file."""
        empty = [each for each in self._loaded if each.memory_bytes and not each.size_bytes]
        return tuple(each for each in empty if self._has_left_out(each))

    def is_reserved(self, address: int) -> bool:
        return any(0 <= address - each.address < each.memory_bytes for each in self.reserved)

    def _has_left_out(self, segment: Segment) -> bool:
        left_out = {*self.left_out}
        end = segment.address + segment.memory_bytes
        return any(
            segment.address <= each.address < end and each.name in left_out
            for each in self.table.functions
        )

    @property
    def first_address(self) -> int:
        first = min((each.address for each in self._loaded), default=0)
        return first - first % _PAGE_BYTES

    @property
    def is_fixed(self) -> bool:
        return bool(struct.unpack_from("<H", self.shipped, _TYPE_AT)[0] == _FIXED)

    @cached_property
    def machine(self) -> int:
        return int(struct.unpack_from("<H", self.shipped, _MACHINE_AT)[0])

    @cached_property
    def traps(self) -> tuple[int, ...]:
        """Where instructions vary in size, places that only look so are among them."""
        return tuple(sorted({at for each in self.code for at in self._traps_in(each)}))

    def is_trap(self, address: int) -> bool:
        at = bisect_right(self.traps, address) - 1
        return at >= 0 and self.traps[at] == address

    def word(self, address: int, size_bytes: int) -> bytes:
        for each in self.code:
            at = address - each.address
            if 0 <= at < each.size_bytes:
                end = min(at + size_bytes, each.size_bytes)
                return self.shipped[each.offset + at : each.offset + end]
        return b""

    def address_of(self, offset: int) -> int | None:
        for each in self.code:
            if 0 <= offset - each.offset < each.size_bytes:
                return offset - each.offset + each.address
        return None

    def _traps_in(self, segment: Segment) -> Iterator[int]:
        content = self.shipped[segment.offset : segment.offset + segment.size_bytes]
        if self.machine == ARM:
            for traps, thumb in ((_THUMB_TRAPS, True), (_ARM_TRAPS, False)):
                for found in traps.finditer(content):
                    address = segment.address + found.start()
                    modes = {e.thumb for e in self.table.at(address)} or {thumb}
                    if address % (2 if thumb else 4) == 0 and thumb in modes:
                        yield address
            return
        if self.machine != AARCH64:
            yield from (segment.address + each.start() for each in _X86_TRAPS.finditer(content))
            return
        words = struct.iter_unpack("<I", content[: len(content) & ~3])
        for at, (word,) in enumerate(words):
            if word & _BRK_MASK == _BRK:
                yield segment.address + 4 * at


class _Document(Value):
    version: int = VERSION
    program_sha256: str
    functions: tuple[str, ...]

    def __post_init__(self) -> None:
        if list(self.functions) != sorted({*self.functions}):
            msg = "functions: found an entry out of order, or twice, expected each once, sorted"
            raise ValueError(msg)


def dump_left_out(names: tuple[str, ...], *, program_sha256: str) -> str:
    return dump(_Document(program_sha256=program_sha256, functions=names))


def parse_left_out(text: str, *, source: str) -> tuple[tuple[str, ...], str]:
    """Return the list, and the sha256 of its program. Raises InputError."""
    read = load(_Document, text, source=source, version=VERSION, hint=HINT)
    return read.functions, read.program_sha256
