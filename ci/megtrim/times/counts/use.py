"""What scenarios use: the work of an iteration, by function, and memory. Pure.

Work is the difference of two runs that make :data:`LENGTHS` iterations.
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
NO_SYMBOL = "[without a symbol]"
_LARGEST_BYTES = 64 * 1024 * 1024
_LONGEST_NAME = 4096
_BLOCK = re.compile(rb"([0-9a-f]{1,16}) ([0-9]{1,18}) ([0-9]{1,18})")
_END = re.compile(rb"([0-9]{1,7}) blocks")
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


class Work(Value):
    """Of one program in one scenario; functions that no iteration runs are not listed."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    key: Digest
    """Of all that the count depends on but the program: another key is not comparable."""
    functions: Mapping[Name, Annotated[tuple[Number, Number], Field(min_length=2, max_length=2)]]
    """Instructions and accesses, equal in all repeats."""
    left_out: tuple[Name, ...] = ()
    """Functions whose counts vary from repeat to repeat: they wait, or print times; sorted."""
    ran: Number
    """Functions that ran at all."""

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


class Use(StageResult):
    """Of the stage `count`, and in baselines."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    work: Mapping[Name, Work] = field(default_factory=dict)
    """By variant."""
    memory: MemoryUse | None = None
    """Of the trimmed program."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why one of them is not known."""


def parse_blocks(data: bytes, *, source: str) -> list[tuple[int, Count]]:
    """Read what the plugin wrote: for each block its offset, instructions and accesses.

    ``OFFSET INSTRUCTIONS ACCESSES``, a block a line, the offset from the program's first byte of
    code, in hexadecimal; at the end how many lines there are. Raises InputError.
    """
    *lines, last = data[: _LARGEST_BYTES + 1].splitlines() or [b""]
    end = _END.fullmatch(last)
    found = [_BLOCK.fullmatch(line) for line in lines]
    if len(data) > _LARGEST_BYTES or end is None or int(end[1]) != len(lines) or None in found:
        msg = f"{source}: found another text than the plugin writes, which ends in {last[:40]!a}"
        raise InputError(msg, hint="count it again")
    return [(int(o, 16), Count(int(n), int(m))) for o, n, m in (x.groups() for x in found if x)]


def find_code(segments: Iterable[Segment]) -> int:
    """Return the address of a program's first byte of code."""
    code = (each.address for each in segments if each.kind == LOADED and each.flags & EXECUTABLE)
    return min(code, default=0)


def name_functions(
    blocks: Iterable[tuple[int, Count]], table: FunctionTable, code: int
) -> dict[str, Count]:
    """A function without a recorded size, written in assembler, reaches to the next one."""
    starts: dict[int, Function] = {}
    for function in table.functions:  # of several at one address, the first that has a size
        if function.address not in starts or not starts[function.address].size_bytes:
            starts[function.address] = function
    places = [*starts]
    named = defaultdict[str, Count](Count)
    for offset, count in blocks:
        at = bisect_right(places, code + offset) - 1
        near = starts[places[at]] if at >= 0 else None
        outside = near is None or 0 < near.size_bytes <= code + offset - near.address
        label = NO_SYMBOL if near is None or outside else near.name[:_LONGEST_NAME]
        named[label] = named[label].plus(count)
    return named


def subtract(long: Mapping[str, Count], short: Mapping[str, Count]) -> dict[str, Count]:
    every = long.keys() | short.keys()
    return {name: long.get(name, Count()).plus(short.get(name, Count()), -1) for name in every}


def join_repeats(key: str, repeats: Sequence[Mapping[str, Count]]) -> Work:
    """``repeats``: what :func:`subtract` returned, of at least two pairs of runs."""
    every = sorted(set().union(*repeats))
    seen = {name: {each.get(name, Count()) for each in repeats} for name in every}
    # Less work by more iterations is waiting, too, however often it repeats.
    steady = {n: min(each) for n, each in seen.items() if len(each) == 1 and min(min(each)) >= 0}
    return Work(
        key=key,
        functions={name: count for name, count in steady.items() if any(count)},
        left_out=tuple(name for name in every if name not in steady),
        ran=len(every),
    )


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
