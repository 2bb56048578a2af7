"""``megtrim size prices``: what models, regions, operators and functions cost in bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import click

from megtrim.cli.echo import show
from megtrim.cli.session.setup import Options, committed_option, common, quick_option
from megtrim.cli.size.tables import top_option
from megtrim.cli.size.trim_results import TrimResults, open_trim
from megtrim.elf.symbol_names import fold
from megtrim.errors import EXIT_PASS
from megtrim.pipeline.pricing import attributed
from megtrim.pipeline.pricing.attributed import PricedArtifact
from megtrim.pipeline.pricing.checked import PriceCheck
from megtrim.pipeline.pricing.optimisations import OptimisationCheck, list_optimisations
from megtrim.pipeline.session import Session
from megtrim.plan.graph import (
    PLAIN,
    REDUCED,
    SWITCHES,
    tasks,
    with_dependencies,
)
from megtrim.report.formatting import align_columns, group_digits
from megtrim.report.text import one_line
from megtrim.size.prices.price_list import (
    Calibration,
    Price,
    PriceKind,
    PriceList,
    SizeOptimisation,
    TrimStep,
)
from megtrim.stages import runner
from megtrim.strict_json import encode

_BRIEFLY = (PriceKind.MODEL, PriceKind.TAG, PriceKind.OPERATOR, PriceKind.FUNCTION)
_LEVEL, _OPTIMISATION = _OF_TRIM = ("level", "optimisation")


@click.command(
    "prices",
    epilog="""\b
Examples:
  megtrim size prices
  megtrim size prices --by model --exact 10      really builds without each model, and it alone
  megtrim size prices --by region --top 40
  megtrim size prices --by function --calibrate 20
  megtrim size prices --by level --by optimisation --exact 10    what each of them won
""",
)
@common
@committed_option
@quick_option
@top_option
@click.option(
    "--by",
    type=click.Choice([*(each.value for each in PriceKind), _LEVEL, _OPTIMISATION]),
    multiple=True,
    help="A table of these; repeatable. By default: model, tag, operator, function and level.",
)
@click.option(
    "--exact",
    metavar="N",
    type=click.IntRange(0, 1000),
    default=0,
    help="Build or link without each of the first N rows of a table, to show its real price.",
)
@click.option(
    "--calibrate",
    metavar="N",
    type=click.IntRange(0, 1000),
    default=0,
    help="Do so for N functions drawn at random, or regions where functions are not trimmed.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="What the draw begins with.")
@click.option("--program", metavar="NAME", help="The program; without, the first that is trimmed.")
@click.option("--json", "as_json", is_flag=True, help="Print all prices as JSON.")
def prices(
    top: int,
    by: tuple[str, ...],
    exact: int,
    calibrate: int,
    seed: int,
    program: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Show what each model, scenario, tag, region, operator and function costs.

    A price is what would go from the trimmed program if the thing left and all others stayed. What
    several share is in the price of none. A model also has a size alone: of a program trimmed for
    it only. Prices are attributed, by what refers to what, in seconds; with `--exact` and
    `--calibrate` the program is really built or linked without a thing, and the difference shown.

    The trimmed program is linked once more for it, and so is the profile build, which shows where
    regions are; without a profile build, regions have no price. A function is shown with its own
    bytes, and with all that would go with it.

    A level shows what it won against the one before; a size optimisation, or a switch of the engine
    that is off, shows with `--exact` how much larger the program is without it alone.
    """
    trim = _open_trim(Options(**options))
    session = trim.session
    artifact = trim.open_priced(program)
    kinds = tuple(PriceKind(each) for each in by if each not in _OF_TRIM) if by else _BRIEFLY
    found = attributed.make_price_list(artifact, session)
    if _OPTIMISATION in by:
        found = replace(found, optimisations=_measure_optimisations(artifact, session, exact))
    check = PriceCheck(session=session, obtain=runner.obtain)
    built = {kind: _build(check, artifact, found.of_kind(kind), exact) for kind in kinds}
    sample = check.calibrate(artifact, calibrate, seed) if calibrate else None
    if as_json:
        show(_data(found, built, sample))
    else:
        with_levels = not by or _LEVEL in by
        show(
            _text(
                found if with_levels else replace(found, levels=(), switches=()), built, sample, top
            )
        )
    return EXIT_PASS


def _open_trim(options: Options) -> TrimResults:
    """Open the results of a trim, with what its switches saved if that was measured."""
    trim = open_trim(options, (PLAIN, REDUCED))
    every = tasks(trim.session.request.config, committed=trim.session.request.committed)
    runner.plan(with_dependencies([SWITCHES], every), trim.session)
    return trim


def _measure_optimisations(
    artifact: PricedArtifact, session: Session, exact: int
) -> tuple[SizeOptimisation, ...]:
    """Return the size optimisations that are used, the first of them with what they won."""
    check = OptimisationCheck(session=session, obtain=runner.obtain)
    every = list_optimisations(session)
    return (*(check.measure(artifact, each) for each in every[:exact]), *every[exact:])


def _build(
    check: PriceCheck, artifact: PricedArtifact, every: tuple[Price, ...], exact: int
) -> tuple[Price, ...]:
    """Return prices of one kind, the first of them with their real ones."""
    return (*(check.build(artifact, each) for each in every[:exact]), *every[exact:])


def _data(
    found: PriceList, built: dict[PriceKind, tuple[Price, ...]], sample: Calibration | None
) -> str:
    tables = {kind.value: encode(built.get(kind, found.of_kind(kind))) for kind in PriceKind}
    data = {
        "version": 1,
        "program": found.artifact,
        "size_bytes": found.size_bytes,
        "prices": tables,
        "levels": encode(found.levels),
        "switches": encode(found.switches),
        "optimisations": encode(found.optimisations),
        "calibration": encode(sample),
    }
    return json.dumps(data, indent=1)


def _text(
    found: PriceList,
    built: dict[PriceKind, tuple[Price, ...]],
    sample: Calibration | None,
    top: int,
) -> str:
    parts = [f"{found.artifact}: {group_digits(found.size_bytes)} bytes"]
    parts += (_draw_prices(kind, rows, top) for kind, rows in built.items() if rows)
    if found.levels:
        parts.append(_draw_steps("level", found.levels))
    if found.switches:
        parts.append(_draw_steps("switch", found.switches))
    if found.optimisations:
        parts.append(_draw_optimisations(found.optimisations))
    if sample is not None:
        parts.append(_draw_sample(sample, top))
    return "\n\n".join(parts)


def _draw_prices(kind: PriceKind, rows: Sequence[Price], top: int) -> str:
    shown = tuple(_iter_columns(rows))
    lines = [(_label(each), *(_cell(each, column) for column in shown)) for each in rows[:top]]
    if rows[top:]:
        lines.append((f"[{group_digits(len(rows) - top)} others]", *("" for _ in shown)))
    return "\n".join(align_columns((kind.value, *shown), lines, (kind.value,)))


def _iter_columns(rows: Sequence[Price]) -> Iterator[str]:
    if any(each.own_bytes is not None for each in rows):
        yield "own"
    yield "bytes"
    if any(each.alone_bytes is not None for each in rows):
        yield "alone"
    if any(each.built_margin_bytes is not None for each in rows):
        yield from ("built", "error")
    if any(each.built_alone_bytes is not None for each in rows):
        yield "built alone"


def _cell(price: Price, column: str) -> str:
    value = {
        "own": price.own_bytes,
        "bytes": price.margin_bytes,
        "alone": price.alone_bytes,
        "built": price.built_margin_bytes,
        "error": price.error_bytes,
        "built alone": price.built_alone_bytes,
    }[column]
    if value is None:
        return "-"
    return f"{value:+,}" if column == "error" else group_digits(value)


def _label(price: Price) -> str:
    """Return a name as a terminal shows it: names are from files of others."""
    return one_line(fold(price.name) if price.kind is PriceKind.FUNCTION else price.name)


def _draw_steps(what: str, steps: Sequence[TrimStep]) -> str:
    lines = [
        (
            each.name,
            group_digits(each.size_bytes),
            f"{each.won_bytes:,}",
            _format_share(each.won_share),
        )
        for each in steps
    ]
    return "\n".join(align_columns((what, "bytes", "won", "share"), lines, (what,)))


def _format_share(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _draw_optimisations(rows: Sequence[SizeOptimisation]) -> str:
    noted = any(each.note for each in rows)
    lines = [
        (
            f"{each.name} {each.value}",
            "-" if each.without_bytes is None else group_digits(each.without_bytes),
            "-" if each.won_bytes is None else f"{each.won_bytes:,}",
            _format_share(each.won_share),
            *((one_line(each.note),) if noted else ()),
        )
        for each in rows
    ]
    head = (_OPTIMISATION, "without it", "won", "share", *(("note",) if noted else ()))
    return "\n".join(align_columns(head, lines, (_OPTIMISATION, "note")))


def _draw_sample(sample: Calibration, top: int) -> str:
    count, total = len(sample.prices), sample.attributed_bytes
    share = f" ({total / sample.built_bytes - 1:+.1%})" if sample.built_bytes else ""
    line = (
        f"random sample of {count}, seed {sample.seed}: {group_digits(total)} bytes attributed, "
        f"{group_digits(sample.built_bytes)} really{share}; "
        f"{sample.mean_error_bytes:,.0f} bytes wrong on average"
    )
    kind = sample.prices[0].kind if sample.prices else PriceKind.FUNCTION
    return f"{line}\n{_draw_prices(kind, sample.prices, top)}"
