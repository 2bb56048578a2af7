"""Why a region, a tag or an operator is in a trimmed program, or was left out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from megtrim.cli.size.trim_results import TrimResults, choose_program
from megtrim.midout.keepset_parts import NeededParts
from megtrim.midout.kept_things import ThingKind, find_kept
from megtrim.midout.names import NameTable
from megtrim.midout.region import Region
from megtrim.pipeline import references
from megtrim.pipeline.summary.keepset_usage import list_held_regions
from megtrim.report.formatting import group_digits
from megtrim.report.text import one_line

_MOST_PLACES = 20


def explain_kept(thing: str, program: str | None, trim: TrimResults) -> dict[str, Any] | None:
    """Return the facts about a region, tag or operator; None if nothing is called like that."""
    keep = references.read_keep(trim.session)
    held, users = list_held_regions(trim.session.results), keep.regions()
    # They read all sources of the engine, which most things that are asked about do not need.
    open_names = cache(lambda: NameTable(trim.session.services.engine.texts()))
    wanted = thing
    if "<" in thing:  # tables show what a region's numbers mean, so that is what people ask for
        every = (*users, *held)
        wanted = next((str(each) for each in every if open_names().meaning(each) == thing), thing)
    found = find_kept(wanted, keep, held)
    if found is None:
        return None
    name = choose_program(program, trim.session.request.config.artifacts)
    facts: dict[str, Any] = {
        "program": name,
        "kind": found.kind.value,
        "name": found.name,
        "kept_by": [{"rule": found.rule, "by": list(found.by)}] if found.rule else [],
    }
    if found.kind is ThingKind.OPERATOR:
        gone = NeededParts(operators=frozenset([found.name]))
        return facts | {"retained_bytes": trim.open_priced(name).program.price(gone)}
    names = open_names()
    places = {place for each in (*found.regions, *found.left_out) for place in names.places(each)}
    return facts | {
        "regions": _describe(found.regions, names.meaning),
        "left_out": _describe(found.left_out, names.meaning),
        "places": [f"{file}:{line}" for file, line in sorted(places)[:_MOST_PLACES]],
    }


def _describe(regions: Sequence[Region], meaning: Callable[[Region], str]) -> list[dict[str, str]]:
    return [{"name": str(region), "meaning": meaning(region)} for region in regions]


def iter_kept_lines(facts: dict[str, Any], top: int) -> Iterator[str]:
    """Yield the answer as lines."""
    regions, left_out = facts.get("regions", []), facts.get("left_out", [])
    is_tag = facts["kind"] == ThingKind.TAG
    yield f"{facts['kind']} {facts['name']}"
    if not is_tag:
        meanings = (region["meaning"] for region in (*regions, *left_out))
        yield from (f"  {meaning}" for meaning in filter(None, meanings))
    yield from (f"  {place}" for place in facts.get("places", [])[:top])
    if not facts["kept_by"]:
        yield "it was left out: no scenario runs it"
    else:
        yield "why it is there"
    for reason in facts["kept_by"]:
        by = reason["by"]
        more = f" and {len(by) - top} more" if len(by) > top else ""
        yield f"  {reason['rule']}: {', '.join(by[:top])}{more}"
    if "retained_bytes" in facts:
        yield f"without it, {group_digits(facts['retained_bytes'])} bytes would go"
    if is_tag:
        for some, what in ((regions, "kept"), (left_out, "left out")):
            if some:
                yield f"{group_digits(len(some))} of its regions: {what}"
                yield from _list_regions(some, top)


def _list_regions(rows: Sequence[dict[str, str]], top: int) -> Iterator[str]:
    yield from (f"  {one_line(row['meaning'] or row['name'])}" for row in rows[:top])
    if len(rows) > top:
        yield f"  [{group_digits(len(rows) - top)} others]"
