"""Why a region, a tag or an operator is in a trimmed program, or was left out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from megtrim.cli.size.trim_results import TrimResults, choose_program
from megtrim.midout.keepset_parts import NeededParts
from megtrim.midout.names import NameTable
from megtrim.midout.region import Region
from megtrim.pipeline import references
from megtrim.pipeline.pricing.left_out_regions import read_region_trim
from megtrim.pipeline.summary.keepset_usage import list_held_regions
from megtrim.plan.graph import PROFILE
from megtrim.report.formatting import align_columns, group_digits
from megtrim.report.text import one_line
from megtrim.size.prices.kept_things import KeptThing, find_kept
from megtrim.size.prices.price_list import PriceKind
from megtrim.size.prices.region_bytes import measure_regions

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
    names, price = open_names(), _make_pricing(name, trim)
    regions: list[dict[str, Any]] = [
        {
            "name": str(each),
            "meaning": names.meaning(each),
            "size_bytes": price(NeededParts(regions=frozenset([each]))),
            "by": list(users[each]),
        }
        for each in found.regions
    ]
    largest = sorted(regions, key=lambda each: (-(each["size_bytes"] or 0), each["name"]))
    places = {place for each in (*found.regions, *found.left_out) for place in names.places(each)}
    return {
        "program": name,
        "kind": found.kind.value,
        "name": found.name,
        "kept_by": [{"rule": found.rule, "by": list(found.by)}] if found.rule else [],
        "retained_bytes": price(found.parts) if found.rule else None,
        "regions": largest,
        "left_out": _measure_left_out(found, name, names.meaning, trim),
        "places": [f"{file}:{line}" for file, line in sorted(places)[:_MOST_PLACES]],
    }


def _make_pricing(name: str, trim: TrimResults) -> Callable[[NeededParts], int | None]:
    """Return what prices parts; the links for it are made when something is priced first.

    Without a profile build regions have no price.
    """
    open_once = cache(lambda: trim.open_priced(name))

    def price(parts: NeededParts) -> int | None:
        artifact = open_once()
        if parts.regions and not artifact.program.extents:
            return None
        return artifact.program.price(parts)

    return price


def _measure_left_out(
    found: KeptThing, name: str, meaning: Callable[[Region], str], trim: TrimResults
) -> list[dict[str, Any]]:
    """Return the regions that were left out, with their bytes in the plain program."""
    if not found.left_out or PROFILE not in trim.session.results.done:
        return []
    measured = measure_regions(read_region_trim(name, trim.session))
    sizes: dict[Region, int] = {}
    for row in measured.rows:
        if row.region is not None:
            sizes[row.region] = sizes.get(row.region, 0) + row.size_bytes
    rows = [
        {"name": str(each), "meaning": meaning(each), "size_bytes": sizes.get(each)}
        for each in found.left_out
    ]
    return sorted(rows, key=lambda each: (-(each["size_bytes"] or 0), each["name"]))


def iter_kept_lines(facts: dict[str, Any], top: int) -> Iterator[str]:
    """Yield the answer as lines."""
    regions, left_out = facts["regions"], facts["left_out"]
    shown = next((each["meaning"] for each in (*regions, *left_out)), "")
    is_tag = facts["kind"] == PriceKind.TAG
    yield f"{facts['kind']} {facts['name']}"
    if shown and not is_tag:
        yield f"  {shown}"
    yield from (f"  {each}" for each in facts["places"][:top])
    if not facts["kept_by"]:
        yield "it was left out: no scenario runs it"
        yield from _draw_left_out(left_out, top, alone=not is_tag)
        return
    yield "why it is there"
    for each in facts["kept_by"]:
        yield f"  {each['rule']}: {', '.join(each['by'][:top])}{_count_more(each['by'], top)}"
    size_bytes = facts["retained_bytes"]
    yield (
        f"without it, {group_digits(size_bytes)} bytes would go"
        if size_bytes is not None
        else "what would go without it is not known: only a profile build shows where regions are"
    )
    if is_tag:
        count = group_digits(len(regions))
        yield f"{count} of its regions are kept, with the bytes that would go without each"
        yield from _draw_regions(regions, top)
        yield from _draw_left_out(left_out, top, alone=False)


def _draw_left_out(rows: Sequence[dict[str, Any]], top: int, *, alone: bool) -> Iterator[str]:
    if not rows:
        return
    if alone:
        size = _show(rows[0]["size_bytes"])
        yield f"  {size} bytes in the plain program, with what only it leads to"
        return
    count = group_digits(len(rows))
    yield f"{count} of its regions were left out, with their bytes in the plain program"
    yield from _draw_regions(rows, top)


def _draw_regions(rows: Sequence[dict[str, Any]], top: int) -> Iterator[str]:
    shown = [
        (_show(each["size_bytes"]), one_line(each["meaning"] or each["name"]))
        for each in rows[:top]
    ]
    if rest := rows[top:]:
        total = sum(each["size_bytes"] or 0 for each in rest)
        shown.append((group_digits(total), f"[{group_digits(len(rest))} others]"))
    yield from (f"  {line}" for line in align_columns(("bytes", "region"), shown, ("region",)))


def _show(size_bytes: int | None) -> str:
    return "-" if size_bytes is None else group_digits(size_bytes)


def _count_more(names: Sequence[str], top: int) -> str:
    return f" and {len(names) - top} more" if len(names) > top else ""
