"""A history in a folder: each run is one file, which is created once and never written again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path

from megtrim.errors import InputError
from megtrim.input_files import read_bytes
from megtrim.perf.history import (
    FOLDER,
    LARGEST_RUN_BYTES,
    History,
    HistoryRun,
    UnreadableRun,
    collect,
    dump_run,
    is_run_path,
    select_paths,
)
from megtrim.store import cannot_write, write_atomically

_EXPECTED = "a run of the history"


def append_to_folder(root: Path, runs: Sequence[HistoryRun]) -> tuple[str, ...]:
    """Add runs to the history below ``root``, and return the paths of their files in it.

    A run that is there already is left as it is. Writers need no lock: no two runs share a file.
    """
    for run in runs:
        path = root / run.path
        _expect_inside(root, path)
        if not path.exists():
            write_atomically(path, dump_run(run))
    return tuple(run.path for run in runs)


def read_folder(root: Path, since: date | None = None) -> History:
    """Read the runs of ``since`` and later. Raises InputError if there is no such folder.

    A file that cannot be read is reported, and costs itself alone. Links are not followed.
    """
    if not root.is_dir():
        msg = f"{root}: found no folder, expected a history"
        raise InputError(msg, hint="name the folder with --history")
    files: list[tuple[str, bytes]] = []
    unreadable: list[UnreadableRun] = []
    for name in select_paths(_list_names(root), since):
        try:
            files.append((name, read_run_file(root / name, shown=name)))
        except InputError as error:
            unreadable.append(UnreadableRun(path=name, message=str(error)))
    found = collect(files)
    every = sorted((*found.unreadable, *unreadable), key=lambda each: each.path)
    return History(runs=found.runs, unreadable=tuple(every))


def read_run_file(path: Path, *, shown: str = "") -> bytes:
    """Return the bytes of one run's file. Raises InputError."""
    shown = shown or str(path)
    if path.is_symlink():
        msg = f"{shown}: found a link, expected {_EXPECTED}"
        raise InputError(msg)
    return read_bytes(path, most_bytes=LARGEST_RUN_BYTES, expected=_EXPECTED, shown=shown)


def _list_names(root: Path) -> Iterator[str]:
    """Yield the paths of runs; folders behind links are not entered."""
    for folder, folders, names in os.walk(root / FOLDER):
        folders.sort()
        for name in names:
            with suppress(UnicodeError):
                path = Path(folder, name).relative_to(root).as_posix()
                if is_run_path(path):
                    yield path


def _expect_inside(root: Path, path: Path) -> None:
    """Refuse a folder of the history that is a link, which may lead anywhere."""
    for parent in path.parents:
        if parent == root:
            return
        if parent.is_symlink():
            error = OSError(0, "a folder of the history is a link")
            raise cannot_write(path, error)
