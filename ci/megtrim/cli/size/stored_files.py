"""The ``sizes.json`` files that runs of the workflow stored, where a person put them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from megtrim.cli.session.console import open_console
from megtrim.errors import InputError
from megtrim.pipeline.filenames import SIZES_FILE
from megtrim.size.baseline import load_sizes
from megtrim.size.commit_sizes import CommitSizes, make_commit_sizes


def load_commit_sizes(paths: Iterable[Path]) -> tuple[CommitSizes, ...]:
    """Read files, and folders that have some at any depth.

    What has no place in a history, such as the sizes of no commit, is left out with a warning.
    Raises InputError for a file that cannot be read, and for a folder without any.
    """
    console = open_console(quiet=False)
    found: list[CommitSizes] = []
    for path in _list_files(paths):
        stored = load_sizes(path, shown=str(path))
        try:
            found.append(make_commit_sizes(stored, shown=str(path)))
        except InputError as error:
            console.warn(f"left out: {error.message}")
    return tuple(found)


def _list_files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        found = sorted(path.rglob(SIZES_FILE)) if path.is_dir() else [path]
        if not found:
            msg = f"{path}: found no {SIZES_FILE} in this folder, expected at least one"
            raise InputError(msg, hint="download the artifacts that runs stored into it")
        yield from found
