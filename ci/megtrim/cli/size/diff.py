"""``megtrim size diff``: what grew and what shrank from one file to another."""

from __future__ import annotations

import dataclasses
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
from megtrim.errors import EXIT_PASS
from megtrim.report.formatting import align_columns, group_digits
from megtrim.size.breakdown import Breakdown, View
from megtrim.size.byte_change import ByteChange
from megtrim.size.comparison import compare_breakdowns

_COLUMNS = ("A", "B", "change")


@click.command(
    epilog="""\b
Examples:
  megtrim size diff before/load_and_run after/load_and_run
  megtrim size diff old.so new.so --map-a old.map --map-b new.map --top 40
"""
)
@click.argument("first", metavar="A", type=FILE)
@click.argument("second", metavar="B", type=FILE)
@click.option("--map-a", type=FILE, help="The linker's map of A.")
@click.option("--map-b", type=FILE, help="The linker's map of B.")
@click.option("--twin-a", type=FILE, help="A before it was stripped.")
@click.option("--twin-b", type=FILE, help="B before it was stripped.")
@top_option
@deflate_option
@click.option("--json", "as_json", is_flag=True, help="Print all changes as JSON.")
def diff(
    first: Path,
    second: Path,
    map_a: Path | None,
    map_b: Path | None,
    twin_a: Path | None,
    twin_b: Path | None,
    top: int,
    deflate: bool,
    as_json: bool,
) -> int:
    """Show what grew and what shrank from file A to file B.

    The changes add up exactly. Instances of a template count together, so one that moved to
    another file or got other arguments is no change; what went and came with the same size, in one
    component, is shown as renamed.
    """
    before = read_breakdown(first, map_a, twin_a, deflate=deflate)
    after = read_breakdown(second, map_b, twin_b, deflate=deflate)
    show(_data(before, after) if as_json else _text(before, after, top))
    return EXIT_PASS


def _data(before: Breakdown, after: Breakdown) -> str:
    changes = {
        view.value: [dataclasses.asdict(each) for each in compare_breakdowns(before, after, view)]
        for view in (View.SECTION, View.COMPONENT, View.SYMBOL)
    }
    sizes = {"before": as_data(before.sizes), "after": as_data(after.sizes)}
    return json.dumps({"version": 1, "sizes": sizes, "changes_by": changes}, indent=1)


def _text(before: Breakdown, after: Breakdown, top: int) -> str:
    pairs = zip(list_sizes(before.sizes), list_sizes(after.sizes), strict=True)
    sizes = [(name, *_numbers(old, new)) for (name, old), (_, new) in pairs]
    head = ("size", *_COLUMNS)
    return "\n\n".join(
        (
            "\n".join(align_columns(head, sizes, ("size",))),
            _table(compare_breakdowns(before, after, View.COMPONENT), ("component",), top),
            _table(compare_breakdowns(before, after, View.SYMBOL), ("component", "symbol"), top),
        )
    )


def _table(changes: Sequence[ByteChange], labels: tuple[str, ...], top: int) -> str:
    def cells(rows: Sequence[ByteChange]) -> tuple[str, ...]:
        old = sum(each.before_bytes for each in rows)
        return _numbers(old, sum(each.after_bytes for each in rows))

    return draw_table(
        (*labels, *_COLUMNS),
        changes,
        lambda each: (*(each.component, _label(each))[-len(labels) :], *cells([each])),
        top=top,
        whole="[all changes]",
        totals=cells,
    )


def _numbers(before_bytes: int, after_bytes: int) -> tuple[str, ...]:
    growth_bytes = after_bytes - before_bytes
    change = f"{growth_bytes:+,}" if growth_bytes else "0"
    return group_digits(before_bytes), group_digits(after_bytes), change


def _label(change: ByteChange) -> str:
    return f"{change.label} (was {change.former})" if change.former else change.label
