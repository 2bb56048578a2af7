"""A trimmed program as crashes are looked up in it: what ships, its symbols, what was left out.

The list of what was left out is all that a lookup needs of the link that has every function: a
release has it in place of that link, one list for each program. The document holds names once,
sorted, and refers to them by their index. Functions that were left out may share one instruction;
that link shows which of them remaining code or data refers to, and the others cannot have been what
a crash needed. Pure.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from megtrim.elf.layout import EXECUTABLE, LOADED, Segment, parse_build_id, segments
from megtrim.elf.symbol_table import Function, FunctionTable, parse_table
from megtrim.functions.calls import Disassembly, parse_code
from megtrim.util.strict_json import dump, load
from megtrim.util.value import Value

_TYPE_AT, _FIXED = 16, 2
_MACHINE_AT, _AARCH64 = 18, 183
_BRK_MASK, _BRK = 0xFFE0001F, 0xD4200000
_X86_TRAPS = re.compile(rb"\x0f[\x0b\xb9]")
"""``ud2`` and ``ud1``."""
_PAGE_BYTES = 4096
_PACKED = b"APS2"
"""Begins relocations that Android packs: addresses in data cannot be read then."""


class LeftOutFunctions(Value):
    """The functions that were left out of a program; names are linkage names, sorted."""

    names: tuple[str, ...] = ()
    reachable: tuple[str, ...] = ()
    """Those that remaining code or data refers to; all of them where that is not known."""


@dataclass(frozen=True, kw_only=True)
class TrimmedProgram:
    name: str
    shipped: bytes = field(repr=False)
    table: FunctionTable = field(repr=False)
    """Of its twin, which was linked alike and has symbols."""
    left_out: LeftOutFunctions = field(default_factory=LeftOutFunctions, repr=False)
    trims_regions: bool = True
    crash_ids: bool = False
    """Each stub and region has a trap of its own."""

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

    @property
    def first_address(self) -> int:
        first = min((each.address for each in self._loaded), default=0)
        return first - first % _PAGE_BYTES

    @property
    def is_fixed(self) -> bool:
        return bool(struct.unpack_from("<H", self.shipped, _TYPE_AT)[0] == _FIXED)

    @property
    def is_aarch64(self) -> bool:
        return bool(struct.unpack_from("<H", self.shipped, _MACHINE_AT)[0] == _AARCH64)

    @cached_property
    def traps(self) -> tuple[int, ...]:
        """On x86_64, where instructions vary in size, places that only look so are among them."""
        return tuple(sorted(address for each in self.code for address in self._traps_in(each)))

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


VERSION = 3
HINT = "another version of megtrim wrote it, or it was damaged: fetch the release again"


class _Document(Value):
    """The document; numbers are indices in ``functions``."""

    version: int = VERSION
    program_sha256: str
    functions: tuple[str, ...]
    reachable: tuple[int, ...]

    def __post_init__(self) -> None:
        _expect_sorted("functions", self.functions)
        _expect_sorted("reachable", self.reachable)
        if self.reachable and self.reachable[-1] >= len(self.functions):
            msg = f"reachable: found {self.reachable[-1]}, expected an index of functions"
            raise ValueError(msg)


def dump_left_out(left_out: LeftOutFunctions, *, program_sha256: str) -> str:
    index = {name: at for at, name in enumerate(left_out.names)}
    document = _Document(
        program_sha256=program_sha256,
        functions=left_out.names,
        reachable=tuple(sorted({index[each] for each in left_out.reachable})),
    )
    return dump(document)


def parse_left_out(text: str, *, source: str) -> tuple[LeftOutFunctions, str]:
    """Return the list, and the sha256 of its program. Raises InputError."""
    read = load(_Document, text, source=source, version=VERSION, hint=HINT)
    reachable = tuple(read.functions[each] for each in read.reachable)
    return LeftOutFunctions(names=read.functions, reachable=reachable), read.program_sha256


def _expect_sorted(where: str, values: Sequence[int] | Sequence[str]) -> None:
    if list(values) != sorted({*values}):
        msg = f"{where}: found an entry out of order, or twice, expected each once, sorted"
        raise ValueError(msg)


_ADRP_MASK, _ADRP, _ADR = 0x9F000000, 0x90000000, 0x10000000
_ADD_MASK, _ADD = 0xFFC00000, 0x91000000
_LEA = re.compile(rb"(?=\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d](.{4}))", re.DOTALL)
_PAGE_BITS = 12


def list_left_out(
    names: Iterable[str],
    unfolded: Disassembly | None = None,
    pointers: Collection[int] | None = None,
) -> LeftOutFunctions:
    """Return what was left out, and what of it can be reached.

    ``unfolded`` is the link with all functions and ``pointers`` the addresses in its data, None
    where they are not known.
    """
    dropped = tuple(sorted({*names}))
    if unfolded is None or pointers is None:
        return LeftOutFunctions(names=dropped, reachable=dropped)
    return LeftOutFunctions(names=dropped, reachable=_find_reachable(unfolded, pointers, dropped))


def _find_reachable(
    code: Disassembly, pointers: Collection[int], names: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the functions that were left out and that remaining code or data refers to."""
    dropped = {*names}
    kept = [each for each in code.table.functions if each.name not in dropped]
    called = code.called_by({each.name for each in kept})
    places = {each.address for each in code.table.functions if each.name in dropped}
    taken = {*pointers} & places
    for each in kept:
        taken |= {*_taken_by(code, each)} & places
    # An alias is reached by any of its names.
    named = {name.name for address in taken for name in code.table.at(address)}
    return tuple(sorted(dropped & (named | called))) or names


def _taken_by(code: Disassembly, function: Function) -> Iterator[int]:
    """Yield addresses that a function may compute: more than it does, and none less."""
    content = code.content(function)
    if code.table.machine == "aarch64":
        yield from _aarch64_addresses(content, function.address)
        return
    for found in _LEA.finditer(content):
        distance = int.from_bytes(found[1], "little", signed=True)
        yield function.address + found.end(1) + distance
    for shift in range(4):
        part = content[shift:]
        yield from (word for (word,) in struct.iter_unpack("<I", part[: len(part) & ~3]))


def _aarch64_addresses(content: bytes, start: int) -> Iterator[int]:
    pages, rests = set(), set()
    for at, (word,) in enumerate(struct.iter_unpack("<I", content[: len(content) & ~3])):
        kind = word & _ADRP_MASK
        if kind in (_ADRP, _ADR):
            value = (word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3
            distance = value - (1 << 21) if value >> 20 else value
            if kind == _ADR:
                yield start + 4 * at + distance
            else:
                pages.add(((start + 4 * at) >> _PAGE_BITS) + distance)
        elif word & _ADD_MASK == _ADD:
            rests.add(word >> 10 & 0xFFF)
    yield from ((page << _PAGE_BITS) + rest for page in pages for rest in rests)
