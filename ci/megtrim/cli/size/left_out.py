"""``megtrim size left-out``: what a trim left out, with its bytes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from megtrim.cli.echo import show
from megtrim.cli.session.setup import Options, committed_option, common, quick_option
from megtrim.cli.size.tables import draw_table, top_option
from megtrim.cli.size.trim_results import TrimResults, open_trim
from megtrim.elf.symbol_names import shorten
from megtrim.errors import EXIT_PASS
from megtrim.pipeline import references
from megtrim.plan.graph import BASE_REFERENCES, SHIPPED_REFERENCES, trims_functions
from megtrim.report.formatting import group_digits
from megtrim.size.left_out_document import LeftOutDocument, LeftOutEntry
from megtrim.size.references.left_out import (
    LeftOutRow,
    TrimmedGraph,
    compare_graphs,
    list_left_out,
)
from megtrim.strict_json import encode

_COMPONENT, _SYMBOL = _VIEWS = ("component", "symbol")


@click.command(
    "left-out",
    epilog="""\b
Examples:
  megtrim size left-out
  megtrim size left-out --by symbol --match winograd --top 40
""",
)
@common
@committed_option
@quick_option
@top_option
@click.option("--program", metavar="NAME", help="The program; without, the first that is trimmed.")
@click.option(
    "--by",
    type=click.Choice(_VIEWS),
    default=_COMPONENT,
    show_default=True,
    help="What the rows are.",
)
@click.option(
    "--match", default="", metavar="TEXT", help="Only what has TEXT in its name, in any case."
)
@click.option("--json", "as_json", is_flag=True, help="Print all rows as JSON.")
def left_out(
    program: str | None, by: str, match: str, top: int, as_json: bool, **options: Any
) -> int:
    """Show what the trim left out of a program, with its bytes.

    The rows add up to what the trimmed program is smaller by in memory. Where functions are
    trimmed, it is compared with the link in which each function has bytes of its own, and data that
    only they referred to went with them; otherwise with the plain program.
    """
    trim = open_trim(Options(**options))
    name, rows = _compare(program, trim)
    chosen = [row for row in rows if _is_asked(match, row.symbol, row.component)]
    entries = (
        LeftOutEntry(
            component=row.component,
            symbol=row.symbol,
            base_bytes=row.base_bytes,
            kept_bytes=row.kept_bytes,
            left_out_bytes=row.left_out_bytes,
        )
        for row in _group(chosen, by)
    )
    document = LeftOutDocument(program=name, left_out=tuple(entries))
    show(json.dumps(encode(document), indent=1) if as_json else _draw(document, by, top))
    return EXIT_PASS


def _compare(program: str | None, trim: TrimResults) -> tuple[str, tuple[LeftOutRow, ...]]:
    """Return the program's name, and what the trim made of each of its symbols."""
    name, base = trim.read(BASE_REFERENCES, program)
    if trims_functions(trim.session.request.config):
        dropped = references.read_dropped(name, trim.session)
        return name, list_left_out(TrimmedGraph(base=base.graph, dropped=dropped))
    return name, compare_graphs(base.graph, trim.read(SHIPPED_REFERENCES, name)[1].graph)


def _is_asked(match: str, *names: str) -> bool:
    return any(match.casefold() in name.casefold() for name in names)


def _group(rows: Sequence[LeftOutRow], view: str) -> list[LeftOutRow]:
    """Return the rows by symbol, as they are, or by component."""
    if view == _SYMBOL:
        return [row for row in rows if row.left_out_bytes]
    base: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for row in rows:
        base[row.component] += row.base_bytes
        kept[row.component] += row.kept_bytes
    found = (
        LeftOutRow(component=name, symbol="", base_bytes=size_bytes, kept_bytes=kept[name])
        for name, size_bytes in base.items()
    )
    changed = (row for row in found if row.left_out_bytes)
    return sorted(changed, key=lambda row: (-row.left_out_bytes, row.component))


def _draw(document: LeftOutDocument, view: str, top: int) -> str:
    labels = (_COMPONENT, _SYMBOL) if view == _SYMBOL else (_COMPONENT,)

    def cells(rows: Sequence[LeftOutEntry]) -> tuple[str, ...]:
        totals = (sum(row.left_out_bytes for row in rows), sum(row.kept_bytes for row in rows))
        return tuple(map(group_digits, totals))

    return draw_table(
        (*labels, "left out", "kept"),
        document.left_out,
        lambda row: (*(row.component, shorten(row.symbol))[: len(labels)], *cells([row])),
        top=top,
        whole="[all that was left out]",
        totals=cells,
    )
