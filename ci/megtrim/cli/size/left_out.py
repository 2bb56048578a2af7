"""``megtrim size left-out``: what a trim left out, and what a few bytes more would buy back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import click

from megtrim.cli.echo import show
from megtrim.cli.session.setup import Options, committed_option, common, quick_option
from megtrim.cli.size.tables import draw_table, top_option
from megtrim.cli.size.trim_results import TrimResults, open_trim
from megtrim.config.units import format_bytes, parse_bytes
from megtrim.elf.symbol_names import shorten
from megtrim.errors import EXIT_PASS, InputError
from megtrim.pipeline import references
from megtrim.plan.graph import BASE_REFERENCES, SHIPPED_REFERENCES, trims_functions
from megtrim.report.formatting import group_digits
from megtrim.report.text import one_line
from megtrim.size.references import search
from megtrim.size.references.additions import Addition, find_additions
from megtrim.size.references.graph import ReferenceGraph
from megtrim.size.references.left_out import (
    LeftOutRow,
    TrimmedGraph,
    compare_graphs,
    list_left_out,
)

_SHOWN_CALLERS = 3


@click.command(
    "left-out",
    epilog="""\b
Examples:
  megtrim size left-out
  megtrim size left-out --by symbol --match winograd --top 40
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
    type=click.Choice(("component", "symbol")),
    default="component",
    show_default=True,
    help="What the rows are.",
)
@click.option(
    "--match", default="", metavar="TEXT", help="Only what has TEXT in its name, in any case."
)
@click.option(
    "--within",
    metavar="SIZE",
    help="Instead, list functions that could be kept for this size altogether, such as 10KiB.",
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

    With --within, functions that were left out are listed that something that stays refers to, best
    first: those that a neighbour of a scenario is known to need, then those with most callers.
    Each costs all that it would bring back.
    """
    within_bytes = None if within is None else parse_bytes(within)
    trim = open_trim(Options(**options))
    name, base = trim.read(BASE_REFERENCES, program)
    trims = trims_functions(trim.session.request.config)
    if within_bytes is not None and not trims:
        msg = "--within: found trim.level region, expected function: regions have no callers"
        raise InputError(msg, hint="leave --within out, or add trim: {level: function}")
    if trims:
        dropped = references.read_dropped(name, trim.session)
        trimmed = TrimmedGraph(base=base.graph, dropped=dropped)
        if within_bytes is not None:
            facts = _list_additions(name, trimmed, within_bytes, match, trim)
            show(_dump(facts) if as_json else _draw_additions(facts, top))
            return EXIT_PASS
        rows = list_left_out(trimmed)
    else:
        rows = compare_graphs(base.graph, trim.read(SHIPPED_REFERENCES, name)[1].graph)
    chosen = [each for each in rows if _is_asked(match, each.symbol, each.component)]
    facts = {"program": name, "left_out": [_describe(each) for each in _group(chosen, by)]}
    show(_dump(facts) if as_json else _draw(_group(chosen, by), by, top))
    return EXIT_PASS


def _is_asked(match: str, *names: str) -> bool:
    return any(match.casefold() in each.casefold() for each in names)


def _dump(facts: dict[str, Any]) -> str:
    return json.dumps({"version": 1} | facts, indent=1)


def _group(rows: Sequence[LeftOutRow], by: str) -> list[LeftOutRow]:
    """Return the rows by symbol, as they are, or by component."""
    if by == "symbol":
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


def _describe(row: LeftOutRow) -> dict[str, Any]:
    label = {"symbol": row.symbol} if row.symbol else {}
    return {
        "component": row.component,
        **label,
        "base_bytes": row.base_bytes,
        "kept_bytes": row.kept_bytes,
        "left_out_bytes": row.left_out_bytes,
    }


def _draw(rows: Sequence[LeftOutRow], by: str, top: int) -> str:
    def cells(some: Sequence[LeftOutRow]) -> tuple[str, ...]:
        totals = (
            sum(each.left_out_bytes for each in some),
            sum(each.kept_bytes for each in some),
        )
        return tuple(map(group_digits, totals))

    labels = ("component", "symbol") if by == "symbol" else ("component",)
    return draw_table(
        (*labels, "left out", "kept"),
        rows,
        lambda row: (*(row.component, shorten(row.symbol))[: len(labels)], *cells([row])),
        top=top,
        whole="[all that was left out]",
        totals=cells,
    )


def _list_additions(
    name: str, trimmed: TrimmedGraph, within_bytes: int, match: str, trim: TrimResults
) -> dict[str, Any]:
    wishes = references.read_wishes(trim.session, trimmed.base)
    graph = trimmed.base
    found = [
        each
        for each in find_additions(trimmed, within_bytes, wishes)
        if _is_asked(match, search.describe(graph.parts[each.part]))
    ]
    return {
        "program": name,
        "within_bytes": within_bytes,
        "additions": [_describe_addition(each, graph) for each in found],
    }


def _describe_addition(addition: Addition, graph: ReferenceGraph) -> dict[str, Any]:
    part = graph.parts[addition.part]
    return {
        "name": search.describe(part),
        "linkage_names": list(part.names),
        "component": search.find_component_of(part),
        "size_bytes": addition.size_bytes,
        "needed_parts": len(addition.needed),
        "callers": [search.describe(graph.parts[each]) for each in addition.callers],
        "wanted_by": list(addition.wanted_by),
    }


def _draw_additions(facts: dict[str, Any], top: int) -> str:
    rows = facts["additions"]
    size = format_bytes(facts["within_bytes"])
    if not rows:
        return f"nothing that was left out of {facts['program']} could be kept for {size}"

    def cells(some: Sequence[dict[str, Any]]) -> tuple[str]:
        return (group_digits(sum(each["size_bytes"] for each in some)),)

    head = f"what {size} more would buy back in {facts['program']}"
    table = draw_table(
        ("function", "because", "bytes"),
        rows,
        lambda row: (shorten(row["name"]), "; ".join(_iter_reasons(row)), *cells([row])),
        top=top,
        whole="[all of these]",
        totals=cells,
    )
    how = "to keep one, add its name under trim.keep, or a scenario that runs it"
    return f"{head}\n{table}\n{how}"


def _iter_reasons(row: dict[str, Any]) -> Iterator[str]:
    if row["wanted_by"]:
        yield f"needed by {', '.join(row['wanted_by'])}"
    callers = row["callers"]
    shown = ", ".join(one_line(shorten(each)) for each in callers[:_SHOWN_CALLERS])
    more = f" and {len(callers) - _SHOWN_CALLERS} more" if len(callers) > _SHOWN_CALLERS else ""
    yield f"{shown}{more} refer{'s' * (len(callers) == 1)} to it"
