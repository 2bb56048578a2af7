"""``megtrim size prices``: what each model, scenario, operator and function costs."""

from collections.abc import Sequence

from megtrim.core.checks.invocation import Options
from megtrim.core.cli.echo import show, show_json
from megtrim.core.cli.size.why import open_trim
from megtrim.core.size.prices import Price, PriceList
from megtrim.core.size.pricing import make_price_list
from megtrim.core.size.views import PriceKind
from megtrim.libs.elf.symbol_names import fold
from megtrim.libs.render.formatting import align_columns, group_digits
from megtrim.libs.render.markup import one_line

_BRIEFLY = (PriceKind.MODEL, PriceKind.OPERATOR, PriceKind.FUNCTION)


def prices(options: Options, top: int, by: tuple[str, ...], program: str | None) -> None:
    found = make_price_list(open_trim(options).open_priced(program))
    if options.as_json:
        show_json(
            {
                "version": 2,
                "program": found.artifact,
                "size_bytes": found.size_bytes,
                "prices": {kind: found.of_kind(kind) for kind in PriceKind},
            }
        )
        return
    show(f"{found.artifact}: {group_digits(found.size_bytes)} bytes")
    for kind in tuple(map(PriceKind, by)) or _choose_kinds(found):
        if rows := found.of_kind(kind):
            show(f"\n{_draw_prices(kind, rows, top)}")


def _choose_kinds(found: PriceList) -> Sequence[PriceKind]:
    """Commands have no model: each would stand for one of its own."""
    models = {price.name for price in found.of_kind(PriceKind.MODEL)}
    scenarios = {price.name for price in found.of_kind(PriceKind.SCENARIO)}
    if models <= scenarios:
        return (PriceKind.SCENARIO, PriceKind.FUNCTION)
    return _BRIEFLY


def _draw_prices(kind: PriceKind, rows: Sequence[Price], top: int) -> str:
    columns: dict[str, list[int | None]] = {
        "own": [price.own_bytes for price in rows],
        "bytes": [price.margin_bytes for price in rows],
        "alone": [price.alone_bytes for price in rows],
    }
    shown = [name for name, sizes in columns.items() if any(size is not None for size in sizes)]
    spell = fold if kind is PriceKind.FUNCTION else str
    lines = [
        (one_line(spell(price.name)), *(group_digits(columns[name][at] or 0) for name in shown))
        for at, price in enumerate(rows[:top])
    ]
    if rows[top:]:
        lines.append((f"[{group_digits(len(rows) - top)} others]", *("" for _ in shown)))
    return "\n".join(align_columns((kind.value, *shown), lines, (kind.value,)))
