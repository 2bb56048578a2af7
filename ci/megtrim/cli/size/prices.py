"""``megtrim size prices``: what models, scenarios, operators and functions cost in bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from megtrim.cli.echo import show
from megtrim.cli.session.setup import Options, committed_option, common, quick_option
from megtrim.cli.size.tables import top_option
from megtrim.cli.size.trim_results import open_trim
from megtrim.elf.symbol_names import fold
from megtrim.errors import EXIT_PASS
from megtrim.pipeline.pricing import make_price_list
from megtrim.report.formatting import align_columns, group_digits
from megtrim.report.text import one_line
from megtrim.size.prices.price_list import Price, PriceKind, PriceList
from megtrim.strict_json import encode

_BRIEFLY = (PriceKind.MODEL, PriceKind.OPERATOR, PriceKind.FUNCTION)


@click.command(
    "prices",
    epilog="""\b
Examples:
  megtrim size prices
  megtrim size prices --by scenario
  megtrim size prices --by function --top 40
""",
)
@common
@committed_option
@quick_option
@top_option
@click.option(
    "--by",
    type=click.Choice([kind.value for kind in PriceKind]),
    multiple=True,
    help="A table of these; repeatable. By default: model, operator and function.",
)
@click.option("--program", metavar="NAME", help="The program; without, the first that is trimmed.")
@click.option("--json", "as_json", is_flag=True, help="Print all prices as JSON.")
def prices(
    top: int, by: tuple[str, ...], program: str | None, as_json: bool, **options: Any
) -> int:
    """Show what each model, scenario, operator and function costs.

    A price is what would go from the trimmed program if the thing left and all others stayed. What
    several share is in the price of none. A model also has a size alone: of a program trimmed for
    it only. Prices are attributed, by what refers to what, in seconds.

    The trimmed program is linked once more for it, and so is the profile build, which shows where
    regions are; without a profile build, the code of regions is in no price. A function is shown
    with its own bytes, and with all that would go with it.
    """
    found = make_price_list(open_trim(Options(**options)).open_priced(program))
    kinds = tuple(map(PriceKind, by)) or _BRIEFLY
    show(_data(found) if as_json else "\n\n".join(_draw(found, kinds, top)))
    return EXIT_PASS


def _data(found: PriceList) -> str:
    data = {
        "version": 2,
        "program": found.artifact,
        "size_bytes": found.size_bytes,
        "prices": {kind.value: encode(found.of_kind(kind)) for kind in PriceKind},
    }
    return json.dumps(data, indent=1)


def _draw(found: PriceList, kinds: Sequence[PriceKind], top: int) -> list[str]:
    tables = ((kind, found.of_kind(kind)) for kind in kinds)
    size = f"{found.artifact}: {group_digits(found.size_bytes)} bytes"
    return [size, *(_draw_prices(kind, rows, top) for kind, rows in tables if rows)]


def _draw_prices(kind: PriceKind, rows: Sequence[Price], top: int) -> str:
    columns: dict[str, list[int | None]] = {
        "own": [price.own_bytes for price in rows],
        "bytes": [price.margin_bytes for price in rows],
        "alone": [price.alone_bytes for price in rows],
    }
    shown = [name for name, sizes in columns.items() if any(size is not None for size in sizes)]
    lines = [
        (_label(price), *(group_digits(columns[name][at] or 0) for name in shown))
        for at, price in enumerate(rows[:top])
    ]
    if rows[top:]:
        lines.append((f"[{group_digits(len(rows) - top)} others]", *("" for _ in shown)))
    return "\n".join(align_columns((kind.value, *shown), lines, (kind.value,)))


def _label(price: Price) -> str:
    """Return a name as a terminal shows it: names are from files of others."""
    return one_line(fold(price.name) if price.kind is PriceKind.FUNCTION else price.name)
