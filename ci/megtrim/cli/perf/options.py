"""Which runs of a history a command means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from megtrim.cli.history_options import HistorySelector, warn_unreadable
from megtrim.errors import InputError
from megtrim.history.folder import read_entry_file, read_folder
from megtrim.input_files import decode
from megtrim.perf.history import RUN_FILES, HistoryRun, parse_run

_SHORTEST_COMMIT = 7
_COMMIT = re.compile(r"[0-9a-f]{7,64}", re.ASCII)


def load_run(path: Path) -> HistoryRun:
    """Read a run from a file of any name. Raises InputError."""
    return parse_run(decode(read_entry_file(path, RUN_FILES), shown=str(path)), source=str(path))


def choose_runs(text: str, selector: HistorySelector) -> tuple[HistoryRun, ...]:
    """Return the runs that a person means: a file, a folder's newest, a run's id, or a commit.

    A folder's newest runs are those of its newest commit. Raises InputError.
    """
    path = Path(text)
    if path.is_dir():
        found = read_folder(path, RUN_FILES)
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
