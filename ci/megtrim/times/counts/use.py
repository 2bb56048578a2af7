"""What scenarios use: the work of an iteration, by function, and memory. Pure.

Work is the difference of two runs that make :data:`LENGTHS` iterations. One run more, of
:data:`LATER` iterations, shows whether those that follow do more.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import reduce
from typing import Annotated, NamedTuple

from pydantic import ConfigDict, Field

from megtrim.core.chain.stage_result import StageResult
from megtrim.core.config.units import PLANNED
from megtrim.libs.elf.layout import EXECUTABLE, LOADED, Segment
from megtrim.libs.elf.symbol_table import Function, FunctionTable
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

LENGTHS = (1, 2)
LATER = 8
"""Iterations of the run that shows what the third and later ones do."""
BASE_PREFIX = "base "
"""Begins the name of what is of an earlier commit's programs."""
NO_SYMBOL = "[without a symbol]"
GENERATED = "[generated code]"
"""Code of no file: what the program itself has written into memory and runs."""
LARGEST_BYTES = 64 * 1024 * 1024
"""Of what the plugin writes."""
LONGEST_PEAK = 64
"""Bytes of what GNU time writes."""
_LONGEST_NAME = 4096
_BLOCK = re.compile(rb"([0-9a-f]{1,16}) ([0-9]{1,18}) ([0-9]{1,18})(?: (-|/[!-~]{1,63}))?")
_END = re.compile(rb"([0-9]{1,7}) blocks, ([0-9]{1,9}) processes")
_KIB = re.compile(rb"([0-9]{1,12})\n")
_ADDRESS = re.compile("[0-9]{1,15}")

Name = Annotated[str, Field(max_length=_LONGEST_NAME)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Number = Annotated[int, Field(ge=0, le=2**62, strict=True)]


class Count(NamedTuple):
    instructions: int = 0
    accesses: int = 0
    """Of memory: reads and writes."""

    def plus(self, other: tuple[int, int], times: int = 1) -> Count:
        return Count(self.instructions + times * other[0], self.accesses + times * other[1])


class Blocks(NamedTuple):
    """What the plugin saw of one run."""

    program: tuple[tuple[int, Count], ...]
    """Of the program's own code: for each block its offset from the first byte of that code."""
    others: Mapping[str, Count]
    """Of libraries, by file, and :data:`GENERATED`."""
    processes: int
    """That the program started: what they do is not counted."""


class Range(NamedTuple):
    """Instructions of a function whose count varies from repeat to repeat."""

    smallest: int
    largest: int


class Work(Value):
    """Of one program in one scenario; functions that no iteration runs are not listed."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    key: Digest
    """Of all that the count depends on but the program: another key is not comparable."""
    functions: Mapping[Name, Annotated[tuple[Number, Number], Field(min_length=2, max_length=2)]]
    """Instructions and accesses, equal in all repeats."""
    varying: Mapping[Name, Annotated[tuple[Number, Number], Field(min_length=2, max_length=2)]] = (
        field(default_factory=dict)
    )
    """The :class:`Range` of functions whose counts vary from repeat to repeat: they wait, or print
    times. They are not among ``functions``."""
    later: Mapping[Name, Number] = field(default_factory=dict)
    """Instructions of functions that do more in the iterations up to the one with the number
    :data:`LATER`, in all of these together, than as many times what was counted."""
    processes: Number = 0
    """Processes that a run started: what they do is not counted."""
    ran: Number
    """Functions that ran at all."""

    @property
    def left_out(self) -> tuple[str, ...]:
        return tuple(sorted(self.varying))

    @property
    def total(self) -> Count:
        return reduce(Count.plus, self.functions.values(), Count())


class MemoryUse(Value):
    __pydantic_config__ = ConfigDict(extra="forbid")

    key: Digest
    """Of all that it depends on but the program: with another key it cannot be compared."""
    figures: Mapping[Name, Number]
    """Bytes: the largest resident set, an emulator's own included, and what the engine plans for
    tensors and weights, if it says that."""
    processes: Number = 0
    """Processes that the program started, as the counting emulator saw: their memory is not in the
    peak."""
    base_figures: Mapping[Name, Number] = field(default_factory=dict)
    """Of an earlier commit's program, measured again with this key; not in baselines."""


class Use(StageResult):
    """Of the stage `count`, and in baselines."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    work: Mapping[Name, Work] = field(default_factory=dict)
    """By variant; of an earlier commit's programs, counted again with the same key, the variant
    follows :data:`BASE_PREFIX`. These are not in baselines."""
    memory: MemoryUse | None = None
    """Of the trimmed program."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why one of them is not known."""


def parse_blocks(data: bytes, *, source: str) -> Blocks:
    """Read what the plugin wrote: for each block its place, instructions and accesses.

    ``PLACE INSTRUCTIONS ACCESSES``, a block a line, the place in hexadecimal: from the program's
    first byte of code, or in the file that is named at the end of the line, ``/libc.so.6``; ``-``
    there is code of no file. The last line has the number of lines, and of processes that the
    program started. Raises InputError.
    """
    if not data:
        msg = (
            "the emulator left no counts: the program became another one, or ended it before it "
            "could write"
        )
        raise InputError(msg, hint="count a program that runs to its own end")
    *lines, last = data[: LARGEST_BYTES + 1].splitlines() or [b""]
    end = _END.fullmatch(last)
    found = [_BLOCK.fullmatch(line) for line in lines]
    if len(data) > LARGEST_BYTES or end is None or int(end[1]) != len(lines) or None in found:
        msg = f"{source}: found another text than the plugin writes, which ends in {last[:40]!a}"
        raise InputError(msg, hint="count it again")
    program: list[tuple[int, Count]] = []
    others = defaultdict[str, Count](Count)
    for place, instructions, accesses, file in (each.groups() for each in found if each):
        count = Count(int(instructions), int(accesses))
        if file is None:
            program.append((int(place, 16), count))
            continue
        name = GENERATED if file == b"-" else file[1:].decode()
        others[name] = others[name].plus(count)
    return Blocks(program=tuple(program), others=others, processes=int(end[2]))


def find_code(segments: Iterable[Segment]) -> int:
    """Return the address of a program's first byte of code."""
    code = (each.address for each in segments if each.kind == LOADED and each.flags & EXECUTABLE)
    return min(code, default=0)


def name_functions(blocks: Blocks, table: FunctionTable, code: int) -> dict[str, Count]:
    """Add up what ran by function, and of libraries by file.

    A function without a recorded size, written in assembler, reaches to the next one.
    """
    starts: dict[int, Function] = {}
    for function in table.functions:  # of several at one address, the first that has a size
        if function.address not in starts or not starts[function.address].size_bytes:
            starts[function.address] = function
    places = [*starts]
    named = defaultdict[str, Count](Count, blocks.others)
    for offset, count in blocks.program:
        at = bisect_right(places, code + offset) - 1
        near = starts[places[at]] if at >= 0 else None
        outside = near is None or 0 < near.size_bytes <= code + offset - near.address
        label = NO_SYMBOL if near is None or outside else near.name[:_LONGEST_NAME]
        named[label] = named[label].plus(count)
    return named


def subtract(long: Mapping[str, Count], short: Mapping[str, Count]) -> dict[str, Count]:
    every = long.keys() | short.keys()
    return {name: long.get(name, Count()).plus(short.get(name, Count()), -1) for name in every}


def join_repeats(
    key: str,
    repeats: Sequence[Mapping[str, Count]],
    *,
    later: Mapping[str, Count] | None = None,
    processes: int = 0,
) -> Work:
    """``repeats``: what :func:`subtract` returned, of at least two pairs of runs.

    ``later``: what it returned of the run with :data:`LATER` iterations and a shorter one of them.
    """
    every = sorted(set().union(*repeats))
    seen = {name: {each.get(name, Count()) for each in repeats} for name in every}
    # Less work by more iterations is waiting, too, however often it repeats.
    steady = {n: min(each) for n, each in seen.items() if len(each) == 1 and min(min(each)) >= 0}
    varying = {
        name: Range(
            smallest=max(0, min(each.instructions for each in seen[name])),
            largest=max(0, *(each.instructions for each in seen[name])),
        )
        for name in every
        if name not in steady
    }
    return Work(
        key=key,
        functions={name: count for name, count in steady.items() if any(count)},
        varying=varying,
        later=_find_later(later or {}, steady, varying),
        processes=processes,
        ran=len(every),
    )


def _find_later(
    later: Mapping[str, Count], steady: Mapping[str, Count], varying: Mapping[str, Range]
) -> dict[str, int]:
    """Return by how much functions do more than they were counted with; what varies, at most."""
    iterations = LATER - LENGTHS[1]
    more: dict[str, int] = {}
    for name, found in later.items():
        counted = steady.get(name, Count()).instructions
        if name in varying:
            counted = varying[name].largest
        excess = found.instructions - iterations * counted
        if excess > 0:
            more[name] = excess
    return more


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
