"""The history that a command reads or appends to: a folder, or a branch of a repository."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from megtrim.core.cli.clock import read_now
from megtrim.core.cli.echo import open_console
from megtrim.core.cli.environment import open_processes
from megtrim.libs.history.branch import DataBranch
from megtrim.libs.history.entries import Entry, EntryKind, History, HistoryEntry
from megtrim.libs.history.folder import append_to_folder, read_folder
from megtrim.libs.util.value import Value


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


def warn_unreadable(found: History[Entry]) -> None:
    console = open_console()
    for each in found.unreadable:
        console.warn(f"left out: {each.message}")
