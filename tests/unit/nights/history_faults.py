"""What can go wrong with the history of a night: files of others in its folder, writers at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from megtrim.history.branch import DataBranch
from megtrim.perf.nights.history import LARGEST_RUN_BYTES, HistoryRun
from megtrim.util.process import ProcessRunner
from support.history_entries import make_run

LAST_WEEK, TONIGHT, ELSEWHERE = make_run(0), make_run(7), make_run(7, device="pixel-9")
BRANCH = "perf-history"

SPOILED = make_run(3).path
_ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}


def _leave(folder: Path, data: bytes) -> None:
    path = folder / SPOILED
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _link(folder: Path) -> None:
    path = folder / SPOILED
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("/etc/passwd")


def _make_folder(folder: Path) -> None:
    (folder / SPOILED).mkdir(parents=True)


def _rename(folder: Path) -> None:
    (folder / SPOILED).parent.mkdir(parents=True, exist_ok=True)
    (folder / SPOILED).write_bytes((folder / LAST_WEEK.path).read_bytes())


FOLDER_FAULTS: dict[str, Callable[[Path], None]] = {
    "a former night is damaged": lambda folder: _leave(folder, b'{"version": 1,,'),
    "a former night is no text": lambda folder: _leave(folder, b"\xff\xfe{"),
    "a former night is too large": lambda folder: _leave(folder, b" " * (LARGEST_RUN_BYTES + 1)),
    "a former night is a link": _link,
    "a former night is a folder": _make_folder,
    "a former night has another's name": _rename,
}

RACES: dict[str, tuple[HistoryRun, HistoryRun]] = {
    "another device writes first": (ELSEWHERE, TONIGHT),
    "another device writes second": (TONIGHT, ELSEWHERE),
    "the same night writes twice": (TONIGHT, TONIGHT),
}


class Overtaken(DataBranch):
    def __init__(self, repository: Path, other: DataBranch, runs: Sequence[HistoryRun]) -> None:
        super().__init__(other._processes, repository, BRANCH, sleep=lambda _: None)
        self._other = other
        self._runs = list(runs)

    def _fetch(self) -> str:
        tip = super()._fetch()
        if self._runs:
            self._other.append([self._runs.pop()])
        return tip


def open_writers(folder: Path, first: HistoryRun) -> tuple[DataBranch, DataBranch]:
    processes = ProcessRunner(_ENV)
    bare = folder / "bare.git"
    processes.capture("git", "init", "--quiet", "--bare", str(bare))
    for name in ("one", "two"):
        checkout = folder / name
        processes.capture("git", "init", "--quiet", str(checkout))
        processes.capture("git", "-C", str(checkout), "remote", "add", "origin", str(bare))
    one = DataBranch(processes, folder / "one", BRANCH)
    one.append([LAST_WEEK])
    return one, Overtaken(folder / "two", one, [first])
