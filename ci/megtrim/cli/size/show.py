"""``megtrim size show``: what each byte of a file is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from megtrim.cli.echo import show
from megtrim.cli.size.tables import (
    FILE,
    as_data,
    deflate_option,
    draw_table,
    list_sizes,
    read_breakdown,
    top_option,
)
from megtrim.config.units import format_bytes
from megtrim.errors import EXIT_PASS
from megtrim.report.formatting import align_columns, group_digits
from megtrim.size.breakdown import Breakdown, View

_BRIEFLY = (View.SECTION, View.COMPONENT, View.SYMBOL)


@click.command(
    "show",
    epilog="""\b
Examples:
  megtrim size show load_and_run
  megtrim size show load_and_run --map load_and_run.map --by source --top 40
  megtrim size show app/libmegengine.so --twin build/libmegengine.so --json
""",
)
@click.argument("file", type=FILE)
@click.option("--map", "link_map", type=FILE, help="The linker's map, which names the sources.")
@click.option("--twin", type=FILE, help="The same file before it was stripped.")
@click.option(
    "--by",
    type=click.Choice([each.value for each in View]),
    multiple=True,
    help="A table by this; repeatable. By default: section, component and symbol.",
)
@top_option
@deflate_option
@click.option("--json", "as_json", is_flag=True, help="Print all rows as JSON.")
def show_file(
    file: Path,
    link_map: Path | None,
    twin: Path | None,
    by: tuple[str, ...],
    top: int,
    deflate: bool,
    as_json: bool,
) -> int:
    """Show what each byte of a program, library or archive is.

    Every table adds up to the file: headers, padding, relocations, unwind tables and what nothing
    explains have rows of their own. The linker's map is the best source of names; without it, the
    symbols of the file or of its unstripped twin are.
    """
    found = read_breakdown(file, link_map, twin, deflate=deflate)
    views = tuple(map(View, by))
    show(_data(found, views or tuple(View)) if as_json else _text(found, views or _BRIEFLY, top))
    return EXIT_PASS


def _data(found: Breakdown, views: Sequence[View]) -> str:
    tables = {view.value: dict(found.totals(view)) for view in views}
    return json.dumps({"version": 1, "sizes": as_data(found.sizes), "bytes_by": tables}, indent=1)


def _text(found: Breakdown, views: Sequence[View], top: int) -> str:
    sizes = [
        (name, group_digits(size_bytes), format_bytes(size_bytes))
        for name, size_bytes in list_sizes(found.sizes)
    ]
    head = ("size", "bytes", "")
    tables = ["\n".join(align_columns(head, sizes, ("size",)))]
    tables += (_table(found, view, top) for view in views)
    return "\n\n".join(tables)


def _table(found: Breakdown, view: View, top: int) -> str:
    file_bytes = found.sizes.file_bytes

    def cells(rows: Sequence[tuple[str, int]]) -> tuple[str, str]:
        size_bytes = sum(each for _, each in rows)
        return group_digits(size_bytes), f"{100 * size_bytes / file_bytes:.2f}%"

    return draw_table(
        (view.value, "bytes", "share"),
        found.totals(view),
        lambda row: (row[0], *cells([row])),
        top=top,
        whole="[total]",
        totals=cells,
    )
