"""Rows of what scenarios use: work and memory, what they grew by, and their limits. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from megtrim.core.build_spec import Variant
from megtrim.core.checks.statuses import CheckKind, CheckStatus
from megtrim.core.config.performance import MemoryConfig
from megtrim.core.config.units import PEAK, WORK
from megtrim.core.size.breakdown import View, compare_tables
from megtrim.core.size.byte_table import ByteChange, ByteTable, by_component, list_largest
from megtrim.core.size.rows import BudgetRow, WorkUse
from megtrim.libs.elf.components import find_component
from megtrim.libs.elf.symbol_names import readable
from megtrim.libs.util.errors import InputError
from megtrim.times.counts.use import MemoryUse, Use, Work

if TYPE_CHECKING:
    from megtrim.core.config.model import Config

VARIES = 0.03
"""Share of a peak by which runs of one program differ, at most: less is no change."""
_MOST_LEFT_OUT = 0.1
"""Share of the functions that ran, or of the baseline's work, that may be left out."""
_MOST_CHANGES = 40
_LONGEST_NAME = 200
_NOT_RUN = "it could not be run"


def list_rows(
    found: Mapping[str, Use], before: Mapping[str, Use], config: Config, source: str
) -> Iterator[BudgetRow]:
    """Yield rows by scenario. ``source``: the baseline's."""
    for scenario, use in found.items():
        former = before.get(scenario, Use())
        for variant in (Variant.PLAIN, Variant.REDUCED) if config.work else ():
            row = _make_row(scenario, variant, WORK)
            most = config.work.growth if config.work and variant is Variant.REDUCED else None
            if now := use.work.get(variant):
                yield compare_work(row, now, former.work.get(variant), source, most)
            else:
                note = f"not counted, because {use.reasons.get('work', _NOT_RUN)}"
                yield _leave_open(row, note, limited=most is not None)
        if config.memory and use.memory:
            yield from _compare_memory(scenario, use.memory, former.memory, config.memory, source)
        elif config.memory:
            note = f"not measured, because {use.reasons.get('memory', _NOT_RUN)}"
            row = _make_row(scenario, Variant.REDUCED, PEAK)
            yield _leave_open(row, note, limited=config.memory != MemoryConfig())


def _make_row(scenario: str, variant: Variant, measure: str) -> BudgetRow:
    kind = CheckKind.GROWTH
    status = CheckStatus.SKIPPED
    shown = str(variant)
    return BudgetRow(kind=kind, artifact=scenario, variant=shown, measure=measure, status=status)


def _leave_open(row: BudgetRow, note: str, *, limited: bool) -> BudgetRow:
    status = CheckStatus.INCONCLUSIVE if limited else CheckStatus.SKIPPED
    return replace(row, note=note, status=status)


def _judge(row: BudgetRow, used_bytes: int | None, most: int | None, source: str = "") -> BudgetRow:
    """``source``: the baseline's, of a growth."""
    status = row.status
    known = source if used_bytes is not None else ""
    if used_bytes is not None and most is not None:
        status = CheckStatus.PASS if used_bytes <= most else CheckStatus.FAIL
    return replace(row, used_bytes=used_bytes, max_bytes=most, baseline=known, status=status)


def compare_work(
    row: BudgetRow, now: Work, former: Work | None, source: str, most: float | None = None
) -> BudgetRow:
    """``former``: the baseline's; ``most``: the largest growth, as a share."""
    known = former if former and former.key == now.key else now
    left_out = {*now.left_out, *known.left_out}
    tables = [_tabulate(each, left_out) for each in (known, now)]
    old, new = map(by_component, tables)
    lost = sum(known.functions[name][0] for name in left_out & known.functions.keys())
    use = WorkUse(
        instructions=now.total.instructions,
        accesses=now.total.accesses,
        before=old.total(),
        changed=list_largest(compare_tables(tables[0], tables[1], View.SYMBOL), _MOST_CHANGES),
        components=tuple(
            ByteChange(component="", label=name, before_bytes=old[name], after_bytes=new[name])
            for name in sorted({*old, *new})
        ),
        left_out=tuple(sorted(map(_show, left_out))),
    )
    row = replace(row, work=use, note="" if known is former else "no baseline")
    if not now.functions or len(now.left_out) > _MOST_LEFT_OUT * now.ran:
        little = f"{len(now.left_out)} of {now.ran} functions vary"
        row = _leave_open(row, f"too little is left: {little}", limited=most is not None)
    elif lost > _MOST_LEFT_OUT * known.total.instructions:
        little = f"{lost / known.total.instructions:.0%} of the work varies now"
        row = _leave_open(row, f"too little is left: {little}", limited=most is not None)
    grown = None if row.note else new.total() - old.total()
    return _judge(row, grown, None if most is None else round(most * old.total()), source)


def _tabulate(work: Work, left_out: AbstractSet[str]) -> ByteTable:
    """Nothing is too small for a row of its own: it is exact."""
    components: dict[str, Counter[str]] = {}
    for name, (instructions, _) in work.functions.items():
        if name not in left_out:
            named = components.setdefault(find_component(name, ""), Counter())
            named[_show(name)] += instructions
    return ByteTable(least_bytes=0, components=components)


def _show(name: str) -> str:
    # With its arguments: kernels are instances that they tell apart.
    with suppress(InputError):  # this machine has no C++ library to read names by
        name = readable(name)
    return name[:_LONGEST_NAME]


def _compare_memory(
    scenario: str, use: MemoryUse, former: MemoryUse | None, limits: MemoryConfig, source: str
) -> Iterator[BudgetRow]:
    """Limits are of the peak: a plan follows from the model, and is shown."""
    known = former.figures if former and former.key == use.key else {}
    for measure, size_bytes in use.figures.items():
        row = _make_row(scenario, Variant.REDUCED, measure)
        held = limits if measure == PEAK else MemoryConfig()
        was = known.get(measure)
        grown = None if was is None else size_bytes - was
        if was and grown and measure == PEAK and abs(grown) <= VARIES * was:
            grown = 0
        growth = held.growth.limit_bytes(was or size_bytes) if held.growth else None
        yield _judge(replace(row, kind=CheckKind.SIZE), size_bytes, held.max_bytes)
        yield _judge(row, grown, growth, source)
