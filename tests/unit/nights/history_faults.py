"""What can go wrong with the history of a night: files of others in its folder, writers at once."""

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


def _spoiled(folder: Path) -> Path:
    path = folder / SPOILED
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


FOLDER_FAULTS: dict[str, Callable[[Path], object]] = {
    "a former night is damaged": lambda at: _spoiled(at).write_bytes(b'{"version": 1,,'),
    "a former night is no text": lambda at: _spoiled(at).write_bytes(b"\xff\xfe{"),
    "a former night is too large": (
        lambda at: _spoiled(at).write_bytes(b" " * (LARGEST_RUN_BYTES + 1))
    ),
    "a former night is a link": lambda at: _spoiled(at).symlink_to("/etc/passwd"),
    "a former night is a folder": lambda at: _spoiled(at).mkdir(),
    "a former night has another's name": (
        lambda at: _spoiled(at).write_bytes((at / LAST_WEEK.path).read_bytes())
    ),
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
