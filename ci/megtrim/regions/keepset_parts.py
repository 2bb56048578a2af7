"""Parts of a keep set: what some scenarios need, alone or with others. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from enum import StrEnum

from megtrim.models.operators import OperatorNeeds, select_needs, strip_version, unite_needs
from megtrim.regions.keepset import KeepSet, ScenarioRecord
from megtrim.regions.region import Region
from megtrim.util.errors import InputError
from megtrim.util.value import Value


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


def model_of(scenario_id: str) -> str:
    return scenario_id.partition("/")[0]


def list_models(keep: KeepSet) -> tuple[str, ...]:
    return tuple(sorted({model_of(each.id) for each in keep.scenarios}))


def select_scenarios(keep: KeepSet, ids: Collection[str]) -> KeepSet:
    """Operators and data types are a model's: they go with its last scenario."""
    scenarios = tuple(each for each in keep.scenarios if each.id in ids)
    if not scenarios:
        msg = "a keep set without a scenario would keep everything"
        raise InputError(msg, hint="a price at the margin needs another model or scenario")
    return replace(
        keep, scenarios=scenarios, operators=_select_operators(keep.operators, scenarios)
    )


def list_needs(keep: KeepSet) -> NeededParts:
    operators = keep.operators.operators if keep.operators else ()
    return NeededParts(
        regions=frozenset(keep.regions()),
        functions=frozenset(keep.functions()),
        operators=frozenset(name for name, _ in operators),
    )


def _select_operators(
    needs: OperatorNeeds | None, scenarios: tuple[ScenarioRecord, ...]
) -> OperatorNeeds | None:
    models = sorted({model_of(each.id) for each in scenarios})
    return needs and unite_needs(select_needs(needs, model) for model in models)


RAN = "scenarios that run it"
LISTED = "models whose operator lists have it"


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


def find_kept(text: str, keep: KeepSet, held: Collection[Region]) -> KeptThing | None:
    """Return the region, else the tag, else the operator with this whole name.

    ``held`` are the regions of the profile build. A region's name may have any spacing, an
    operator's may have its version: ``MatrixMulV2``.
    """
    users = keep.regions()
    every = {*users, *held}
    wanted = "".join(text.split())
    named = {each for each in every if "".join(str(each).split()) == wanted} if "<" in text else ()
    chosen = sorted(named or (each for each in every if each.tag == text))
    if chosen:
        kept = tuple(each for each in chosen if each in users)
        return KeptThing(
            kind=ThingKind.REGION if named else ThingKind.TAG,
            name=str(chosen[0]) if named else text,
            rule=RAN if kept else "",
            by=tuple(sorted({user for each in kept for user in users[each]})),
            regions=kept,
            left_out=tuple(each for each in chosen if each not in users),
        )
    operators = dict(keep.operators.operators) if keep.operators else {}
    name = text if text in operators else strip_version(text)
    if name not in operators:
        return None
    return KeptThing(kind=ThingKind.OPERATOR, name=name, rule=LISTED, by=operators[name])
