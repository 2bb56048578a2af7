"""Finds what was traced now but is missing in a committed keep set: a build would trap.

Pure: two keep sets in, messages out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from megtrim.elf.symbol_names import brief
from megtrim.midout.keepset import KeepSet, ScenarioRecord
from megtrim.midout.region import order
from megtrim.models.operators import OperatorNeeds

LISTED = 5
"""Number of names that a line shows; the others are counted."""

_BOUND = {
    "model_sha256": "the model",
    "arguments": "the arguments",
    "inputs": "an input",
    "algo_cache_sha256": "the algorithm cache",
    "threads": "the number of threads",
    "environment": "the environment",
}


def some(names: Sequence[str]) -> str:
    """Return the first names, and the number of the others."""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{', '.join(names[:LISTED])}{more}"


def differing(before: ScenarioRecord, now: ScenarioRecord) -> str:
    """Return what changed in a scenario since it was traced; empty: nothing."""
    return ", ".join(
        noun for name, noun in _BOUND.items() if getattr(before, name) != getattr(now, name)
    )


def find_gaps(before: KeepSet, now: KeepSet) -> tuple[str, ...]:
    """Return a line for each thing that ``now`` needs and ``before`` does not contain."""
    lines = []
    if before.generation != now.generation:
        lines.append(f"the engine has header generation {now.generation}, not {before.generation}")
    return (*lines, *_scenarios(before, now), *_operators(before.operators, now.operators))


def of_another_link(before: KeepSet, now: KeepSet) -> tuple[str, ...]:
    """Return the scenarios whose functions belong to another link, and cannot be compared."""
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
            yield f"{record.id} is not what was traced: {changed} changed"
        names = [str(each) for each in sorted({*record.regions} - regions.keys(), key=order)]
        names += _functions(before, record, old)
        if names:
            yield f"{record.id} needs {some(names)}"


def _functions(before: KeepSet, record: ScenarioRecord, old: ScenarioRecord) -> list[str]:
    """Return the functions that it ran, and that no scenario of the same link lists."""
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
