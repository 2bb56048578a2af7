"""The keep set: regions, functions and operators that scenarios need, and who needs each. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import pairwise
from typing import TypeVar

from megtrim.core.keep.operators import OperatorNeeds, select_needs, strip_version, unite_needs
from megtrim.core.keep.region import Region, order
from megtrim.core.keep.split_function import SplitFunction
from megtrim.core.keep.trace import TraceFailure, TraceProblem
from megtrim.libs.elf.symbol_names import brief
from megtrim.libs.util.environment import Variables
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

MOST_LISTED = 5
GENERATIONS = (20190219, 20220507)
"""Versions of the header in engines: up to 1.6, and from 1.7 on."""
_BOUND = {
    "model_sha256": "the model",
    "arguments": "the arguments",
    "inputs": "an input",
    "algo_cache_sha256": "the algorithm cache",
    "threads": "the number of threads",
    "environment": "the environment",
}
RAN = "scenarios that run it"
LISTED = "models whose operator lists have it"
_Item = TypeVar("_Item", Region, SplitFunction, str)
_NO_GRAPH = " (whether only weights did is not known: the keep set does not name its graph)"


class ScenarioRecord(Value):
    id: str
    """``MODEL/SCENARIO@CLASS``; of a command, ``NAME@CLASS``."""
    model_sha256: str
    """Empty: it has no model."""
    graph_sha256: str | None = None
    """Of the model without the values of its weights; None if its file does not show them."""
    toolchain: str = ""
    """Kind and target of the toolchain; empty if each machine chooses its own."""
    arguments: tuple[str, ...]
    inputs: tuple[tuple[str, str], ...]
    """Input name and sha256, sorted."""
    algo_cache_sha256: str | None
    threads: int
    environment: Variables = ()
    trace_sha256: str
    regions: tuple[Region, ...]
    """Sorted and unique; empty if only functions are trimmed, or only operators."""
    functions: tuple[str, ...] = ()
    """Linkage names of observable functions, sorted; empty if only regions are trimmed."""
    link_sha256: str | None = None
    """The link that these names belong to: inlining differs from link to link."""
    blocks: tuple[SplitFunction, ...] = ()
    """Which blocks of these functions ran; a function of which nothing is listed stays whole."""


class KeepSet(Value):
    """What a reduced build keeps. Without scenarios it keeps all kernels."""

    generation: int
    scenarios: tuple[ScenarioRecord, ...]
    operators: OperatorNeeds | None
    """None keeps all operators and data types."""

    def regions(self) -> dict[Region, tuple[str, ...]]:
        users = _users((scenario.id, scenario.regions) for scenario in self.scenarios)
        return {region: users[region] for region in sorted(users, key=order)}

    def functions(self) -> dict[str, tuple[str, ...]]:
        users = _users((scenario.id, scenario.functions) for scenario in self.scenarios)
        return {name: users[name] for name in sorted(users)}

    def blocks(self) -> dict[SplitFunction, tuple[str, ...]]:
        users = _users((scenario.id, scenario.blocks) for scenario in self.scenarios)
        return {each: users[each] for each in sorted(users, key=str)}


class NeededParts(Value):
    regions: frozenset[Region] = frozenset()
    functions: frozenset[str] = frozenset()
    operators: frozenset[str] = frozenset()

    def __sub__(self, other: NeededParts) -> NeededParts:
        return NeededParts(
            regions=self.regions - other.regions,
            functions=self.functions - other.functions,
            operators=self.operators - other.operators,
        )


class ThingKind(StrEnum):
    REGION = "region"
    TAG = "tag"
    OPERATOR = "operator"


class KeptThing(Value):
    kind: ThingKind
    name: str
    rule: str = ""
    """What keeps it; empty: nothing does, so it was left out."""
    by: tuple[str, ...] = ()
    regions: tuple[Region, ...] = ()
    left_out: tuple[Region, ...] = ()


def _users(needs: Iterable[tuple[str, tuple[_Item, ...]]]) -> dict[_Item, tuple[str, ...]]:
    found: dict[_Item, list[str]] = {}
    for name, items in needs:
        for item in items:
            found.setdefault(item, []).append(name)
    return {item: tuple(names) for item, names in found.items()}


def build_keep_set(
    generation: int, scenarios: Iterable[ScenarioRecord], operators: OperatorNeeds | None
) -> KeepSet:
    """Combine scenarios and operators; equal sets give equal values in any order.

    Scenarios of which nothing was recorded keep everything of the listed operators.

    Raises TraceFailure if nothing would be kept for a scenario, InputError for contradictions.
    """
    if generation not in GENERATIONS:
        known = " and ".join(map(str, GENERATIONS))
        msg = f"headers of generation {generation} are unknown, expected {known}"
        raise InputError(msg, hint="which version of the engine is it?")
    records = tuple(sorted(scenarios, key=lambda record: record.id))
    for before, after in pairwise(records):
        if before.id == after.id:
            msg = f"scenario {after.id} occurs twice in one keep set"
            raise InputError(msg, hint="use a different name for each scenario")
    if operators is None or any(record.regions or record.functions for record in records):
        _check_needs(records)
    if not records and operators is None:
        msg = "a keep set without scenarios and operators would trim nothing"
        raise InputError(msg, hint="add at least one trace or one operator JSON")
    scenarios_in_order = tuple(map(_sort_record, records))
    return KeepSet(generation=generation, scenarios=scenarios_in_order, operators=operators)


def _sort_record(record: ScenarioRecord) -> ScenarioRecord:
    return replace(
        record,
        inputs=tuple(sorted(record.inputs)),
        regions=tuple(sorted(set(record.regions), key=order)),
        functions=tuple(sorted(set(record.functions))),
        blocks=tuple(sorted(set(record.blocks), key=str)),
    )


def _check_needs(records: tuple[ScenarioRecord, ...]) -> None:
    traced = any(record.regions for record in records)
    for record in records:
        if not record.regions and (traced or not record.functions):
            msg = f"{record.id}: its trace contains no region, so nothing would be kept for it"
            raise TraceFailure(TraceProblem.EMPTY, msg, hint="record its trace again")
        if (record.link_sha256 is None) is bool(record.functions):
            msg = f"{record.id}: found one of functions and their link, expected both or neither"
            raise InputError(msg, hint="record its functions again")


def find_lost_regions(
    previous: KeepSet, current: KeepSet
) -> tuple[tuple[str, tuple[Region, ...]], ...]:
    """Return what scenarios lost, sorted, where nothing else changed.

    Another model, other arguments, inputs or threads, or a new algorithm search may well need less.
    """
    lost = (
        (record.id, tuple(sorted({*old.regions} - {*record.regions}, key=order)))
        for old, record in _same(previous, current)
    )
    return tuple((name, gone) for name, gone in lost if gone)


def find_lost_functions(
    previous: KeepSet, current: KeepSet
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    lost = (
        (record.id, tuple(sorted({*old.functions} - {*record.functions})))
        for old, record in _same(previous, current)
        if old.link_sha256 == record.link_sha256
    )
    return tuple((name, gone) for name, gone in lost if gone)


def _same(previous: KeepSet, current: KeepSet) -> Iterator[tuple[ScenarioRecord, ScenarioRecord]]:
    before = {record.id: record for record in previous.scenarios}
    for record in current.scenarios:
        old = before.get(record.id)
        if old and not differing(old, record) and not is_of_another_toolchain(old, record):
            yield old, record


def differing(before: ScenarioRecord, now: ScenarioRecord) -> str:
    """Return what changed since it was traced. Other weights select the same kernels: no change."""
    nouns = dict(_BOUND)
    if has_other_weights(before, now):
        del nouns["model_sha256"]
    elif before.graph_sha256 and now.graph_sha256:
        nouns["model_sha256"] = "the graph of the model"
    changed = [name for name in nouns if getattr(before, name) != getattr(now, name)]
    unknown = "model_sha256" in changed and now.graph_sha256 and not before.graph_sha256
    if not changed:
        return ""
    listed = ", ".join(nouns[name] for name in changed)
    return f"{listed} changed{_NO_GRAPH}" if unknown else f"{listed} changed"


def has_other_weights(before: ScenarioRecord, now: ScenarioRecord) -> bool:
    same = before.graph_sha256 is not None and before.graph_sha256 == now.graph_sha256
    return same and before.model_sha256 != now.model_sha256


def is_of_another_toolchain(before: ScenarioRecord, now: ScenarioRecord) -> bool:
    return "" not in (before.toolchain, now.toolchain) and before.toolchain != now.toolchain


def missing(keep: KeepSet, regions: Iterable[Region]) -> tuple[Region, ...]:
    kept = keep.regions()
    return tuple(sorted({*regions} - kept.keys(), key=order)) if kept else ()


def model_of(scenario_id: str) -> str:
    return scenario_id.partition("/")[0]


def list_models(keep: KeepSet) -> tuple[str, ...]:
    return tuple(sorted({model_of(scenario.id) for scenario in keep.scenarios}))


def select_scenarios(keep: KeepSet, ids: Collection[str]) -> KeepSet:
    """Operators and data types are a model's: they go with its last scenario."""
    scenarios = tuple(scenario for scenario in keep.scenarios if scenario.id in ids)
    if not scenarios:
        msg = "a keep set without a scenario would keep everything"
        raise InputError(msg, hint="a price at the margin needs another model or scenario")
    models = sorted({model_of(scenario.id) for scenario in scenarios})
    needs = keep.operators and unite_needs(select_needs(keep.operators, model) for model in models)
    return replace(keep, scenarios=scenarios, operators=needs)


def list_needs(keep: KeepSet) -> NeededParts:
    operators = keep.operators.operators if keep.operators else ()
    return NeededParts(
        regions=frozenset(keep.regions()),
        functions=frozenset(keep.functions()),
        operators=frozenset(name for name, _ in operators),
    )


def find_kept(text: str, keep: KeepSet, held: Collection[Region]) -> KeptThing | None:
    """Return the region, else the tag, else the operator with this whole name.

    ``held``: the profile build's regions. Spacing is free; an operator may have its version.
    """
    users = keep.regions()
    every = {*users, *held}
    wanted = "".join(text.split())
    named = {each for each in every if "".join(str(each).split()) == wanted} if "<" in text else ()
    chosen = sorted(named or (each for each in every if each.tag == text))
    if chosen:
        kept = tuple(region for region in chosen if region in users)
        by = {user for region in kept for user in users[region]}
        return KeptThing(
            kind=ThingKind.REGION if named else ThingKind.TAG,
            name=str(chosen[0]) if named else text,
            rule=RAN if kept else "",
            by=tuple(sorted(by)),
            regions=kept,
            left_out=tuple(region for region in chosen if region not in users),
        )
    operators = dict(keep.operators.operators) if keep.operators else {}
    name = text if text in operators else strip_version(text)
    if name not in operators:
        return None
    return KeptThing(kind=ThingKind.OPERATOR, name=name, rule=LISTED, by=operators[name])


def some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return f"{', '.join(names[:MOST_LISTED])}{more}"


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
        if (record.regions or not before.regions())
        and ((old := records.get(record.id)) is None or is_of_another_toolchain(old, record))
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
        added = new if before.regions() else now.scenarios
        models = {model_of(record.id) for record in added}
        every = [needs] if needs else []
        every += [select_needs(now.operators, model) for model in sorted(models)]
        needs = unite_needs(every)
    usable = [record for record in records.values() if record.regions or not traced]
    return build_keep_set(before.generation, usable, needs)


def _join(old: ScenarioRecord, record: ScenarioRecord, *, relinked: bool) -> ScenarioRecord:
    traced = old if old.regions else record
    ran = record if record.functions and (relinked or not old.functions) else old
    return replace(
        record,
        regions=traced.regions,
        trace_sha256=traced.trace_sha256,
        functions=ran.functions,
        blocks=ran.blocks,
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
    if old.link_sha256 not in (None, record.link_sha256):
        return []  # inlining differs in another link, so names cannot be compared
    same = (scenario for scenario in before.scenarios if scenario.link_sha256 == record.link_sha256)
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
        names = sorted(dict(needs).keys() - dict(had).keys())
        if names:
            yield f"the models need the {noun}{'' if len(names) == 1 else 's'} {some(names)}"
