"""``megtrim size left-out``: what a trim left out, and what a few bytes more would buy back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import click

from megtrim.cli.echo import show
from megtrim.cli.session.setup import Options, committed_option, common, quick_option
from megtrim.cli.size.tables import draw_table, top_option
from megtrim.cli.size.trim_results import TrimResults, choose_program, open_trim
from megtrim.config.units import format_bytes, parse_bytes
from megtrim.elf.symbol_names import shorten
from megtrim.errors import EXIT_PASS
from megtrim.midout.names import NameTable
from megtrim.pipeline import references
from megtrim.pipeline.pricing.left_out_regions import read_profiled_trim, read_region_trim
from megtrim.plan.graph import (
    BASE_REFERENCES,
    PLAIN,
    REDUCED,
    SHIPPED_REFERENCES,
    trims_functions,
)
from megtrim.report.formatting import group_digits
from megtrim.size.left_out_document import (
    AddedFunction,
    AddedRegion,
    LeftOutDocument,
    LeftOutEntry,
    LeftOutView,
    describe_rows,
    encode_sparsely,
    group_regions,
    list_unplaced,
)
from megtrim.size.prices.reasons import iter_reasons, iter_region_reasons
from megtrim.size.prices.region_additions import find_region_additions
from megtrim.size.prices.region_bytes import measure_regions
from megtrim.size.references import search
from megtrim.size.references.additions import Addition, find_additions
from megtrim.size.references.graph import ReferenceGraph
from megtrim.size.references.left_out import (
    LeftOutRow,
    TrimmedGraph,
    compare_graphs,
    list_left_out,
)

_OF_REGIONS = (LeftOutView.TAG, LeftOutView.REGION)
_LABELS = {
    LeftOutView.COMPONENT: ("component",),
    LeftOutView.SYMBOL: ("component", "symbol"),
    LeftOutView.TAG: ("tag", "regions kept"),
    LeftOutView.REGION: ("component", "region"),
}


@click.command(
    "left-out",
    epilog="""\b
Examples:
  megtrim size left-out
  megtrim size left-out --by symbol --match winograd --top 40
  megtrim size left-out --by tag
  megtrim size left-out --by region --match megdnn_fallback
  megtrim size left-out --within 10KiB      what 10 KiB more would buy back
""",
)
@common
@committed_option
@quick_option
@top_option
@click.option("--program", metavar="NAME", help="The program; without, the first that is trimmed.")
@click.option(
    "--by",
    type=click.Choice([each.value for each in LeftOutView]),
    default=LeftOutView.COMPONENT.value,
    show_default=True,
    help="What the rows are.",
)
@click.option(
    "--match", default="", metavar="TEXT", help="Only what has TEXT in its name, in any case."
)
@click.option(
    "--within",
    metavar="SIZE",
    help="Instead, list what could be kept for this size altogether, such as 10KiB.",
)
@click.option("--json", "as_json", is_flag=True, help="Print all rows as JSON.")
def left_out(
    program: str | None,
    by: str,
    match: str,
    within: str | None,
    top: int,
    as_json: bool,
    **options: Any,
) -> int:
    """Show what the trim left out of a program, with its bytes.

    The rows add up to what the trimmed program is smaller by in memory. Where functions are
    trimmed, it is compared with the link in which each function has bytes of its own, and data that
    only they referred to went with them; otherwise with the plain program.

    By tag or region, rows are what regions weigh in the plain program: their share of the functions
    that they stand in, by the profile build, and what only they lead to. What several regions share
    is in a row of its own.

    With --within, functions that were left out are listed that something that stays refers to, best
    first: those that a neighbour of a scenario is known to need, then those with most callers.
    Where only regions are trimmed, regions are listed in functions that stay: those that a
    neighbour needs, then those of tags that are kept in part. Each costs all that it would bring
    back.
    """
    within_bytes = None if within is None else parse_bytes(within)
    view = LeftOutView(by)
    if view in _OF_REGIONS:
        trim = open_trim(Options(**options), (PLAIN, REDUCED))
        document = _list_regions(view, program, match, trim)
    else:
        trim = open_trim(Options(**options))
        document = _list_program(view, program, match, within_bytes, trim)
    show(json.dumps(encode_sparsely(document), indent=1) if as_json else _draw(document, view, top))
    return EXIT_PASS


def _list_program(
    view: LeftOutView, program: str | None, match: str, within_bytes: int | None, trim: TrimResults
) -> LeftOutDocument:
    """Return what was left out by component or symbol, or what could be kept."""
    trims = trims_functions(trim.session.request.config)
    if within_bytes is not None and not trims:
        return _list_region_additions(program, within_bytes, match, trim)
    name, base = trim.read(BASE_REFERENCES, program)
    if trims:
        dropped = references.read_dropped(name, trim.session)
        trimmed = TrimmedGraph(base=base.graph, dropped=dropped)
        if within_bytes is not None:
            return _list_additions(name, trimmed, within_bytes, match, trim)
        rows = list_left_out(trimmed)
    else:
        rows = compare_graphs(base.graph, trim.read(SHIPPED_REFERENCES, name)[1].graph)
    chosen = [each for each in rows if _is_asked(match, each.symbol, each.component)]
    return LeftOutDocument(program=name, left_out=describe_rows(_group(chosen, view)))


def _list_regions(
    view: LeftOutView, program: str | None, match: str, trim: TrimResults
) -> LeftOutDocument:
    """Return what was left out by tag or region."""
    name = _choose(program, trim)
    regions = read_region_trim(name, trim.session)
    found = measure_regions(regions)
    meaning = cache(NameTable(trim.session.services.engine.texts()).meaning)
    rows = (
        each
        for each in group_regions(found, view, meaning)
        if _is_asked(match, each.tag or "", *filter(None, (each.region, each.meaning)))
    )
    unplaced = list_unplaced(found, regions.kept, meaning)
    return LeftOutDocument(
        program=name,
        left_out=tuple(rows),
        unplaced=tuple(each for each in unplaced if _is_asked(match, each.region, each.meaning)),
    )


def _choose(program: str | None, trim: TrimResults) -> str:
    name = choose_program(program, trim.session.request.config.artifacts)
    trim.session.services.console.note(f"reading where the regions of {name} are")
    return name


def _is_asked(match: str, *names: str) -> bool:
    return any(match.casefold() in each.casefold() for each in names)


def _group(rows: Sequence[LeftOutRow], view: LeftOutView) -> list[LeftOutRow]:
    """Return the rows by symbol, as they are, or by component."""
    if view is LeftOutView.SYMBOL:
        return [each for each in rows if each.left_out_bytes]
    base: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for each in rows:
        base[each.component] += each.base_bytes
        kept[each.component] += each.kept_bytes
    found = (
        LeftOutRow(component=name, symbol="", base_bytes=size_bytes, kept_bytes=kept[name])
        for name, size_bytes in base.items()
    )
    changed = (each for each in found if each.left_out_bytes)
    return sorted(changed, key=lambda each: (-each.left_out_bytes, each.component))


def _draw(document: LeftOutDocument, view: LeftOutView, top: int) -> str:
    if document.within_bytes is not None:
        return _draw_additions(document, top)
    rows = document.left_out or ()

    def cells(some: Sequence[LeftOutEntry]) -> tuple[str, ...]:
        totals = (
            sum(each.left_out_bytes for each in some),
            sum(each.kept_bytes for each in some),
        )
        return tuple(map(group_digits, totals))

    table = draw_table(
        (*_LABELS[view], "left out", "kept"),
        rows,
        lambda row: (*_iter_labels(row, view), *cells([row])),
        top=top,
        whole="[all that was left out]",
        totals=cells,
    )
    return "\n".join((table, *_draw_unplaced(document)))


def _iter_labels(row: LeftOutEntry, view: LeftOutView) -> Iterator[str]:
    match view:
        case LeftOutView.COMPONENT:
            yield row.component or ""
        case LeftOutView.SYMBOL:
            yield from (row.component or "", shorten(row.symbol or ""))
        case LeftOutView.TAG:
            yield row.tag or "[of several tags]"
            yield f"{row.kept_regions} of {row.regions}"
        case LeftOutView.REGION:
            yield row.component or ""
            shared = f"[several of {row.tag}]" if row.tag else "[several tags]"
            yield shorten(row.meaning or row.region or shared)


def _draw_unplaced(document: LeftOutDocument) -> Iterator[str]:
    if rows := document.unplaced:
        total = group_digits(sum(each.profile_bytes for each in rows))
        yield (
            f"{group_digits(len(rows))} more regions were left out; the plain program has them "
            f"under no name of their own ({total} bytes in the profile build)"
        )


def _list_additions(
    name: str, trimmed: TrimmedGraph, within_bytes: int, match: str, trim: TrimResults
) -> LeftOutDocument:
    wishes = references.read_wishes(trim.session, trimmed.base)
    graph = trimmed.base
    found = [
        each
        for each in find_additions(trimmed, within_bytes, wishes)
        if _is_asked(match, search.describe(graph.parts[each.part]))
    ]
    return LeftOutDocument(
        program=name,
        within_bytes=within_bytes,
        additions=tuple(_describe_addition(each, graph) for each in found),
    )


def _list_region_additions(
    program: str | None, within_bytes: int, match: str, trim: TrimResults
) -> LeftOutDocument:
    name = _choose(program, trim)
    regions = read_profiled_trim(name, trim.session)
    names = NameTable(trim.session.services.engine.texts())
    needs = references.read_needs(trim.session)
    found = (
        AddedRegion(
            region=str(each.region),
            meaning=names.meaning(each.region),
            component=each.component,
            size_bytes=each.size_bytes,
            kept_in_tag=each.kept_in_tag,
            wanted_by=each.wanted_by,
        )
        for each in find_region_additions(regions, within_bytes, needs)
    )
    asked = tuple(each for each in found if _is_asked(match, each.region, each.meaning))
    return LeftOutDocument(program=name, within_bytes=within_bytes, region_additions=asked)


def _describe_addition(addition: Addition, graph: ReferenceGraph) -> AddedFunction:
    part = graph.parts[addition.part]
    return AddedFunction(
        name=search.describe(part),
        linkage_names=part.names,
        component=search.find_component_of(part),
        size_bytes=addition.size_bytes,
        needed_parts=len(addition.needed),
        callers=tuple(search.describe(graph.parts[each]) for each in addition.callers),
        wanted_by=addition.wanted_by,
    )


def _draw_additions(document: LeftOutDocument, top: int) -> str:
    rows = tuple(_iter_additions(document))
    size = format_bytes(document.within_bytes or 0)
    if not rows:
        return f"nothing that was left out of {document.program} could be kept for {size}"

    def cells(some: Sequence[_AdditionRow]) -> tuple[str]:
        return (group_digits(sum(each.size_bytes for each in some)),)

    of_regions = document.region_additions is not None
    head = f"what {size} more would buy back in {document.program}"
    table = draw_table(
        ("region" if of_regions else "function", "because", "bytes"),
        rows,
        lambda row: (shorten(row.name), row.because, *cells([row])),
        top=top,
        whole="[all of these]",
        totals=cells,
    )
    or_name = "" if of_regions else "its name under trim.keep, or "
    return f"{head}\n{table}\nto keep one, add {or_name}a scenario that runs it"


class _AdditionRow(NamedTuple):
    name: str
    because: str
    size_bytes: int


def _iter_additions(document: LeftOutDocument) -> Iterator[_AdditionRow]:
    for row in document.additions or ():
        because = "; ".join(iter_reasons(row.wanted_by, row.callers))
        yield _AdditionRow(row.name, because, row.size_bytes)
    for each in document.region_additions or ():
        because = "; ".join(iter_region_reasons(each.wanted_by, each.kept_in_tag))
        yield _AdditionRow(each.meaning or each.region, because, each.size_bytes)
