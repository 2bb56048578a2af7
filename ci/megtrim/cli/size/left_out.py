"""``megtrim size left-out``: what a trim left out, with its bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import click

from megtrim import stages
from megtrim.chain.graph import (
    BASE_REFERENCES,
    PROFILE,
    PROFILE_REFERENCES,
    REDUCED,
    SHIPPED_REFERENCES,
    trims_functions,
    with_dependencies,
)
from megtrim.chain.session import Session
from megtrim.chain.store import made_by_another
from megtrim.checks.invocation import Options
from megtrim.cli.echo import show, show_json
from megtrim.cli.options import committed_option, common, json_option, quick_option
from megtrim.cli.session.setup import open_session
from megtrim.cli.size.show import draw_table, top_option
from megtrim.elf.symbol_names import fold, shorten
from megtrim.render.formatting import align_columns, group_digits
from megtrim.render.markup import one_line
from megtrim.size.prices.price_list import Price, PriceKind
from megtrim.size.prices.pricing import PricedArtifact, make_price_list, open_artifacts
from megtrim.size.references import read_links as references
from megtrim.size.references.left_out import (
    LeftOutDocument,
    LeftOutRow,
    TrimmedGraph,
    compare_graphs,
    list_left_out,
    make_row,
)
from megtrim.size.references.linked_file import LinkedFile
from megtrim.size.references.read_links import ReferencesResult
from megtrim.util.errors import EXIT_PASS, InputError
from megtrim.util.value import Value

program_option = click.option(
    "--program", metavar="NAME", help="The program; without, the first that is trimmed."
)
_HINT = "trim first: its results are what is asked about"


class TrimResults(Value):
    session: Session

    def read(self, task_id: str, program: str | None) -> tuple[str, LinkedFile]:
        """Return a program's name and its graph, of the links of a task.

        They are made now if they are not there yet. ``program``: None for the first. Raises
        InputError for a program that is not one of them.
        """
        made = self.session.results.expect(task_id)
        chosen = choose_program(program, made.result_as(ReferencesResult).programs)
        self.session.services.console.note(f"reading what refers to what in {chosen}")
        return chosen, references.read_program(chosen, made)

    def open_priced(self, program: str | None) -> PricedArtifact:
        """Return the program that is priced, with the links that show what refers to what.

        Raises InputError for a program that is not one of them.
        """
        results = self.session.results
        results.expect(SHIPPED_REFERENCES)
        if PROFILE in results.done:
            results.obtain(PROFILE_REFERENCES)
        names: list[str] = []
        for each in open_artifacts(self.session):  # each is a graph of its own
            if not program or each.name == program:
                return each
            names.append(each.name)
        raise _explain_unknown(program or "", names)


def choose_program(program: str | None, names: Collection[str]) -> str:
    chosen = program or next(iter(names), "")
    if chosen not in names:
        raise _explain_unknown(chosen, names)
    return chosen


def _explain_unknown(program: str, names: Collection[str]) -> InputError:
    return InputError(f"--program: found {program!r}, expected one of {', '.join(names)}")


def open_trim(options: Options, needs: Sequence[str] = (REDUCED,)) -> TrimResults:
    session = open_session(options)
    for step in stages.plan(with_dependencies(needs, session.request.tasks), session):
        if step.why == stages.OTHER_VERSION:
            raise made_by_another(options.out)
        if step.state is not stages.TaskState.DONE:
            msg = f"{options.out}: {step.task} is not up to date: {step.why}"
            again = session.request.invocation.again("trim")
            raise InputError(msg, hint=f"{_HINT}: {again}")
    return TrimResults(session=stages.able(session))


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
@program_option
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
@json_option
def left_out(options: Options, program: str | None, by: str, match: str, top: int) -> int:
    """Show what the trim left out of a program, with its bytes.

    The rows add up to what the trimmed program is smaller by in memory. Where functions are
    trimmed, it is compared with the link in which each function has bytes of its own, and data that
    only they referred to went with them; otherwise with the plain program.
    """
    trim = open_trim(options)
    name, rows = _compare(program, trim)
    chosen = [
        row for row in rows if match.casefold() in f"{row.symbol}\n{row.component}".casefold()
    ]
    document = LeftOutDocument(program=name, left_out=tuple(_group(chosen, by)))
    if options.as_json:
        show_json(document)
    else:
        show(_draw(document, by, top))
    return EXIT_PASS


def _compare(program: str | None, trim: TrimResults) -> tuple[str, tuple[LeftOutRow, ...]]:
    name, base = trim.read(BASE_REFERENCES, program)
    if trims_functions(trim.session.request.config):
        dropped = references.read_dropped(name, trim.session)
        return name, list_left_out(TrimmedGraph(base=base.graph, dropped=dropped))
    return name, compare_graphs(base.graph, trim.read(SHIPPED_REFERENCES, name)[1].graph)


def _group(rows: Sequence[LeftOutRow], view: str) -> list[LeftOutRow]:
    if view == _SYMBOL:
        return [row for row in rows if row.left_out_bytes]
    base: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for row in rows:
        base[row.component] += row.base_bytes
        kept[row.component] += row.kept_bytes
    found = (make_row(name, "", size_bytes, kept[name]) for name, size_bytes in base.items())
    changed = (row for row in found if row.left_out_bytes)
    return sorted(changed, key=lambda row: (-row.left_out_bytes, row.component))


def _draw(document: LeftOutDocument, view: str, top: int) -> str:
    labels = (_COMPONENT, _SYMBOL) if view == _SYMBOL else (_COMPONENT,)

    def cells(rows: Sequence[LeftOutRow]) -> tuple[str, ...]:
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
@program_option
@json_option
def prices(options: Options, top: int, by: tuple[str, ...], program: str | None) -> int:
    """Show what each model, scenario, operator and function costs.

    A price is what would go from the trimmed program if the thing left and all others stayed. What
    several share is in the price of none. A model also has a size alone: of a program trimmed for
    it only. Prices are attributed, by what refers to what, in seconds.

    The trimmed program is linked once more for it, and so is the profile build, which shows where
    regions are; without a profile build, the code of regions is in no price. A function is shown
    with its own bytes, and with all that would go with it.
    """
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
        return EXIT_PASS
    show(f"{found.artifact}: {group_digits(found.size_bytes)} bytes")
    for kind in tuple(map(PriceKind, by)) or _BRIEFLY:
        if rows := found.of_kind(kind):
            show(f"\n{_draw_prices(kind, rows, top)}")
    return EXIT_PASS


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
