"""Why the largest things in what ships stay, and what a few bytes more would buy back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from megtrim.functions.keep_reasons import KeepReason, KeepRule
from megtrim.midout.names import NameTable
from megtrim.pipeline import references
from megtrim.pipeline.pricing.attributed import PricedArtifact
from megtrim.pipeline.pricing.left_out_regions import join_profiled_trim
from megtrim.pipeline.session import Session
from megtrim.plan.graph import BASE_REFERENCES
from megtrim.size.prices.reasons import (
    LargeThing,
    Offer,
    SizeReasons,
    iter_reasons,
    iter_region_reasons,
)
from megtrim.size.prices.region_additions import (
    ProfiledTrim,
    RegionAddition,
    find_region_additions,
)
from megtrim.size.references import search
from megtrim.size.references.additions import Addition, find_additions
from megtrim.size.references.explanation import explain
from megtrim.size.references.graph import Part, ReferenceGraph
from megtrim.size.references.left_out import TrimmedGraph

MOST_LARGEST = 10
WITHIN_BYTES = 10 * 1024
_MOST_RULES = 50
"""Parts of a thing whose rules are looked up."""

_FindRule = Callable[[Sequence[Part]], KeepReason | None]


def find_reasons(artifact: PricedArtifact, session: Session) -> SizeReasons:
    """Return the reasons of one artifact.

    The link of what was trimmed is made now if it is not there yet; what ended a link ends this as
    well.
    """
    graph, find_rule = artifact.program.graph, _make_rules(artifact, session)
    return SizeReasons(
        artifact=artifact.name,
        largest=tuple(
            _describe(name, numbers, graph, find_rule)
            for name, numbers in search.find_largest(graph, MOST_LARGEST)
        ),
        within_bytes=WITHIN_BYTES,
        offers=_find_offers(artifact, session),
    )


def _describe(
    name: str, numbers: tuple[int, ...], graph: ReferenceGraph, find_rule: _FindRule
) -> LargeThing:
    why = explain(numbers, graph)
    parts = [graph.parts[number] for number in graph.sort(numbers)]
    reason = find_rule(parts[:_MOST_RULES])
    return LargeThing(
        name=name,
        component=search.find_component_of(parts[0]),
        size_bytes=why.size_bytes,
        retained_bytes=why.retained_bytes,
        rule=str(reason.rule) if reason else "",
        by=reason.by if reason else (),
        root=why.root,
        chain=tuple(search.describe(graph.parts[each]) for each in why.chain),
    )


def _make_rules(artifact: PricedArtifact, session: Session) -> _FindRule:
    """Return what finds the rule by which most of some functions stay.

    Where only regions are trimmed, a function whose region ran, ran; nothing is known of others.
    """
    if artifact.untrimmed is not None:
        kept = references.read_kept_functions(artifact.name, session)

        def find_most(parts: Sequence[Part]) -> KeepReason | None:
            counted = kept.count_reasons(each.names for each in parts)
            return counted[0][0] if counted else None

        return find_most
    extents, users = artifact.program.extents, artifact.keep.regions()

    def find_users(parts: Sequence[Part]) -> KeepReason | None:
        names = (name for part in parts for name in part.names)
        regions = {region for name in names if name in extents for region in extents[name].sizes}
        ran = {user for region in regions if region for user in users.get(region, ())}
        return KeepReason(rule=KeepRule.RAN, by=tuple(sorted(ran))) if ran else None

    return find_users


def _find_offers(artifact: PricedArtifact, session: Session) -> tuple[Offer, ...] | None:
    """Return the functions or regions that could be kept; None: the links do not show any."""
    if artifact.untrimmed is None:
        if artifact.profile is None or not artifact.program.extents:
            return None
        found = join_profiled_trim(artifact, artifact.profile, session)
        return tuple(_iter_regions(found, session))
    linked = session.results.expect(BASE_REFERENCES)
    base = references.read_program(artifact.name, linked).graph
    dropped = references.read_dropped(artifact.name, session)
    trimmed = TrimmedGraph(base=base, dropped=dropped)
    wishes = references.read_wishes(session, base)
    return tuple(_offer(each, base) for each in find_additions(trimmed, WITHIN_BYTES, wishes))


def _iter_regions(found: ProfiledTrim, session: Session) -> Iterator[Offer]:
    """Yield the tags with regions that could be kept: dozens of a tag may cost next to nothing."""
    names = NameTable(session.services.engine.texts())
    tags: dict[str, list[RegionAddition]] = {}
    for each in find_region_additions(found, WITHIN_BYTES, references.read_needs(session)):
        tags.setdefault(each.region.tag, []).append(each)
    for tag, additions in tags.items():
        first, *others = additions
        name = names.meaning(first.region) or str(first.region)
        wanted_by = dict.fromkeys(by for each in additions for by in each.wanted_by)
        yield Offer(
            name=f"{len(additions)} regions of {tag}" if others else name,
            component=first.component,
            size_bytes=sum(each.size_bytes for each in additions),
            reasons=tuple(iter_region_reasons(tuple(wanted_by), first.kept_in_tag)),
        )


def _offer(addition: Addition, graph: ReferenceGraph) -> Offer:
    part = graph.parts[addition.part]
    callers = [search.describe(graph.parts[each]) for each in addition.callers]
    return Offer(
        name=search.describe(part),
        component=search.find_component_of(part),
        size_bytes=addition.size_bytes,
        reasons=tuple(iter_reasons(addition.wanted_by, callers)),
    )
