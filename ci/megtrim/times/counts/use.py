"""What scenarios use: their work, by function, and memory. Pure.

What the plugin and GNU time wrote is read here, and becomes the values of
:mod:`megtrim.core.size.counted`.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from megtrim.core.config.units import PLANNED
from megtrim.core.size.counted import LATER, LENGTHS, LONGEST_NAME, Beside, Count, Range, Work
from megtrim.libs.elf.layout import EXECUTABLE, LOADED, Segment
from megtrim.libs.elf.symbol_table import Function, FunctionTable
from megtrim.libs.util.errors import InputError
from megtrim.times.counts.system_calls import SystemCalls

NO_SYMBOL = "[without a symbol]"
SYSTEM = "[system calls]"
"""How many a run makes, and in place of accesses the bytes that these move."""
GENERATED = "[generated code]"
"""Code of no file: what the program itself has written into memory and runs."""
LARGEST_BYTES = 64 * 1024 * 1024
"""Of what the plugin writes."""
LONGEST_PEAK = 64
"""Bytes of what GNU time writes."""
_LATER_ONES = LATER - LENGTHS[1]
_BLOCK = re.compile(
    rb"([0-9a-f]{1,16}) ([0-9]{1,18}) ([0-9]{1,18})(?: (-|=[0-9]{1,18}|/[!-~]{1,63}))?"
)
_END = re.compile(rb"([0-9]{1,7}) blocks, ([0-9]{1,9}) processes")
_KIB = re.compile(rb"([0-9]{1,12})\n")
_ADDRESS = re.compile("[0-9]{1,15}")


class Blocks(NamedTuple):
    """What the plugin saw of one run."""

    program: tuple[tuple[int, Count], ...]
    """Of the program's own code: for each block its offset from the first byte of that code."""
    others: Mapping[str, tuple[tuple[int, Count], ...]]
    """Of libraries, by file, for each block its place in the file; and :data:`GENERATED`."""
    processes: int
    """That the program started: what they do is not counted."""
    calls: Mapping[int, SystemCalls]
    """By number."""


def parse_blocks(data: bytes, *, source: str) -> Blocks:
    """Read what the plugin wrote: for each block its place, instructions and accesses.

    ``PLACE INSTRUCTIONS ACCESSES``, a block a line, the place in hexadecimal: from the program's
    first byte of code, or in the file that is named at the end of the line, ``/libc.so.6``; ``-``
    there is code of no file. With ``=ASKED`` at the end, PLACE is the number of a system call, and
    the others are those of :class:`SystemCalls`. The last line has the number of lines, and of
    processes that the program started. Raises InputError.
    """
    if not data:
        msg = (
            "the emulator left no counts: the program started another one in its place, or ended "
            "too early"
        )
        raise InputError(msg, hint="count a program that runs to its own end")
    *lines, last = data[: LARGEST_BYTES + 1].splitlines() or [b""]
    end = _END.fullmatch(last)
    found = [_BLOCK.fullmatch(line) for line in lines]
    if len(data) > LARGEST_BYTES or end is None or int(end[1]) != len(lines) or None in found:
        msg = f"{source}: found a text that the plugin did not write; it ends in {last[:40]!a}"
        raise InputError(msg, hint="count it again")
    program: list[tuple[int, Count]] = []
    others: defaultdict[str, list[tuple[int, Count]]] = defaultdict(list)
    calls: dict[int, SystemCalls] = {}
    for place, instructions, accesses, file in (each.groups() for each in found if each):
        count = Count(int(instructions), int(accesses))
        if file is None:
            program.append((int(place, 16), count))
            continue
        if file.startswith(b"="):
            calls[int(place, 16)] = SystemCalls(*count, asked=int(file[1:]))
            continue
        name = GENERATED if file == b"-" else file[1:].decode()
        others[name].append((int(place, 16), count))
    return Blocks(
        program=tuple(program),
        others={name: tuple(found) for name, found in others.items()},
        processes=int(end[2]),
        calls=calls,
    )


def find_code(segments: Iterable[Segment]) -> int:
    """Return the address of a program's first byte of code."""
    code = (each.address for each in segments if each.kind == LOADED and each.flags & EXECUTABLE)
    return min(code, default=0)


class Library(NamedTuple):
    """A file that a program loads, of which the functions are known."""

    file: str
    """Its name where it is loaded."""
    table: FunctionTable
    segments: tuple[Segment, ...]

    def locate(self, place: int) -> int:
        """Return the address of a place in the file; -1: no segment has it."""
        for each in self.segments:
            if each.kind == LOADED and each.offset <= place < each.offset + each.size_bytes:
                return place - each.offset + each.address
        return -1


def name_functions(
    blocks: Blocks, table: FunctionTable, code: int, library: Library | None = None
) -> dict[str, Count]:
    """Add up what ran by function, and of other libraries than ``library`` by file."""
    named: defaultdict[str, Count] = defaultdict(Count)
    find = _make_finder(table)
    for offset, count in blocks.program:
        label = find(code + offset)
        named[label] = named[label].plus(count)
    for file, found in blocks.others.items():
        find_in = _make_finder(library.table) if library and library.file == file else None
        for place, count in found:
            label = find_in(library.locate(place)) if library and find_in else file
            named[label] = named[label].plus(count)
    return named


def _make_finder(table: FunctionTable) -> Callable[[int], str]:
    """Return what finds the name of the function at an address.

    A function without a recorded size, written in assembler, reaches to the next one.
    """
    starts: dict[int, Function] = {}
    for function in table.functions:  # of several at one address, the first that has a size
        if function.address not in starts or not starts[function.address].size_bytes:
            starts[function.address] = function
    places = [*starts]

    def find(address: int) -> str:
        at = bisect_right(places, address) - 1
        near = starts[places[at]] if at >= 0 else None
        if near is None or 0 < near.size_bytes <= address - near.address:
            return NO_SYMBOL
        return near.name[:LONGEST_NAME]

    return find


def subtract(long: Mapping[str, Count], short: Mapping[str, Count]) -> dict[str, Count]:
    every = long.keys() | short.keys()
    return {name: long.get(name, Count()).plus(short.get(name, Count()), -1) for name in every}


def join_repeats(
    key: str,
    repeats: Sequence[Mapping[str, Count]],
    *,
    later: Sequence[Mapping[str, Count]] = (),
) -> Work:
    """``repeats``: what :func:`subtract` returned, of at least two pairs of runs.

    ``later``: what it returned of runs with :data:`LATER` iterations and a shorter one of them.
    """
    every = sorted(set().union(*repeats) - {SYSTEM})
    seen = {name: {each.get(name, Count()) for each in repeats} for name in every}
    # Less work by more iterations is waiting, too, however often it repeats.
    steady: dict[str, Count] = {}
    varying: dict[str, Range] = {}
    for name in every:
        counts = seen[name]
        smallest = min(counts)
        if len(counts) == 1 and min(smallest) >= 0:
            steady[name] = smallest
            continue
        instructions = [count.instructions for count in counts]
        varying[name] = Range(
            smallest=max(0, min(instructions)),
            largest=max(0, *instructions),
        )
    return Work(
        key=key,
        functions={name: count for name, count in steady.items() if any(count)},
        varying=varying,
        later=_find_later(later, steady, varying),
        beside=_find_calls(repeats, later),
        ran=len(every),
    )


def _find_later(
    later: Sequence[Mapping[str, Count]],
    steady: Mapping[str, Count],
    varying: Mapping[str, Range],
) -> dict[str, int]:
    """Return by how much functions do more than they were counted with; what varies, at most."""
    more: dict[str, int] = {}
    for name in sorted(set().union(*later) - {SYSTEM}):
        found = min(each.get(name, Count()).instructions for each in later)
        counted = steady.get(name, Count()).instructions
        if name in varying:
            counted = varying[name].largest
        excess = found - _LATER_ONES * counted
        if excess > 0:
            more[name] = excess
    return more


def _find_calls(
    repeats: Sequence[Mapping[str, Count]], later: Sequence[Mapping[str, Count]]
) -> dict[Beside, Range]:
    counts = [each.get(SYSTEM, Count()) for each in repeats]
    calls = _find_range(count.instructions for count in counts)
    moved = _find_range(count.accesses for count in counts)
    found = {Beside.CALLS: calls, Beside.BYTES: moved}
    if later:
        after = [each.get(SYSTEM, Count()) for each in later]
        more_calls = min(count.instructions for count in after) - _LATER_ONES * calls.largest
        more_moved = min(count.accesses for count in after) - _LATER_ONES * moved.largest
        found[Beside.LATER_CALLS] = _find_range([more_calls])
        found[Beside.LATER_BYTES] = _find_range([more_moved])
    return {kind: each for kind, each in found.items() if any(each)}


def _find_range(counts: Iterable[int]) -> Range:
    found = [max(0, count) for count in counts]
    return Range(smallest=min(found), largest=max(found))


def find_outside(runs: Sequence[Mapping[str, Count]], counted: Work) -> dict[Beside, Range]:
    """Return what the shorter runs do besides the one iteration that was counted."""
    smallest = 0
    largest = 0
    for name in sorted(set().union(*runs) - {SYSTEM}):
        each = [run.get(name, Count()).instructions for run in runs]
        iteration = counted.functions.get(name, (0, 0))[0]
        if name in counted.varying:
            iteration = counted.varying[name][0]
        smallest += max(0, min(each) - iteration)
        largest += max(0, max(each) - iteration)
    moved = counted.beside.get(Beside.BYTES, (0, 0))[0]
    found = {
        Beside.OUTSIDE: Range(smallest, largest),
        Beside.OUTSIDE_BYTES: _find_range(
            run.get(SYSTEM, Count()).accesses - moved for run in runs
        ),
    }
    return {kind: each for kind, each in found.items() if any(each)}


def parse_peak(data: bytes) -> int:
    """Read what GNU time wrote of a program that ended well: KiB. Raises InputError."""
    found = _KIB.fullmatch(data)
    if found is None:
        msg = f"GNU time wrote {data[:60]!a}, expected the peak in KiB"
        raise InputError(msg)
    return int(found[1]) * 1024


def parse_plan(data: bytes) -> dict[str, int]:
    """Return :data:`PLANNED`, where the last chunk ends; empty: there is no readable plan."""
    try:
        chunks = json.loads(data)["chunk"].values()
        found = [_ADDRESS.fullmatch(each["logic_addr_end"]) for each in chunks]
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return {}
    return {PLANNED: max(int(end[0]) for end in found if end)} if found and all(found) else {}
