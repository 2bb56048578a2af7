"""Which history a command reads: a folder or a branch; and which of its runs are meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import wraps
from pathlib import Path
from typing import Any

import click

from megtrim.cli.session.environment import open_processes
from megtrim.cli.session.setup import open_console
from megtrim.errors import InputError
from megtrim.history.branch import DataBranch
from megtrim.history.folder import append_to_folder, read_folder, read_run_file
from megtrim.input_files import decode
from megtrim.perf.history import History, HistoryRun, parse_run

DEFAULT_FOLDER = "perf-history"
_SHORTEST_COMMIT = 7
_COMMIT = re.compile(r"[0-9a-f]{7,64}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySelector:
    """Where the history is."""

    folder: Path
    branch: str
    remote: str
    repository: Path

    def read(self, since: date | None = None) -> History:
        """Read it, with a warning for each file that could not be read."""
        branch = self._open_branch() if self.branch else None
        found = read_folder(self.folder, since) if branch is None else branch.read(since)
        warn_unreadable(found)
        return found

    def append(self, runs: Sequence[HistoryRun]) -> str:
        """Add runs, and say where they are now."""
        if not self.branch:
            append_to_folder(self.folder, runs)
            return str(self.folder)
        commit = self._open_branch().append(runs)
        return f"{self.branch} at {commit[:12]}"

    def _open_branch(self) -> DataBranch:
        return DataBranch(open_processes(), self.repository, self.branch, remote=self.remote)


def history_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where the history is, and pass on one HistorySelector."""

    @wraps(command)
    def call_with_selector(**values: Any) -> Any:
        keys = ("folder", "branch", "remote", "repository")
        return command(HistorySelector(**{key: values.pop(key) for key in keys}), **values)

    path = click.Path(path_type=Path)
    found: Callable[..., Any] = call_with_selector
    for option in reversed(
        (
            click.option(
                *("--history", "folder"),
                type=path,
                default=Path(DEFAULT_FOLDER),
                show_default=True,
                help="Folder of the history.",
            ),
            click.option(
                "--branch", default="", help="Branch of the history, in place of a folder."
            ),
            click.option(
                "--remote", default="origin", show_default=True, help="Remote that has the branch."
            ),
            click.option(
                "--repository",
                type=path,
                default=Path(),
                help="Checkout with that remote. [default: the current folder]",
            ),
        )
    ):
        found = option(found)
    return found


def load_run(path: Path) -> HistoryRun:
    """Read a run from a file of any name. Raises InputError."""
    return parse_run(decode(read_run_file(path), shown=str(path)), source=str(path))


def choose_runs(text: str, selector: HistorySelector) -> tuple[HistoryRun, ...]:
    """Return the runs that a person means: a file, a folder's newest, a run's id, or a commit.

    A folder's newest runs are those of its newest commit. Raises InputError.
    """
    path = Path(text)
    if path.is_dir():
        found = read_folder(path)
        warn_unreadable(found)
        return _newest(found.runs, text)
    if path.exists():
        return (load_run(path),)
    runs = selector.read().runs
    chosen = tuple(run for run in runs if run.id == text)
    if not chosen and _COMMIT.fullmatch(text):
        chosen = tuple(run for run in runs if run.commit.sha.startswith(text))
        _expect_one_commit(text, chosen)
    if not chosen:
        msg = f"{text}: found no such run, commit, file or folder"
        hint = f"`megtrim perf history` lists runs; a commit has {_SHORTEST_COMMIT} digits or more"
        raise InputError(msg, hint=hint)
    return chosen


def warn_unreadable(found: History) -> None:
    """Print a warning for each file that could not be read."""
    console = open_console(quiet=False)
    for each in found.unreadable:
        console.warn(f"left out: {each.message}")


def parse_day(_ctx: click.Context, _param: click.Parameter, text: str | None) -> date | None:
    """Parse the value of ``--since``."""
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        msg = f"found {text!r}, expected a day such as 2026-10-01"
        raise click.BadParameter(msg) from None


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
