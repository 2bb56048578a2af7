"""Folders that megtrim made, told from those of a person by a marker in each, not by a name.

A marker names its folder of results by an id, so a copy elsewhere is no longer megtrim's.
"""

import ctypes
import errno
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.files import guard_write, read_object, write_atomically
from megtrim.libs.util.input_files import kind_at

MARKER = ".made-by-megtrim"
LOCKS = "locks"
"""Folder in a folder of results; its marker says which results these are."""
RUN_PREFIX = "run-"
_DEEP = 8
"""Folders in each other whose path is never too long, whatever they are called."""
_ABOUT = "megtrim made this folder, and may remove what is in it"
_HERE = -100
"""AT_FDCWD: paths are relative to the current folder."""
_EXCHANGE = 2
_CANNOT_EXCHANGE = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP})


def read_owner(folder: Path) -> str:
    """Return the id of the folder of results that this folder belongs to; empty if to none."""
    owner = read_object(folder / MARKER).get("results")
    return owner if isinstance(owner, str) else ""


def read_listed(folder: Path) -> frozenset[str]:
    """Return what the marker names of the folder's files, by paths relative to it."""
    listed = read_object(folder / MARKER).get("files")
    if not isinstance(listed, list):
        return frozenset()
    return frozenset(name for name in listed if isinstance(name, str))


def is_owned(folder: Path, owner: str) -> bool:
    return bool(owner) and not folder.is_symlink() and read_owner(folder) == owner


def mark(folder: Path, owner: str, files: Iterable[str] = ()) -> None:
    """Leave the marker, where there is a folder; ``files``: those that are megtrim's in it."""
    write_atomically(folder / MARKER, _render(owner, files))


def _render(owner: str, files: Iterable[str] = ()) -> str:
    data = {"about": _ABOUT, "results": owner, "files": sorted(files)}
    return json.dumps(data, indent=1) + "\n"


def claim(folder: Path, owner: str, *, is_former: Callable[[Path], bool] = lambda _: False) -> None:
    """Make a folder, or take one that is megtrim's or empty. Raises InputError for any other.

    ``is_former`` tells whether an earlier version of megtrim, which left no markers, made it.
    """
    if read_owner(folder) == owner:
        return
    if os.path.lexists(folder):
        with guard_write(folder):
            is_free = folder.is_dir() and (is_empty(folder) or is_former(folder))
        if not is_free:
            raise refuse(folder)
    with guard_write(folder):
        folder.mkdir(parents=True, exist_ok=True)
    mark(folder, owner)


def is_empty(folder: Path) -> bool:
    """Whether there is nothing but a marker, or what a killed run had of one."""
    return all(_is_marker(entry) for entry in folder.iterdir())


def _is_marker(file: Path) -> bool:
    return file.name == MARKER or file.name.startswith(f".{MARKER}.")


def claim_results(locks: Path) -> str:
    """Return the id of the folder of results with these locks, which is given one if it has none.

    Locks are empty files, and there is nothing else in their folder. The first of several runs
    that start at once gives the id.
    """
    if owner := read_owner(locks):
        return owner
    with guard_write(locks):
        if os.path.lexists(locks) and not (locks.is_dir() and _holds_locks(locks)):
            raise refuse(locks)
        locks.mkdir(parents=True, exist_ok=True)
        first = locks / f".{MARKER}.{secrets.token_hex(8)}"
        first.write_text(_render(secrets.token_hex(16)), encoding="utf-8")
        with suppress(FileExistsError):
            (locks / MARKER).hardlink_to(first)
        first.unlink()
    return read_owner(locks)


def _holds_locks(folder: Path) -> bool:
    return all(_is_marker(each) or is_empty_lock(each) for each in folder.iterdir())


def is_empty_lock(file: Path) -> bool:
    plain = file.is_file() and not file.is_symlink()
    return plain and file.suffix == ".lock" and file.stat().st_size == 0


def mark_run(run: Path) -> None:
    """Leave the marker of a run's folder beside it: programs see all that is inside."""
    _marker_of(run).touch()


def list_runs(runs: Path) -> list[Path]:
    """Return the folders of runs that were begun here, and not those only called so."""
    found = (marker.with_name(marker.name[1:]) for marker in runs.glob(f".{RUN_PREFIX}*-*"))
    return sorted(run for run in found if not run.is_symlink())


def remove_run(run: Path) -> None:
    if run.is_symlink() or run.is_file():
        run.unlink()
    elif run.is_dir():
        run.chmod(0o700)
        _flatten(run)
        shutil.rmtree(run)
    forget_run(run)


def _flatten(run: Path) -> None:
    """Move deep folders to the top: programs leave some too deep for functions that recurse.

    They also take away their own rights; no link is followed.
    """
    waiting = [(run, 0)]
    while waiting:
        folder, depth = waiting.pop()
        for each in folder.iterdir():
            if each.is_symlink() or not each.is_dir():
                continue
            each.chmod(0o700)
            if depth < _DEEP:
                waiting.append((each, depth + 1))
            else:
                waiting.append((each.rename(tempfile.mkdtemp(dir=run)), 1))


def forget_run(run: Path) -> None:
    """Remove the marker of a run whose folder is gone."""
    if not os.path.lexists(run):
        _marker_of(run).unlink(missing_ok=True)


def _marker_of(run: Path) -> Path:
    return run.with_name(f".{run.name}")


def refuse(path: Path) -> InputError:
    found = "a symbolic link" if path.is_symlink() else kind_at(path) or "a file"
    msg = f"{path}: found {found} that megtrim did not make, so megtrim does not touch it"
    hint = "move it elsewhere, or name another folder of results with --out"
    return InputError(msg, hint=hint)


def remove_files(folder: Path, names: Iterable[str]) -> None:
    """Remove these files and what is empty then; no link is followed."""
    for name in names:
        if (folder / name).parent.resolve() == folder.resolve() / Path(name).parent:
            (folder / name).unlink(missing_ok=True)
    for inner, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):  # a person's file is in it
            Path(inner).rmdir()


def list_strangers(folder: Path) -> list[str]:
    """Return what is in an owned folder and not listed in its marker, by relative paths."""
    listed = {*read_listed(folder), MARKER}
    found = []
    for inner, folders, names in os.walk(folder):
        links = [name for name in folders if Path(inner, name).is_symlink()]
        paths = (Path(inner, name).relative_to(folder) for name in (*links, *names))
        found += [path.as_posix() for path in paths]
    return sorted(name for name in found if name not in listed)


def exchange(first: Path, second: Path) -> None:
    """Let two folders of one disk take each other's place, in one step where the disk can."""
    library = ctypes.CDLL(None, use_errno=True)
    if hasattr(library, "renameat2"):
        paths = (_HERE, os.fsencode(first), _HERE, os.fsencode(second))
        if library.renameat2(*paths, _EXCHANGE) == 0:
            return
        number = ctypes.get_errno()
        if number not in _CANNOT_EXCHANGE:
            raise OSError(number, os.strerror(number), str(first))
    aside = second.with_name(f"{second.name}.aside")
    second.rename(aside)
    first.rename(second)
    aside.rename(first)
