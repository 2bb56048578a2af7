"""A history in a folder: each entry is one file, which is created once and never written again."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path

from megtrim.libs.history.entries import Entry, EntryKind, History, HistoryEntry, UnreadableFile
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.files import cannot_write, write_atomically
from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.strict_json import dump


def append_to_folder(root: Path, entries: Sequence[HistoryEntry]) -> tuple[str, ...]:
    for entry in entries:
        path = root / entry.path
        _expect_inside(root, path)
        if not path.exists():
            write_atomically(path, dump(entry))
    return tuple(entry.path for entry in entries)


def read_folder(root: Path, kind: EntryKind[Entry], since: date | None = None) -> History[Entry]:
    """A file that cannot be read is reported, and costs itself alone. Raises InputError."""
    if not root.is_dir():
        msg = f"{root}: found no folder, expected a history"
        raise InputError(msg, hint="name the folder with --history")
    files: list[tuple[str, bytes]] = []
    unreadable: list[UnreadableFile] = []
    for name in kind.select(_list_names(root, kind), since):
        try:
            files.append((name, read_entry_file(root / name, kind, shown=name)))
        except InputError as error:
            unreadable.append(UnreadableFile(path=name, message=str(error)))
    return kind.collect(files).add(unreadable)


def read_entry_file(path: Path, kind: EntryKind[Entry], *, shown: str = "") -> bytes:
    shown = shown or str(path)
    expected = f"a {kind.noun} of the history"
    if path.is_symlink():
        msg = f"{shown}: found a link, expected {expected}"
        raise InputError(msg)
    return read_bytes(path, most_bytes=kind.largest_bytes, expected=expected, shown=shown)


def _list_names(root: Path, kind: EntryKind[Entry]) -> Iterator[str]:
    for folder, folders, names in os.walk(root / kind.folder):
        folders.sort()
        for name in names:
            with suppress(UnicodeError):
                path = Path(folder, name).relative_to(root).as_posix()
                if kind.is_path(path):
                    yield path


def _expect_inside(root: Path, path: Path) -> None:
    for parent in path.parents:
        if parent == root:
            return
        if parent.is_symlink():
            error = OSError(0, "a folder of the history is a link")
            raise cannot_write(path, error)
