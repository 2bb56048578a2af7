"""What a keep set says of a region, a tag or an operator: who needs it. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from megtrim.models.operators import strip_version
from megtrim.regions.keepset import KeepSet
from megtrim.regions.region import Region

RAN = "scenarios that run it"
LISTED = "models whose operator lists have it"


class ThingKind(StrEnum):
    """What it is."""

    REGION = "region"
    TAG = "tag"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptThing:
    """A region, a tag or an operator."""

    kind: ThingKind
    name: str
    rule: str = ""
    """What keeps it; empty: nothing does, so it was left out."""
    by: tuple[str, ...] = ()
    """The scenarios or models, sorted."""
    regions: tuple[Region, ...] = ()
    """Those that are kept; of an operator none."""
    left_out: tuple[Region, ...] = ()


def find_kept(text: str, keep: KeepSet, held: Collection[Region]) -> KeptThing | None:
    """Return the region, tag or operator with this whole name; None: there is none.

    ``held`` are the regions of the profile build; empty if there is none. A region's name may have
    any spacing, an operator's may have its version: ``MatrixMulV2``. Regions go before tags, and
    tags before operators.
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
