"""Holds what was traced now against a committed keep set: what is missing and new. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from megtrim.elf.symbol_names import brief
from megtrim.models.operators import OperatorNeeds, select_needs, unite_needs
from megtrim.regions.keepset import (
    KeepSet,
    ScenarioRecord,
    build_keep_set,
    differing,
    is_of_another_toolchain,
)
from megtrim.regions.keepset_parts import model_of
from megtrim.regions.region import order

LISTED = 5
"""Names that a line shows; the others are counted."""


def some(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{', '.join(names[:LISTED])}{more}"


def add_first_times(before: KeepSet, now: KeepSet) -> KeepSet:
    """Return ``before`` with what ``now`` has for the first time, which endangers nothing.

    A scenario is new, or new on this toolchain; one that is known has its first regions or its
    first functions. New scenarios make another link, so the functions of all are new with them.
    """
    if before.generation != now.generation:
        return before
    records = {record.id: record for record in before.scenarios}
    new = [
        record
        for record in now.scenarios
        if _is_new(records.get(record.id), record) and (record.regions or not before.regions())
    ]
    for record in now.scenarios:
        old = records.get(record.id)
        if record in new:
            records[record.id] = record
        elif old is not None and not differing(old, record):
            records[record.id] = _join(old, record, relinked=bool(new))
    traced = any(record.regions for record in records.values())
    needs = before.operators
    if now.operators is not None and (needs is not None or not before.regions()):
        models = {model_of(each.id) for each in (new if before.regions() else now.scenarios)}
        more = (select_needs(now.operators, model) for model in sorted(models))
        needs = unite_needs([*([needs] if needs else ()), *more])
    return build_keep_set(
        before.generation, (each for each in records.values() if each.regions or not traced), needs
    )


def _is_new(old: ScenarioRecord | None, record: ScenarioRecord) -> bool:
    return old is None or is_of_another_toolchain(old, record)


def _join(old: ScenarioRecord, record: ScenarioRecord, *, relinked: bool) -> ScenarioRecord:
    traced = old if old.regions else record
    ran = record if record.functions and (relinked or not old.functions) else old
    return replace(
        record,
        regions=traced.regions,
        trace_sha256=traced.trace_sha256,
        functions=ran.functions,
        link_sha256=ran.link_sha256,
    )


def find_gaps(before: KeepSet, now: KeepSet) -> tuple[str, ...]:
    lines = []
    if before.generation != now.generation:
        lines.append(f"the engine has header generation {now.generation}, not {before.generation}")
    return (*lines, *_scenarios(before, now), *_operators(before.operators, now.operators))


def of_another_link(before: KeepSet, now: KeepSet) -> tuple[str, ...]:
    links = {record.id: record.link_sha256 for record in before.scenarios}
    return tuple(
        record.id
        for record in now.scenarios
        if record.link_sha256 is not None and links.get(record.id) not in (None, record.link_sha256)
    )


def _scenarios(before: KeepSet, now: KeepSet) -> Iterator[str]:
    known = {record.id: record for record in before.scenarios}
    regions = before.regions()
    for record in now.scenarios:
        old = known.get(record.id)
        if old is None:
            yield f"{record.id} is not in it"
            continue
        if changed := differing(old, record):
            yield f"{record.id} is not what was traced: {changed}"
        names = [str(each) for each in sorted({*record.regions} - regions.keys(), key=order)]
        names += _functions(before, record, old)
        if names:
            yield f"{record.id} needs {some(names)}"


def _functions(before: KeepSet, record: ScenarioRecord, old: ScenarioRecord) -> list[str]:
    """Return what it ran and no scenario of the same link lists."""
    if old.link_sha256 not in (None, record.link_sha256):
        return []  # inlining differs in another link, so names cannot be compared
    same = (each for each in before.scenarios if each.link_sha256 == record.link_sha256)
    listed = {name for each in same for name in each.functions}
    return [brief(name) for name in sorted({*record.functions} - listed)]


def _operators(before: OperatorNeeds | None, now: OperatorNeeds | None) -> Iterator[str]:
    if before is None:
        return
    if now is None:
        yield "all operators are needed, and it lists some"
        return
    for noun, had, needs in (
        ("operator", before.operators, now.operators),
        ("data type", before.dtypes, now.dtypes),
        ("elementwise mode", before.elemwise_modes, now.elemwise_modes),
    ):
        names = sorted(_names(needs) - _names(had))
        if names:
            yield f"the models need the {noun}{'' if len(names) == 1 else 's'} {some(names)}"


def _names(needs: Collection[tuple[str, tuple[str, ...]]]) -> set[str]:
    return {name for name, _ in needs}
