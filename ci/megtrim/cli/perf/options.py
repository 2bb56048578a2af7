"""What commands of `megtrim perf` share: runs of a history, and which devices may time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from megtrim.chain.session import Session
from megtrim.cli.environment import read_now
from megtrim.cli.history_options import HistorySelector, warn_unreadable
from megtrim.config.device import EMULATED
from megtrim.config.scenarios import Scenario
from megtrim.history.folder import read_entry_file, read_folder
from megtrim.perf.nights.history import RUN_FILES, HistoryRun, parse_run
from megtrim.util.errors import InputError
from megtrim.util.input_files import decode

_SHORTEST_COMMIT = 7
_COMMIT = re.compile(r"[0-9a-f]{7,64}", re.ASCII)

emulated_option = click.option(
    "--emulated",
    is_flag=True,
    help="Measure on emulators, too, to try it out: their times say nothing about a device.",
)


def expect_real_devices(scenarios: Iterable[Scenario], session: Session, *, emulated: bool) -> None:
    """Refuse to time what an emulator runs, or warn if that is wanted. Raises InputError."""
    devices = {each.cpu_class.name: session.services.device(each) for each in scenarios}
    for name, device in sorted(devices.items()):
        if device.kind in EMULATED:
            msg = f"class {name}: {device.name} is emulated ({device.kind}): its times say nothing"
            if not emulated:
                hint = "measure on a device (--device), or try it out with --emulated"
                raise InputError(msg, hint=hint)
            session.services.console.warn(msg)


def load_run(path: Path) -> HistoryRun:
    """Read a run from a file of any name. Raises InputError."""
    return parse_run(decode(read_entry_file(path, RUN_FILES), shown=str(path)), source=str(path))


def choose_runs(text: str, selector: HistorySelector) -> tuple[HistoryRun, ...]:
    """Return the runs that a person means: a file, a folder's newest, a run's id, or a commit.

    A folder's newest runs are those of its newest commit. Raises InputError.
    """
    path = Path(text)
    if path.is_dir():
        found = read_folder(path, RUN_FILES).until(read_now())
        warn_unreadable(found)
        return _newest(found.entries, text)
    if path.exists():
        return (load_run(path),)
    runs = selector.read(RUN_FILES).entries
    chosen = tuple(run for run in runs if run.id == text)
    if not chosen and _COMMIT.fullmatch(text):
        chosen = tuple(run for run in runs if run.commit.sha.startswith(text))
        _expect_one_commit(text, chosen)
    if not chosen:
        msg = f"{text}: found no such run, commit, file or folder"
        hint = f"`megtrim perf history` lists runs; a commit has {_SHORTEST_COMMIT} digits or more"
        raise InputError(msg, hint=hint)
    return chosen


def _newest(runs: Sequence[HistoryRun], text: str) -> tuple[HistoryRun, ...]:
    if not runs:
        msg = f"{text}: found no run in this folder, expected a history"
        raise InputError(msg)
    return tuple(run for run in runs if run.commit.sha == runs[-1].commit.sha)


def _expect_one_commit(text: str, runs: Sequence[HistoryRun]) -> None:
    commits = sorted({run.commit.sha for run in runs})
    if len(commits) > 1:
        msg = f"{text}: found {len(commits)} commits that begin so, expected one"
        raise InputError(msg, hint="give more digits")
