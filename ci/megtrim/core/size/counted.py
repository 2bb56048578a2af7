"""What a scenario uses: its work, by function, and memory. Values of results.

Work is of an iteration where the program can be asked for a number of them: the difference of two
runs that make :data:`LENGTHS` iterations. One run more, of :data:`LATER` iterations, shows whether
those that follow do more. Of what the shorter run does besides, and of what the system does, only
the amount is known: see :class:`Beside`. The work of a command is that of its whole run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from functools import reduce
from typing import Annotated, NamedTuple

from pydantic import ConfigDict, Field, StrictBool

from megtrim.core.chain.stage_result import StageResult
from megtrim.libs.util.value import Value

LENGTHS = (1, 2)
LATER = 8
"""Iterations of the run that shows what the third and later ones do."""
BASE_PREFIX = "base "
"""Begins the name of what is of an earlier commit's programs."""
LONGEST_NAME = 4096
WORK_KEY = "work"
MEMORY_KEY = "memory"
"""What keys are of, and why figures are missing."""

Name = Annotated[str, Field(max_length=LONGEST_NAME)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Number = Annotated[int, Field(ge=0, le=2**62, strict=True)]


class Count(NamedTuple):
    instructions: int = 0
    accesses: int = 0
    """Of memory: reads and writes."""

    def plus(self, other: tuple[int, int], times: int = 1) -> Count:
        return Count(self.instructions + times * other[0], self.accesses + times * other[1])


class Range(NamedTuple):
    """Instructions of a function whose count varies from repeat to repeat."""

    smallest: int
    largest: int


class Beside(StrEnum):
    """What the instructions do not show. Start, end and later ones are of iterations."""

    OUTSIDE = "instructions at the start and end"
    """And of the first iteration what it does more than the second."""
    OUTSIDE_BYTES = "bytes moved at the start and end"
    CALLS = "system calls"
    BYTES = "bytes moved by system calls"
    LATER_CALLS = f"system calls of iterations {LENGTHS[1] + 1} to {LATER}"
    LATER_BYTES = f"bytes moved in iterations {LENGTHS[1] + 1} to {LATER}"


class Work(Value):
    """Of one program in one scenario; functions that none of the work runs are not listed."""

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
    beside: Mapping[Beside, Annotated[tuple[Number, Number], Field(min_length=2, max_length=2)]] = (
        field(default_factory=dict)
    )
    """The least and the most of it in any repeat. Of later iterations, what they do more."""
    ran: Number
    """Functions that ran at all."""
    whole: StrictBool = False
    """It is of the whole run, from start to end; otherwise, of an iteration."""

    @property
    def left_out(self) -> tuple[str, ...]:
        return tuple(sorted(self.varying))

    @property
    def total(self) -> Count:
        return reduce(Count.plus, self.functions.values(), Count())


class Unmapped(StrEnum):
    """What makes memory that no process has mapped, and that is in no peak then."""

    FILES = "files"
    """Files in memory that are made, and files that are given a size."""
    BYTES = "bytes of files"
    """Written to files, which may be in memory, to pipes and sockets, and sizes that files got."""


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
    unmapped: Mapping[Unmapped, Number] = field(default_factory=dict)
    """As the counting emulator saw."""
    base_figures: Mapping[Name, Number] = field(default_factory=dict)
    """Of an earlier commit's program, measured again with this key; not in baselines."""
    base_unmapped: Mapping[Unmapped, Number] = field(default_factory=dict)


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
