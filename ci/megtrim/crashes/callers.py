"""Narrows down which of many functions a shared stub stood for, by who calls it.

All functions that were left out may share one instruction. The unfolded link has the same code with
the functions in it: its call at the same place of the caller has the function as its target. If no
caller is known, what no remaining code refers to cannot have been reached. Pure.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterable, Iterator

from megtrim.crashes.left_out import LeftOutFunctions
from megtrim.crashes.program import TrimmedProgram
from megtrim.elf.symbol_table import Function
from megtrim.functions.calls import Disassembly

_CALL_MASK, _CALL = 0xFC000000, 0x94000000
_INDIRECT_MASK, _INDIRECT = 0xFEFFF000, 0xD63F0000
"""``blr``, with and without authentication of its pointer."""
_DISTANCE = (1 << 26) - 1
_X86_CALL, _X86_CALL_BYTES = 0xE8, 5
_ADRP_MASK, _ADRP, _ADR = 0x9F000000, 0x90000000, 0x10000000
_ADD_MASK, _ADD = 0xFFC00000, 0x91000000
_LEA = re.compile(rb"(?=\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d](.{4}))", re.DOTALL)
_PAGE_BITS = 12


def called_from(program: TrimmedProgram, site: int, calls: Iterable[int]) -> tuple[str, ...]:
    """Return what the call that leads to ``site`` calls in the unfolded link, sorted.

    ``calls`` are the places where it may be. Empty if there is no direct call of ``site``, if one
    of the others is a call, too, whose function may have jumped to ``site``, or if its function is
    not the same one there.
    """
    found: set[str] = set()
    for call in calls:
        code = program.word(call, _X86_CALL_BYTES)
        distance = _call_distance(code, program.is_aarch64)
        if distance is None or call + distance != site:
            if program.is_aarch64 and (distance is not None or _is_indirect_call(code)):
                return ()
            continue
        found.update(program.left_out.calls.get(call, ()))
    return tuple(sorted(found))


def list_left_out(
    program: TrimmedProgram,
    names: Iterable[str],
    unfolded: Disassembly | None = None,
    pointers: Collection[int] | None = None,
    *,
    ran: Collection[str] = (),
) -> LeftOutFunctions:
    """Return what was left out of ``program``, and how it is reached.

    ``unfolded`` is the link with all functions and ``pointers`` the addresses in its data, None
    where they are not known; ``ran``: functions that scenarios ran.
    """
    dropped = tuple(sorted({*names}))
    if unfolded is None:
        return LeftOutFunctions(names=dropped, reachable=dropped)
    return LeftOutFunctions(
        names=dropped,
        reachable=_find_reachable(unfolded, pointers, dropped),
        calls=dict(_find_calls(program, unfolded, frozenset(dropped))),
        callers=dict(_find_callers(unfolded, frozenset(dropped), ran)),
    )


def _find_calls(
    program: TrimmedProgram, unfolded: Disassembly, dropped: frozenset[str]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield each direct call of a trap, and what the same call calls in the unfolded link."""
    for call in program.direct_calls():
        distance = _call_distance(program.word(call, _X86_CALL_BYTES), program.is_aarch64)
        if distance is None or not program.is_trap(call + distance):
            continue
        found = {
            name
            for caller in program.table.at(call)
            for name in _targets(unfolded, caller, call - caller.address)
            if name in dropped
        }
        if found:
            yield call, tuple(sorted(found))


def _find_callers(
    unfolded: Disassembly, dropped: frozenset[str], ran: Collection[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each function that ran and calls some that were left out, with these."""
    for name in sorted({*ran} - {*dropped}):
        if found := unfolded.called_by((name,)) & dropped:
            yield name, tuple(sorted(found))


def _find_reachable(
    code: Disassembly, pointers: Collection[int] | None, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the functions that were left out and that remaining code or data refers to."""
    if pointers is None:
        return names
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


def _targets(unfolded: Disassembly, caller: Function, offset: int) -> Iterator[str]:
    """Yield what is called at ``offset`` of the caller's twins in the unfolded link."""
    for each in unfolded.by_name.get(caller.name, ()):
        if each.size_bytes != caller.size_bytes:
            continue
        at = each.address + offset
        code = unfolded.content(each)[offset : offset + _X86_CALL_BYTES]
        distance = _call_distance(code, unfolded.table.machine == "aarch64")
        if distance is not None:
            yield from (called.name for called in unfolded.table.at(at + distance))


def _call_distance(code: bytes, aarch64: bool) -> int | None:
    """Return how far a direct call leads, None if the bytes do not begin with one."""
    if aarch64:
        word = int.from_bytes(code[:4], "little")
        if word & _CALL_MASK != _CALL:
            return None
        words = word & _DISTANCE
        return 4 * (words - (1 << 26) if words >> 25 else words)
    if len(code) < _X86_CALL_BYTES or code[0] != _X86_CALL:
        return None
    return _X86_CALL_BYTES + int.from_bytes(code[1:], "little", signed=True)


def _is_indirect_call(code: bytes) -> bool:
    return int.from_bytes(code[:4], "little") & _INDIRECT_MASK == _INDIRECT


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
