"""``megtrim perf export``: a run as other tools read it."""

from __future__ import annotations

import click

from megtrim.cli.echo import show
from megtrim.cli.history_options import HistorySelector, history_options
from megtrim.cli.perf.options import choose_runs
from megtrim.perf.nights.history import ExportFormat, export_run
from megtrim.util.errors import EXIT_PASS, InputError


@click.command(
    epilog="""\b
Examples:
  megtrim perf export 20261123T020000Z-1a2b3c4d5e6f-0123456789abcdef --format bencher
  megtrim perf export 1a2b3c4 --branch perf-history --format github-action-benchmark
"""
)
@click.argument("run", metavar="RUN")
@click.option(
    "--format",
    "form",
    type=click.Choice([each.value for each in ExportFormat]),
    required=True,
    help="Tool that reads it.",
)
@history_options
def export(selector: HistorySelector, run: str, form: str) -> int:
    """Print one run for github-action-benchmark (customSmallerIsBetter) or Bencher (JSON).

    RUN is a run's id, a commit, a file, or a folder, whose newest commit counts. Rows that were
    skipped or failed are left out: neither form has a word for them.
    """
    found = choose_runs(run, selector)
    if len(found) > 1:
        listed = ", ".join(f"{each.id} ({each.device.name})" for each in found)
        msg = f"{run}: found {len(found)} runs, expected one: {listed}"
        raise InputError(msg, hint="name one by its id: each device is a testbed of its own")
    show(export_run(found[0], ExportFormat(form)).rstrip("\n"))
    return EXIT_PASS
