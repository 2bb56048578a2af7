"""``megtrim trim``: the whole chain, its exit status, and what it leaves for the steps after it.

``OUT/final`` holds the verdict, its report and the sizes of the last run that had a verdict; where
a later one ended before, ``ending.json`` is there as well, and says why.
"""

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from megtrim.core.chain import final
from megtrim.core.chain.filenames import FINAL_FOLDER, SIZES_FILE, VERDICT_FILE
from megtrim.core.chain.graph import REDUCED, REPORT, SIZE, VERDICT, Stage
from megtrim.core.chain.result_store import Store
from megtrim.core.chain.session import Session
from megtrim.core.checks.invocation import BASELINE_FILE, Options
from megtrim.core.checks.statuses import VerdictKind
from megtrim.core.cli.echo import complain
from megtrim.core.cli.environment import open_processes, read_invocation
from megtrim.core.cli.failures import translate
from megtrim.core.cli.options import expect_writable
from megtrim.core.cli.session.made_of import finish
from megtrim.core.cli.stage import run_chain
from megtrim.core.config.config_id import split
from megtrim.core.config.load import load_config
from megtrim.core.evidence.fields import EarlyExit
from megtrim.core.report import junit
from megtrim.core.report.toolchains import render_table
from megtrim.core.size.stage import remember_pass
from megtrim.core.verdict.model import Verdict, VerdictResult, parse_verdict
from megtrim.libs.util import limits
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import (
    EXIT_PASS,
    Bug,
    InfrastructureFailure,
    InputError,
    MegtrimError,
    worst_exit_code,
)

_HINT = "trim it again"


def summarize(folders: Mapping[str, Path | None]) -> str:
    return render_table({name: _read_final(out) for name, out in folders.items()})


def _read_final(out: Path | None) -> Verdict | None:
    file = None if out is None else out / FINAL_FOLDER / VERDICT_FILE
    if file is None or not file.is_file() or file.with_name(limits.ENDING_FILE).exists():
        return None
    return parse_verdict(limits.read_text(file, hint=_HINT), source=str(file))


def trim(options: Options, models: tuple[Path, ...], no_gate: bool) -> int:
    if options.of_releases and not options.reached:
        msg = "--release names the release of a record: it needs --reached"
        raise click.UsageError(msg)
    expect_writable(options.out)
    if models:
        _prepare(models, options)
    store = Store(options.results)
    final.begin(store, read_invocation(options).config)
    try:
        session, codes = run_chain(replace(options, records=True), Stage.REPORT, leaves=True)
        failure = session.results.failed.get(VERDICT) or session.results.failed.get(REPORT)
        if failure is None:
            _leave_report(session)
    except KeyboardInterrupt:
        _say_earlier(store, options)
        raise
    except Exception as error:
        ended = translate(error) or Bug()
        ended.complete(read_invocation(options).place)
        _leave_ending(ended, options, no_gate=no_gate)
        raise
    if failure is not None:
        _leave_ending(failure, options, no_gate=no_gate)
    elif session.request.remembers and _has_passed(session):
        remember_pass(session, finish(session, open_processes()))
    return EXIT_PASS if no_gate and failure is None else worst_exit_code(codes)


def _prepare(models: tuple[Path, ...], options: Options) -> None:
    from megtrim.core.cli.session.starter import plan_starter, write_files

    file, _ = split(str(options.config))
    if not Path(file).exists():
        console = Console(sys.stderr, quiet=options.quiet)
        new = plan_starter(models, Path(file), options.engine)
        write_files(new.files)
        for line in new.lines:
            console.say(line)
        return
    loaded = load_config(options.config, engine_source=options.engine)
    known = {loaded.resolve(model.file).resolve() for model in loaded.config.models}
    missing = next((model for model in models if model.resolve() not in known), None)
    if missing is not None:
        msg = f"{options.config} has no model {missing}"
        raise InputError(msg, hint="add it under `models`, or name another file with --config")


def _has_passed(session: Session) -> bool:
    verdict = session.done[VERDICT].result_as(VerdictResult)
    return verdict.verdict is VerdictKind.PASS and SIZE in session.done


def _leave_report(session: Session) -> None:
    sizes = session.done.get(SIZE)
    files = [(SIZES_FILE, sizes.file(SIZES_FILE))] if sizes else []
    if session.request.options.baseline is not None and session.request.options.baseline.is_file():
        files.append((BASELINE_FILE, session.request.options.baseline))
    for task in (REPORT, VERDICT):
        folder = session.done[task]
        files += [(name, folder.file(name)) for name in folder.files]
    if session.request.final and REDUCED in session.done:
        built = session.done[REDUCED].path / final.PROGRAMS
        files += [(f"{final.PROGRAMS}/{each.name}", each) for each in built.iterdir()]
    final.replace(session.services.store, dict(files))


def _leave_ending(error: MegtrimError, options: Options, *, no_gate: bool) -> None:
    """Note it in what an earlier run left; ``no_gate``: the next step of a job reads it."""
    store = Store(options.results)
    if not (no_gate or final.is_there(store)):
        return
    ending = EarlyExit.of(error, read_invocation(options).config)
    with suppress(InfrastructureFailure, InputError):  # what ended the chain matters more
        final.add_ending(store, ending, junit=junit.render_ending(ending) if no_gate else "")
        _say_earlier(store, options)


def _say_earlier(store: Store, options: Options) -> None:
    if final.holds_verdict(store):
        complain(f"{options.out / FINAL_FOLDER} is from an earlier run: this one has no verdict")
