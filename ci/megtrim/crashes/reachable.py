"""Which of the functions that were left out can be reached at all.

They may share one instruction. The link with all functions shows which of them remaining code or
data refers to: the others cannot have been what a crash needed. Pure.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterable, Iterator

from megtrim.crashes.left_out import LeftOutFunctions
from megtrim.elf.symbol_table import Function
from megtrim.functions.calls import Disassembly

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
