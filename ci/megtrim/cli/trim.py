"""``megtrim trim``: the whole chain, its exit status, and what it leaves for the steps after it.

``OUT/final`` holds, under fixed names, the verdict, its report and the sizes; or, with --no-gate,
``ending.json`` and ``junit.xml``, which say why the chain ended before it had them. It is of this
run alone: it does not outlive the start of the next, nor a stage that is made anew.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from typing import Any

import click

from megtrim.cli.evidence.join import leave_ending
from megtrim.cli.options import expect_writable
from megtrim.cli.session.environment import open_processes
from megtrim.cli.session.invocation import BASELINE_FILE, invocation_of
from megtrim.cli.session.setup import Options, neighbours_option, traces_option, trimming
from megtrim.cli.stages import EXAMPLE, clear_final, run_chain
from megtrim.errors import EXIT_PASS, InfrastructureFailure, MegtrimError, worst_exit_code
from megtrim.evidence.early_exit import EarlyExit
from megtrim.pipeline.filenames import FINAL_FOLDER, SIZES_FILE
from megtrim.pipeline.session import Context
from megtrim.plan.graph import REPORT, SIZE, VERDICT, Stage
from megtrim.store import Store, write_atomically


@click.command(
    epilog=EXAMPLE.format(verb="trim")
    + "  megtrim trim --quick\n  megtrim trim --committed --no-gate\n"
)
@trimming
@neighbours_option
@click.option("--json", "as_json", is_flag=True, help="Print results as JSON.")
@click.option("--accept", is_flag=True, help="Accept the new keep set, shrunken traces included.")
@click.option("--no-gate", is_flag=True, help="Exit with 0 once there is a verdict.")
@traces_option
def trim(as_json: bool, accept: bool, no_gate: bool, **options: Any) -> int:
    """Build, profile, reduce, verify, weigh and report: the whole chain.

    What is up to date is not done again, and a run that was cut off continues.
    """
    chosen = Options(**options)
    expect_writable(chosen.out)
    store = Store(chosen.results)
    clear_final(store)
    try:
        context, codes = run_chain(chosen, Stage.REPORT, as_json=as_json, accept=accept)
        failure = context.failed.get(VERDICT) or context.failed.get(REPORT)
        if failure is None:
            _leave_report(context)
    except MegtrimError as error:
        if no_gate:
            error.complete(invocation_of(asdict(chosen), open_processes().env).place)
            _leave_ending(error, store)
        raise
    if not no_gate:
        return worst_exit_code(codes)
    if failure is not None:
        _leave_ending(failure, store)
        return worst_exit_code(codes)
    return EXIT_PASS


def _leave_report(context: Context) -> None:
    """Copy what is there, the verdict last: where it lies, all lies."""
    sizes = context.done.get(SIZE)
    files = [(SIZES_FILE, sizes.file(SIZES_FILE))] if sizes else []
    if context.baseline is not None and context.baseline.is_file():
        files.append((BASELINE_FILE, context.baseline))
    for task in (REPORT, VERDICT):
        folder = context.done[task]
        files += [(name, folder.file(name)) for name in folder.files]
    with context.store.lock(FINAL_FOLDER):
        for name, file in files:
            text = file.read_text(encoding="utf-8")
            write_atomically(context.store.root / FINAL_FOLDER / name, text)


def _leave_ending(error: MegtrimError, store: Store) -> None:
    """Tell the steps after this one what only standard error would say."""
    ending = EarlyExit(exit=error.exit_code, message=error.message, hint=error.hint)
    with suppress(InfrastructureFailure):  # what ended the chain matters, not this
        leave_ending(ending, store.root / FINAL_FOLDER)
