"""Finds the functions that a function calls directly, from its machine code.

Calls through pointers are not found. On x86_64, every byte that could begin a call counts, and so
do every two bytes of Thumb code. Pure.
"""

import re
import struct
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from itertools import pairwise

from megtrim.libs.elf.layout import EXECUTABLE, LOADED, segments
from megtrim.libs.elf.objects import thumb_distance
from megtrim.libs.elf.symbol_table import Function, FunctionTable
from megtrim.libs.util.value import Value

OWN_CALLS = ("-Wl,-Bsymbolic-functions",)
"""Calls of a shared object's own exports are direct, so that they are found."""
_BRANCH_MASK = 0x7C000000
_BRANCH = 0x14000000
"""aarch64: ``b`` and ``bl``, which differ in the highest bit; 26 bits are the distance."""
_DISTANCE = (1 << 26) - 1
_ARM_BRANCH_MASK = 0x0E000000
_ARM_BRANCH = 0x0A000000
"""32-bit Arm: ``b``, ``bl`` and ``blx``, with any condition; 24 bits are the distance."""
_CALL = re.compile(rb"(?=(?:[\xe8\xe9]|\x0f[\x80-\x8f])(.{4}))", re.DOTALL)
"""x86_64: call, jump, and conditional jumps, each with a distance of 32 bits."""
_BY_POINTER = re.compile(rb"\xff[\x10-\x2f\x50-\x6f\x90-\xaf\xd0-\xd7\xe0-\xe7]", re.DOTALL)
"""x86_64: call and jump to an address in a register or in memory."""
_BY_REGISTER = 0x6B
_RETURNS = 2
"""aarch64: the highest bits of branches to a register, and which of them return."""
_CONTAINER = "__throw_"
"""Part of the names of functions with which containers of a C++ library report errors."""
_MAX_FUNCTION_BYTES = 16 * 1024 * 1024


class Disassembly(Value):
    table: FunctionTable
    segments: tuple[tuple[int, bytes], ...]
    """Address and content of executable segments."""
    by_name: Mapping[str, tuple[Function, ...]]

    def find_reachable(self, names: Iterable[str], *, ran: Collection[str]) -> tuple[str, ...]:
        """Return ``names`` and all that they call, directly or not, sorted.

        Calls are not followed through functions that ``ran``, whose calls are kept already, nor
        through those with which containers report errors: nearly every call would add exceptions.
        """
        done = {*ran}
        ahead = [each for name in {*names} for each in self.by_name.get(name, ())]
        found = {*ahead}
        while ahead:
            called = {*self._iter_callees(ahead.pop())} - found
            fresh = {e for e in called if e.name not in done and _CONTAINER not in e.name}
            found |= fresh
            ahead += fresh
        return tuple(sorted({each.name for each in found}))

    def called_by(self, names: Iterable[str]) -> frozenset[str]:
        functions = (each for name in names for each in self.by_name.get(name, ()))
        return frozenset(called.name for each in functions for called in self._iter_callees(each))

    def may_reach(self, name: str, targets: Container[str]) -> bool:
        """Whether a function may call one of ``targets``, or what is not known: it is called
        through a pointer, or is in another file.
        """
        ahead = [*self.by_name.get(name, ())]
        done = {*ahead}
        while ahead:
            function = ahead.pop()
            content = self.content(function)
            if function.name in targets or not content or _calls_pointers(content, self.table):
                return True
            own = range(function.size_bytes)
            for distance in {*self._find_branches(function)}.difference(own):
                called = {*self.table.at(function.address + distance)}
                if not called:
                    return True
                ahead += called - done
                done |= called
        return not done

    def callers(self, of: Collection[str], among: Iterable[str]) -> tuple[str, ...]:
        targets = {*of}
        functions = {each for name in among for each in self.by_name.get(name, ())}
        calls = ((each.name, {e.name for e in self._iter_callees(each)}) for each in functions)
        return tuple(sorted({name for name, called in calls if targets & called}))

    def _iter_callees(self, function: Function) -> Iterator[Function]:
        yield from self.table.at(function.address)
        for distance in {*self._find_branches(function)}:
            called = self.table.at(function.address + distance)
            if not called and (name := self.table.thunks.get(function.address + distance)):
                called = self.by_name.get(name, ())
            yield from called

    def _find_branches(self, function: Function) -> Iterator[int]:
        content = self.content(function)
        if self.table.machine != "armv7l":
            return _find_branches(content, self.table.machine)
        return (
            _find_in_thumb(content, function.address) if function.thumb else _find_in_arm(content)
        )

    def content(self, function: Function) -> bytes:
        size_bytes = min(function.size_bytes, _MAX_FUNCTION_BYTES)
        for address, content in self.segments:
            at = function.address - address
            if 0 <= at < len(content):
                return content[at : at + size_bytes]
        return b""


def parse_code(data: bytes, table: FunctionTable, *, source: str) -> Disassembly:
    headers = segments(data, source=source)
    by_name: dict[str, tuple[Function, ...]] = {}
    for function in table.functions:
        by_name[function.name] = (*by_name.get(function.name, ()), function)
    executable = []
    for header in headers:
        if header.kind == LOADED and header.flags & EXECUTABLE:
            content = data[header.offset : header.offset + header.size_bytes]
            executable.append((header.address, content))
    return Disassembly(table=table, by_name=by_name, segments=tuple(executable))


def _calls_pointers(content: bytes, table: FunctionTable) -> bool:
    if table.machine == "x86_64":
        return _BY_POINTER.search(content) is not None
    if table.machine != "aarch64":
        return True
    words = (word for (word,) in struct.iter_unpack("<I", content[: len(content) & ~3]))
    return any(word >> 25 == _BY_REGISTER and word >> 21 & 15 != _RETURNS for word in words)


def _find_branches(content: bytes, machine: str) -> Iterator[int]:
    if machine != "aarch64":
        for found in _CALL.finditer(content):
            yield found.end(1) + int.from_bytes(found[1], "little", signed=True)
        return
    for at, (word,) in enumerate(struct.iter_unpack("<I", content[: len(content) & ~3])):
        if word & _BRANCH_MASK == _BRANCH:
            distance = word & _DISTANCE
            yield 4 * (at + (distance - (1 << 26) if distance >> 25 else distance))


def _find_in_arm(content: bytes) -> Iterator[int]:
    for at, (word,) in enumerate(struct.iter_unpack("<I", content[: len(content) & ~3])):
        if word & _ARM_BRANCH_MASK == _ARM_BRANCH:
            half = word >> 23 & 2 if word >> 28 == 0xF else 0  # blx, to Thumb
            yield 4 * at + 8 + ((word & 0xFFFFFF) << 2) - (word << 3 & 1 << 26) + half


def _find_in_thumb(content: bytes, address: int) -> Iterator[int]:
    pairs = [pair for (pair,) in struct.iter_unpack("<H", content[: len(content) & ~1])]
    for at, (first, second) in enumerate(pairwise(pairs)):
        if first & 0xF800 != 0xF000 or not second & 0x8000:
            continue
        base = 2 * at + 4
        if second & 0x5000:
            if second & 0x5000 == 0x4000:  # blx, to Arm: counted from a whole word
                base -= (address + base) % 4
            yield base + thumb_distance(first, second)
        elif first & 0x380 != 0x380:  # with a condition; the others are no branches
            one = second >> 13 & 1
            two = second >> 11 & 1
            low = (second & 0x7FF) << 1
            high = two << 19 | one << 18 | (first & 0x3F) << 12
            yield base + (high | low) - (first << 10 & 1 << 20)
