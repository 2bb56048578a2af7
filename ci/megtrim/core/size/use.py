"""Rows of what scenarios use: work and memory, what they grew by, and their limits. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from megtrim.core.build_spec import Variant
from megtrim.core.checks.statuses import CheckKind, CheckStatus
from megtrim.core.components import find_components
from megtrim.core.config.performance import MemoryConfig, WorkConfig
from megtrim.core.config.units import PEAK, WORK, Unit
from megtrim.core.keep.keepset import model_of
from megtrim.core.size.beside import find_growth_beside, find_unmapped_growth, with_base
from megtrim.core.size.breakdown import compare_tables
from megtrim.core.size.byte_table import ByteTable, LabelChange, by_component, list_largest
from megtrim.core.size.counted import (
    BASE_PREFIX,
    LATER,
    LENGTHS,
    MEMORY_KEY,
    WORK_KEY,
    Beside,
    MemoryUse,
    Range,
    Use,
    Work,
)
from megtrim.core.size.rows import BudgetRow, WorkUse
from megtrim.core.size.views import View
from megtrim.libs.elf.symbol_names import readable
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.wording import count

if TYPE_CHECKING:
    from megtrim.core.config.model import Config

VARIES = 0.03
"""Share of a peak by which runs of one program differ, at most: less is no change."""
_MOST_LEFT_OUT = 0.1
"""Share of the functions that ran, or of the baseline's work, that may be left out."""
_MOST_CHANGES = 40
_LONGEST_NAME = 200
_MOST_NAMED = 3
NOT_RUN = "it could not be run"
_OF_THE_BASELINE = "the baseline "
"""Begins what only the programs of the base can answer."""
_MEASURE_AGAIN = "trim the base, and then `megtrim trim --base DIR` with its results"
_OTHER_CONDITIONS = "input, thread number, command line or emulator"
_NO_BASELINE = "no baseline"
OF_BASE = "the base's programs, measured again"
"""Source of what growth is measured against, in place of a baseline under other conditions."""
OF_BASE_PLAIN = "the base's plain program, measured again, as its trimmed one cannot run this"

Policy = Literal["fail", "warn"]


def list_rows(
    found: Mapping[str, Use],
    before: Mapping[str, Use],
    config: Config,
    source: str,
    lost: Collection[str] = (),
) -> Iterator[BudgetRow]:
    """Yield rows by scenario. ``source``: the baseline's.

    ``lost``: scenarios that the machine failed to measure, as on a full disk.
    """
    for row in _list_rows(found, before, config, source):
        yield _blame_machine(row) if row.artifact in lost else row


def _blame_machine(row: BudgetRow) -> BudgetRow:
    """A limit that failed because nothing was measured is no failure of the product then."""
    if row.status is not CheckStatus.FAIL or row.is_exceeded:
        return row
    return replace(row, status=CheckStatus.INFRASTRUCTURE)


def _list_rows(
    found: Mapping[str, Use], before: Mapping[str, Use], config: Config, source: str
) -> Iterator[BudgetRow]:
    gone = sorted(before.keys() - found.keys())
    for scenario, use in found.items():
        former = before.get(scenario)
        missing = _explain_missing(former, gone)
        if config.work:
            yield from _list_work(scenario, use, former, config.work, source, missing)
        if config.memory:
            yield from _list_memory(scenario, use, former, config.memory, source, missing)


def list_under_other_conditions(
    keys: Mapping[str, Mapping[str, str]], before: Mapping[str, Use]
) -> tuple[str, ...]:
    """Return the scenarios of which the baseline says nothing under the conditions of now.

    ``keys``: of what has a limit, by scenario and then by what it is of.
    """
    gone = sorted(before.keys() - keys.keys())
    found = []
    for scenario, wanted in keys.items():
        former = before.get(scenario)
        missing = _explain_missing(former, gone)
        known = _list_keys(former)
        if any(
            known[name] != key if name in known else name in missing for name, key in wanted.items()
        ):
            found.append(scenario)
    return tuple(found)


def _list_keys(use: Use | None) -> dict[str, str]:
    keys: dict[str, str] = {}
    if use is None:
        return keys
    if counted := use.work.get(Variant.REDUCED):
        keys[WORK_KEY] = counted.key
    if use.memory is not None:
        keys[MEMORY_KEY] = use.memory.key
    return keys


def _explain_missing(former: Use | None, gone: Sequence[str]) -> Mapping[str, str]:
    """Return why the baseline lacks a figure that it should have, by what it is of.

    A scenario that is only new has none, and nothing to grow from. One that came while another
    went may be that one under another name.
    """
    if former is not None:
        return dict.fromkeys(former.reasons, f"{_OF_THE_BASELINE}could not measure it")
    if not gone:
        return {}
    named = ", ".join(gone[:_MOST_NAMED])
    lacking = f"has no scenario of this name, but has {named}, which this trim lacks"
    renamed = f"{_OF_THE_BASELINE}{lacking}"
    return {WORK_KEY: renamed, MEMORY_KEY: renamed}


def _list_work(
    scenario: str,
    use: Use,
    former: Use | None,
    limits: WorkConfig,
    source: str,
    missing: Mapping[str, str],
) -> Iterator[BudgetRow]:
    for variant in (Variant.PLAIN, Variant.REDUCED):
        row = _make_row(scenario, variant, WORK)
        most = limits.growth if variant is Variant.REDUCED else None
        now = use.work.get(variant)
        if now is None:
            note = f"not counted, because {use.reasons.get('work', NOT_RUN)}"
            yield _leave_open(row, note, limited=most is not None, policy=limits.inconclusive)
            continue
        known = former.work.get(variant) if former else None
        since = source
        again = use.work.get(f"{BASE_PREFIX}{variant}")
        if again and (known is None or known.key != now.key):
            known = again
            since = OF_BASE
        same_key = known is not None and known.key == now.key
        by_plain = use.work.get(f"{BASE_PREFIX}{Variant.PLAIN}")
        if most is not None and not same_key and by_plain:
            yield _compare_by_plain(row, use, by_plain, most, limits.inconclusive)
            continue
        row = compare_work(
            row,
            now,
            known,
            since,
            most,
            policy=limits.inconclusive,
            missing=missing.get("work", ""),
        )
        yield _explain_base(row, use, "work")


def _compare_by_plain(
    row: BudgetRow, use: Use, base: Work, most: float, policy: Policy
) -> BudgetRow:
    """Judge the trimmed program by the plain ones, as the base's trimmed one cannot run this.

    A change of the sources shows in both. What trimming alone adds is held to the same limit.
    """
    plain = use.work[Variant.PLAIN]
    trimmed = use.work[Variant.REDUCED]
    later = (Beside.LATER_CALLS, Beside.LATER_BYTES)
    beside = {**plain.beside, **{kind: trimmed.beside.get(kind, (0, 0)) for kind in later}}
    now = replace(plain, later=trimmed.later, processes=trimmed.processes, beside=beside)
    judged = compare_work(row, now, base, OF_BASE_PLAIN, most, policy=policy)
    added = trimmed.total.instructions - plain.total.instructions
    if judged.status is CheckStatus.PASS and added > most * plain.total.instructions:
        note = "the trimmed program does more than the plain one, and the base's could not be run"
        open_row = _leave_open(judged, note, limited=True, policy=policy)
        return replace(open_row, used=None, baseline="")
    return judged


def _explain_base(row: BudgetRow, use: Use, name: str) -> BudgetRow:
    """Add to an answer that is not known why an earlier commit's programs did not give it."""
    reason = use.reasons.get(f"{BASE_PREFIX}{name}")
    if not row.note:
        return row
    if reason:
        return replace(
            row, note=f"{row.note}; its programs were not counted again, because {reason}"
        )
    is_open = row.status in (CheckStatus.FAIL, CheckStatus.INCONCLUSIVE)
    if is_open and row.note.startswith(_OF_THE_BASELINE):
        return replace(row, note=f"{row.note}; {_MEASURE_AGAIN}")
    return row


def _explain_other_key(scenario: str) -> str:
    subject = "model" if model_of(scenario) != scenario else "environment"
    return f"{_OF_THE_BASELINE}has another {subject}, {_OTHER_CONDITIONS}"


def _make_row(scenario: str, variant: Variant, measure: str) -> BudgetRow:
    kind = CheckKind.GROWTH
    status = CheckStatus.SKIPPED
    shown = str(variant)
    return BudgetRow(kind=kind, artifact=scenario, variant=shown, measure=measure, status=status)


def _leave_open(row: BudgetRow, note: str, *, limited: bool, policy: Policy) -> BudgetRow:
    """``limited``: the team asked for an answer, and there is none."""
    if not limited:
        return replace(row, note=note)
    status = CheckStatus.FAIL if policy == "fail" else CheckStatus.INCONCLUSIVE
    return replace(row, note=note, status=status)


def _judge(row: BudgetRow, used: int | None, most: int | None, source: str = "") -> BudgetRow:
    """``source``: the baseline's, of a growth."""
    status = row.status
    known = source if used is not None else ""
    if used is not None and most is not None:
        status = CheckStatus.PASS if used <= most else CheckStatus.FAIL
    return replace(row, used=used, limit=most, baseline=known, status=status)


def compare_work(
    row: BudgetRow,
    now: Work,
    former: Work | None,
    source: str,
    most: float | None = None,
    *,
    policy: Policy = "fail",
    missing: str = "",
) -> BudgetRow:
    """Judge the growth of what did not vary; it passes only if nothing else can exceed the limit.

    ``former``: the baseline's; ``most``: the largest growth, as a share; ``missing``: why there is
    no ``former``, which there should be.
    """
    comparable = former is not None and former.key == now.key
    known = former if former is not None and comparable else now
    left_out = now.varying.keys() | known.varying.keys()
    tables = [_tabulate(each, left_out) for each in (known, now)]
    old, new = map(by_component, tables)
    accesses = sum(number for name, (_, number) in now.functions.items() if name not in left_out)
    changed = compare_tables(tables[0], tables[1], View.SYMBOL)
    components = [
        LabelChange(component="", label=name, before=old[name], after=new[name])
        for name in sorted({*old, *new})
    ]
    varying = 0
    for name in left_out:
        varying += max(_find_range(known, name).smallest, _find_range(now, name).smallest)
    use = WorkUse(
        instructions=new.total(),
        accesses=accesses,
        before=old.total(),
        changed=list_largest(changed, _MOST_CHANGES),
        components=tuple(components),
        left_out=tuple(sorted(map(_show, left_out))),
        varying=varying,
        processes=now.processes,
        whole=now.whole,
    )
    row = replace(row, unit=Unit.INSTRUCTIONS, work=use, note="")
    limit = None if most is None else round(most * old.total())
    grown = new.total() - old.total()
    if comparable and limit is not None and grown > limit:
        return _judge(row, grown, limit, source)
    if not comparable:
        note = _explain_other_key(row.artifact) if former else missing
        little = _find_little(now, known, left_out)
        if note or little:
            row = _leave_open(row, little or note, limited=most is not None, policy=policy)
        return _judge(replace(row, note=row.note or _NO_BASELINE), None, limit)
    note = _find_little(now, known, left_out)
    if not note and limit is not None:
        note = _find_excess(now, known, grown, limit)
    if not note and most is not None and (more := find_growth_beside(now, known, most)):
        note = f"growth beyond the limit that the count does not show: {more}"
    if note:
        row = _leave_open(row, note, limited=most is not None, policy=policy)
        return _judge(row, None, limit)
    return _judge(row, grown, limit, source)


def _find_little(now: Work, known: Work, left_out: AbstractSet[str]) -> str:
    """Return why what is left to compare says too little; empty: it does not."""
    lost = sum(known.functions[name][0] for name in left_out & known.functions.keys())
    if not now.functions or len(now.varying) > _MOST_LEFT_OUT * now.ran:
        return f"too little is left: {len(now.varying)} of {now.ran} functions vary"
    if lost > _MOST_LEFT_OUT * known.total.instructions:
        return f"too little is left: {lost / known.total.instructions:.0%} of the work varies now"
    return ""


def _find_range(work: Work, name: str) -> Range:
    if name in work.varying:
        return Range(*work.varying[name])
    instructions = work.functions.get(name, (0, 0))[0]
    return Range(instructions, instructions)


def _bound_growth(now: Work, known: Work, name: str, limit: int) -> int:
    """Return the most that a function which varies may have grown by in an iteration.

    One that varied widely before waits: of it the least counts, which does not depend on waiting.
    Of any other one the most counts, too: what varies only now, as a coin falls, is growth.
    """
    was = _find_range(known, name)
    seen = _find_range(now, name)
    least = seen.smallest - was.smallest
    return least if _waits(was, limit) else max(least, seen.largest - was.largest)


def _waits(was: Range, limit: int) -> bool:
    return was.largest - was.smallest > limit


def _find_excess(now: Work, known: Work, grown: int, limit: int) -> str:
    """Return what of the growth is not known, and may be more than the limit; empty: nothing."""
    if now.processes:
        started = count(now.processes, "process", "processes")
        return f"it starts {started}, of which nothing is counted"
    names = now.varying.keys() | known.varying.keys()
    bounds = {name: _bound_growth(now, known, name, limit) for name in names}
    more = {name: bound for name, bound in bounds.items() if bound > 0}
    if more and grown + sum(more.values()) > limit:
        return f"with what varies it may be more than the limit: {_name_largest(more)}"
    later = {}
    for name, excess in now.later.items():
        more_later = excess - known.later.get(name, 0)
        if more_later > 0:
            later[name] = more_later
    if sum(later.values()) > limit:
        these = f"iterations {LENGTHS[1] + 1} to {LATER}"
        return f"{these} do more than the second: {_name_largest(later)}"
    return ""


def _name_largest(counts: Mapping[str, int]) -> str:
    largest = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:_MOST_NAMED]
    return ", ".join(f"{_show(name)} {instructions:,}" for name, instructions in largest)


def _tabulate(work: Work, left_out: AbstractSet[str]) -> ByteTable:
    """Nothing is too small for a row of its own: it is exact."""
    components: dict[str, Counter[str]] = {}
    for name, (instructions, _) in work.functions.items():
        if name not in left_out:
            component = find_components().find_component(name, "")
            named = components.setdefault(component, Counter())
            named[_show(name)] += instructions
    return ByteTable(least_bytes=0, components=components)


def _show(name: str) -> str:
    # With its arguments: kernels are instances that they tell apart.
    with suppress(InputError):  # this machine has no C++ library to read names by
        name = readable(name)
    return name[:_LONGEST_NAME]


def _list_memory(
    scenario: str,
    use: Use,
    former: Use | None,
    limits: MemoryConfig,
    source: str,
    missing: Mapping[str, str],
) -> Iterator[BudgetRow]:
    """Limits are of the peak: a plan follows from the model, and is shown."""
    if use.memory is None:
        note = f"not measured, because {use.reasons.get('memory', NOT_RUN)}"
        row = _make_row(scenario, Variant.REDUCED, PEAK)
        limited = limits.is_limited
        policy = limits.inconclusive
        yield _leave_open(row, note, limited=limited, policy=policy)
        return
    known = former.memory if former else None
    unknown = missing.get("memory", "")
    again = use.memory.base_figures
    if again and (known is None or known.key != use.memory.key):
        known = with_base(use.memory)
        source = OF_BASE
    if known is not None and known.key != use.memory.key:
        known = None
        unknown = _explain_other_key(scenario)
    before = known.figures if known else {}
    for measure, size_bytes in use.memory.figures.items():
        row = _make_row(scenario, Variant.REDUCED, measure)
        held = limits if measure == PEAK else MemoryConfig()
        was = before.get(measure)
        grown = None if was is None else size_bytes - was
        if was and grown and measure == PEAK and abs(grown) <= VARIES * was:
            grown = 0
        growth = held.growth.limit_bytes(was or size_bytes) if held.growth else None
        size_row = _judge(replace(row, kind=CheckKind.SIZE), size_bytes, held.max_bytes)
        growth_row = _judge(row, grown, growth, source)
        if grown is None and unknown:
            limited = growth is not None
            growth_row = _leave_open(
                growth_row, unknown, limited=limited, policy=limits.inconclusive
            )
            growth_row = _explain_base(growth_row, use, "memory")
        for each in (size_row, growth_row):
            yield _doubt(each, use, known, limits.inconclusive) if measure == PEAK else each


def _doubt(row: BudgetRow, use: Use, known: MemoryUse | None, policy: Policy) -> BudgetRow:
    """Return a peak's row with what is not in the peak: it is no pass, if that is known."""
    unseen = ""
    if row.status is CheckStatus.PASS and use.memory:
        grows = row.kind is CheckKind.GROWTH
        unseen = find_unmapped_growth(use.memory, known, row.left or 0, grows=grows)
        if use.memory.processes:
            started = count(use.memory.processes, "process", "processes")
            unseen = f"it starts {started}, whose memory is not in that"
    if unseen:
        note = f"{row.used_text}, and {unseen}"
        open_row = _leave_open(row, note, limited=True, policy=policy)
        return replace(open_row, used=None, baseline="")
    if unknown := use.reasons.get("processes"):
        return replace(row, note=f"whether it starts other processes is not known: {unknown}")
    return row
