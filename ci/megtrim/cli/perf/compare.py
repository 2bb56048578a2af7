"""``megtrim perf compare``: two runs of the history, row by row."""

from __future__ import annotations

import json

import click

from megtrim.cli.echo import show
from megtrim.cli.history_options import HistorySelector, history_options
from megtrim.cli.perf.options import choose_runs
from megtrim.perf.nights.history import RunComparison, compare_runs
from megtrim.render.formatting import align_columns
from megtrim.util.errors import EXIT_PASS
from megtrim.util.strict_json import encode

_METHOD = "Ratios of medians; each interval combines those of both runs, which keep no samples."


@click.command(
    epilog="""\b
Examples:
  megtrim perf compare 1a2b3c4 5d6e7f8 --branch perf-history
  megtrim perf compare before/run.json after/run.json --json
"""
)
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@history_options
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def compare(selector: HistorySelector, first: str, second: str, as_json: bool) -> int:
    """Print times of B over those of A, with intervals.

    A and B are each a run's id, a commit, a file, or a folder, whose newest commit counts. Rows
    are compared on one device only. The interval says how sure the ratio is, as far as it can be
    known without the samples of both runs.
    """
    found = compare_runs(choose_runs(first, selector), choose_runs(second, selector))
    show(json.dumps(encode(found), indent=1) if as_json else _text(found))
    return EXIT_PASS


def _text(found: RunComparison) -> str:
    head = ("scenario", "contestant", "stage", "device", "A ms", "B ms", "B / A", "interval")
    rows = [
        (
            *(each.scenario, each.contestant, each.stage, each.device),
            *(f"{each.before_ms:.3f}", f"{each.after_ms:.3f}", f"{each.ratio:.3f}"),
            f"{each.lower:.3f} to {each.upper:.3f}" + " *" * each.differs,
        )
        for each in found.ratios
    ]
    lines = align_columns(head, rows, head[:4]) if rows else ["no row of both to compare"]
    if found.ratios:
        lines += ["", f"{_METHOD} *: the interval does not hold 1."]
    notes = sorted({each.note for each in found.ratios} - {""})
    lines += [f"note: {note}" for note in notes]
    return "\n".join([*lines, *(f"not compared: {each}" for each in found.unpaired)])
