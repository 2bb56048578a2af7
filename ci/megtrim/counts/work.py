"""Counted work: what an iteration of a scenario executes, by function, and how it differs. Pure.

A count is the difference of two runs that make :data:`LENGTHS` iterations. It is that of
:data:`ITERATIONS` iterations together, and so a whole number.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import reduce
from typing import Annotated, NamedTuple

from pydantic import ConfigDict, Field

from megtrim.build_spec import Variant
from megtrim.chain.stage_result import StageResult
from megtrim.checks.check import Check
from megtrim.checks.statuses import CheckKind, CheckStatus
from megtrim.config.problems import Place
from megtrim.elf.components import find_component
from megtrim.elf.layout import EXECUTABLE, LOADED, Segment
from megtrim.elf.symbol_names import readable
from megtrim.elf.symbol_table import Function, FunctionTable
from megtrim.util.errors import InputError
from megtrim.util.strict_json import SignedInt
from megtrim.util.value import Value

LENGTHS = (1, 5)
ITERATIONS = LENGTHS[1] - LENGTHS[0]
NO_SYMBOL = "[without a symbol]"
MOST_LEFT_OUT = 0.1
"""Share of the functions that ran, or of the baseline's work, that may be left out."""
_MOST_CHANGES, MOST_NAMED, _LONGEST_NAME = 40, 4, 200
_LESS = "make it do less, or raise work.growth in the same change and say why"
_LARGEST_BYTES = 64 * 1024 * 1024
_BLOCK = re.compile(rb"([0-9a-f]{1,16}) ([0-9]{1,18}) ([0-9]{1,18})")
_END = re.compile(rb"([0-9]{1,7}) blocks")

Name = Annotated[str, Field(max_length=4096)]
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


class CountResult(StageResult):
    """Of the stage `count`."""

    work: Mapping[str, Work] = field(default_factory=dict)
    """By variant."""
    reason: str = ""
    """Why it was not counted; empty: it was."""


NOT_COUNTED = CountResult(reason="it could not be run")


def parse_blocks(data: bytes, *, source: str) -> list[tuple[int, Count]]:
    """Read what the plugin wrote: for each block its offset, instructions and accesses.

    ``OFFSET INSTRUCTIONS ACCESSES``, a block a line, the offset from the program's first byte of
    code, in hexadecimal; at the end how many lines there are. Raises InputError.
    """
    *lines, last = data[: _LARGEST_BYTES + 1].splitlines() or [b""]
    end, found = _END.fullmatch(last), [_BLOCK.fullmatch(line) for line in lines]
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
    places, named = [*starts], defaultdict[str, Count](Count)
    for offset, count in blocks:
        at = bisect_right(places, code + offset) - 1
        near = starts[places[at]] if at >= 0 else None
        outside = near is None or 0 < near.size_bytes <= code + offset - near.address
        label = NO_SYMBOL if near is None or outside else near.name
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


class WorkChange(Value):
    component: str
    function: str
    """Readable."""
    before: Number
    """Instructions of :data:`ITERATIONS` iterations, as all numbers here."""
    after: Number
    accesses: SignedInt
    """How many more accesses of memory there are now."""

    @property
    def growth(self) -> str:
        grown = (self.after - self.before or self.accesses) / ITERATIONS
        what = "" if self.after != self.before else " accesses"
        return f"{grown:+,.1f}".removesuffix(".0") + what


class WorkRow(Value):
    """The work of a scenario on one of its programs, as results and reports show it."""

    scenario: str
    variant: str
    instructions: Number | None
    """None: it was not counted."""
    accesses: Number = 0
    before: Number | None = None
    """Instructions of the baseline, of functions that both count; None: it is not compared."""
    after: Number = 0
    """Instructions now, of the same."""
    note: str = ""
    """Why it was not counted, or is not compared."""
    changed: tuple[WorkChange, ...] = ()
    """Functions, those that changed most first."""
    components: Mapping[str, tuple[Number, Number]] = field(default_factory=dict)
    """Instructions before and now."""
    left_out: tuple[str, ...] = ()
    """Functions that are counted on neither side, because they vary."""
    most: float | None = None
    """The largest growth that is allowed, as a share; None: any."""
    status: CheckStatus

    @property
    def growth(self) -> float | None:
        """A share: 0.02 is 2%."""
        if self.before is None:
            return None
        return (self.after - self.before) / max(self.before, 1)

    @property
    def cell(self) -> str:
        if self.instructions is None:
            return f"not counted, because {self.note}"
        return f"{self.instructions / ITERATIONS:,.0f} ({self.change})"

    @property
    def change(self) -> str:
        if self.growth is None:
            return self.note
        if not self.changed:
            return "no change"
        return f"{self.growth:+.{6 if 0 < abs(self.growth) < 0.0001 else 2}%}"

    @property
    def text(self) -> str:
        if self.instructions is None:
            return self.cell
        most = "" if self.most is None else f", {100 * self.most:g}% allowed"
        shown = ", ".join(f"{each.function} {each.growth}" for each in self.changed[:MOST_NAMED])
        names = f": {shown}" if shown else ""
        return f"{self.cell} instructions an iteration{most}{names}"


def compare(
    scenario: str, variant: str, counted: CountResult, before: Work | None, *, most: float | None
) -> WorkRow:
    """``before``: the baseline's; ``most``: the largest growth, as a share."""
    unknown = CheckStatus.SKIPPED if most is None else CheckStatus.INCONCLUSIVE
    row = WorkRow(scenario=scenario, variant=variant, instructions=None, most=most, status=unknown)
    now = counted.work.get(variant)
    if now is None:
        return replace(row, note=counted.reason)
    known = before if before and before.key == now.key else None
    left_out = {*now.left_out, *(known.left_out if known else ())}
    row = replace(
        row,
        instructions=now.total.instructions,
        accesses=now.total.accesses,
        left_out=tuple(sorted({_show(name) for name in left_out})),
    )
    if not now.functions or len(now.left_out) > MOST_LEFT_OUT * now.ran:
        note = f"too little is left: {len(now.left_out)} of {now.ran} functions vary"
        return replace(row, note=note)
    if known is None:
        return replace(row, note="no baseline", status=CheckStatus.SKIPPED)
    lost = sum(count[0] for name, count in known.functions.items() if name in left_out)
    if (share := lost / max(known.total.instructions, 1)) > MOST_LEFT_OUT:
        return replace(row, note=f"too little is left: {share:.0%} of the work varies now")
    changes = [
        WorkChange(
            component=find_component(name, ""),
            function=_show(name),
            before=old[0],
            after=new[0],
            accesses=new[1] - old[1],
        )
        for name in sorted({*now.functions, *known.functions} - left_out)
        for old, new in [(known.functions.get(name, (0, 0)), now.functions.get(name, (0, 0)))]
    ]
    changed = [each for each in changes if each.after != each.before or each.accesses]
    changed.sort(key=lambda each: (-abs(each.after - each.before), -abs(each.accesses)))
    row = replace(
        row,
        before=sum(each.before for each in changes),
        after=sum(each.after for each in changes),
        changed=tuple(changed[:_MOST_CHANGES]),
        components={
            name: (sum(each.before for each in of), sum(each.after for each in of))
            for name, of in _group(changes).items()
        },
    )
    if most is None:
        return row
    grown = (row.growth or 0) > most
    return replace(row, status=CheckStatus.FAIL if grown else CheckStatus.PASS)


def compare_plain(
    row: WorkRow, now: Mapping[str, Work], before: Mapping[str, Work], *, lacking: str
) -> WorkRow:
    """``lacking``: why ``before`` has nothing. A row of what ships stays as it was judged."""
    if row.variant != Variant.PLAIN or row.variant not in now:
        return row
    known, former = CountResult(work=now), before.get(row.variant)
    found = compare(row.scenario, row.variant, known, former, most=None)
    return found if former else replace(found, note=lacking)


def _group(changes: Iterable[WorkChange]) -> dict[str, list[WorkChange]]:
    found = defaultdict[str, list[WorkChange]](list)
    for each in changes:
        found[each.component].append(each)
    return found


def _show(name: str) -> str:
    # With its arguments: kernels are instances that they tell apart.
    with suppress(InputError):  # this machine has no C++ library to read names by
        name = readable(name)
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def work_checks(rows: Iterable[WorkRow], *, place: Place, reproduce: str) -> Iterator[Check]:
    """Of what ships, where growth is limited."""
    for row in rows:
        if row.most is None or row.variant != Variant.REDUCED:
            continue
        failed = row.status is CheckStatus.FAIL
        yield Check(
            id=f"{CheckKind.WORK}:{row.scenario}",
            kind=CheckKind.WORK,
            subject=row.scenario,
            status=row.status,
            text=row.text,
            hint=_LESS if failed else "",
            file=place.file,
            line=place.line,
            reproduce=reproduce if failed else "",
        )
