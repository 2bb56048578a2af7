"""Which history a command reads or appends to: a folder, or a branch of a repository."""

from collections.abc import Sequence
from datetime import date
from functools import wraps
from pathlib import Path
from typing import Any

import click

from megtrim.core.cli.clock import read_now
from megtrim.core.cli.echo import open_console
from megtrim.core.cli.environment import open_processes
from megtrim.core.cli.options import PATH, Command, add_options
from megtrim.libs.history.branch import DataBranch
from megtrim.libs.history.entries import Entry, EntryKind, History, HistoryEntry
from megtrim.libs.history.folder import append_to_folder, read_folder
from megtrim.libs.util.value import Value

DEFAULT_FOLDER = "perf-history"


class HistorySelector(Value):
    folder: Path
    branch: str
    remote: str
    repository: Path

    def read(self, kind: EntryKind[Entry], since: date | None = None) -> History[Entry]:
        if self.branch:
            found = self._open_branch().read(kind, since)
        else:
            found = read_folder(self.folder, kind, since)
        found = found.until(read_now())
        warn_unreadable(found)
        return found

    def append(self, entries: Sequence[HistoryEntry]) -> str:
        if not self.branch:
            append_to_folder(self.folder, entries)
            return str(self.folder)
        commit = self._open_branch().append(entries)
        return f"{self.branch} at {commit[:12]}"

    def _open_branch(self) -> DataBranch:
        return DataBranch(open_processes(), self.repository, self.branch, remote=self.remote)


def history_options(command: Command) -> Command:
    @wraps(command)
    def call_with_selector(**values: Any) -> Any:
        keys = ("folder", "branch", "remote", "repository")
        return command(HistorySelector(**{key: values.pop(key) for key in keys}), **values)

    return add_options(
        call_with_selector,
        click.option(
            "--history",
            "folder",
            type=PATH,
            default=Path(DEFAULT_FOLDER),
            show_default=True,
            help="Folder of the history.",
        ),
        click.option("--branch", default="", help="Branch of the history, instead of a folder."),
        click.option(
            "--remote", default="origin", show_default=True, help="Remote that has the branch."
        ),
        click.option(
            "--repository",
            type=PATH,
            default=Path(),
            help="Checkout with that remote. [default: the current folder]",
        ),
    )


def warn_unreadable(found: History[Entry]) -> None:
    console = open_console()
    for each in found.unreadable:
        console.warn(f"left out: {each.message}")


def parse_day(_ctx: click.Context, _param: click.Parameter, text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        msg = f"found {text!r}, expected a day such as 2026-10-01"
        raise click.BadParameter(msg) from None
