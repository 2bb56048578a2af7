"""What megtrim left in a folder of results and the next run does without; and its removal.

What a person put there stays, and no link is followed: of a result go the files that its manifest
lists, and any other folder is megtrim's if its marker says so.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from filelock import FileLock

from megtrim.core.chain import final
from megtrim.core.chain.filenames import (
    AGAINST_FILE,
    FINAL_FOLDER,
    FORMER_PASS_FILES,
    PASS_FILE,
    PASS_FOLDER,
    RUNS_FOLDER,
    SYSROOTS_FOLDER,
    WORK_FOLDER,
)
from megtrim.core.chain.gitignore import GITIGNORE, IGNORED
from megtrim.core.chain.graph import Stage
from megtrim.core.chain.result_store import (
    MANIFEST,
    RESULT_NAME,
    Store,
    is_result,
    key_of,
    parse_manifest,
)
from megtrim.libs.util import owned_folders
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.files import MEMORY, guard_write, load_text, read_object
from megtrim.libs.util.owned_folders import LOCKS, MARKER
from megtrim.libs.util.value import Value
from megtrim.places.compile.projects.cmake.driver import is_build_tree

_WHOLE = ("ccache", SYSROOTS_FOLDER)
"""Folders that hold what a run made, and the next one reads or fills again."""

_FORMER_IGNORED = "*\n"


class Leftover(Value):
    root: Path
    path: Path
    what: str
    files: tuple[str, ...] = ()
    """Relative to ``path``: what may go; empty: the whole folder, which has a marker."""
    used_ns: int = 0
    """When a run last needed the result; 0: it is no finished one."""
    current: bool = False
    """A result of this megtrim, which a run of it may take."""
    nested: bool = False
    """A run's, whose marker is beside it."""

    @property
    def lock(self) -> str:
        return "-".join(self.path.relative_to(self.root).parts).removesuffix(".before")

    @property
    def size_bytes(self) -> int:
        names = self.files or [path for path in self.path.rglob("*") if not path.is_dir()]
        facts = (os.lstat(self.path / name) for name in names if (self.path / name).is_file())
        # A file that stands there under two names is one.
        return sum({each.st_ino: each.st_size for each in facts}.values())


def list_leftovers(root: Path, *, everything: bool = False) -> Iterator[Leftover]:
    """Yield results that no task had last, and build trees; ``everything``: all that megtrim wrote.

    Those of toolchains, in folders of their own, are among them. Raises InputError where there are
    no results.
    """
    expect_results(root)
    for folder in _list_results_folders(root):
        owner = Store(folder).owner
        found = [_read_result(folder, stage, path) for stage, path in _list_keys(folder)]
        made = (each for each in found if is_result(each.path, owner))
        results = sorted(made, key=lambda result: result.used_ns)
        last = {result.what: result for result in results if result.current}
        yield from (each for each in results if everything or last.get(each.what) is not each)
        for path in _list_folders(folder / WORK_FOLDER):
            if owned_folders.is_owned(path, owner) or is_build_tree(path):
                owned_folders.mark(path, owner)
                yield Leftover(root=folder, path=path, what=f"build tree {path.name}")
        if everything:
            yield from _list_whole(folder, owner)


def expect_results(root: Path) -> None:
    if not _is_results(root):
        msg = f"{root}: found no results of megtrim, expected a folder that a run wrote"
        raise InputError(msg, hint="name it with --out")


def _list_whole(folder: Path, owner: str) -> Iterator[Leftover]:
    for path in _list_folders(folder):
        if path.name == FINAL_FOLDER and final.is_ours(path, owner):
            listed = owned_folders.read_listed(path) or final.list_former(path) or ()
            yield Leftover(root=folder, path=path, what=path.name, files=(*listed, MARKER))
        elif path.name in (RUNS_FOLDER, *_WHOLE) and owned_folders.is_empty(path):
            yield Leftover(root=folder, path=path, what=path.name, files=(MARKER,))
        elif path.name == RUNS_FOLDER and owned_folders.is_owned(path, owner):
            for run in owned_folders.list_runs(path):
                yield Leftover(root=folder, path=run, what="run, cut off", nested=True)
            yield Leftover(root=folder, path=path, what=path.name, files=(MARKER,))
        elif path.name in _WHOLE and owned_folders.is_owned(path, owner):
            yield Leftover(root=folder, path=path, what=path.name)


def list_unmarked(root: Path) -> Iterator[Path]:
    """Yield what looks like megtrim's and stays: an earlier version, or a person, made it."""
    for folder in _list_results_folders(root):
        owner = Store(folder).owner
        for _, path in _list_keys(folder):
            if not is_result(path, owner):
                yield path
        for path in _list_folders(folder / WORK_FOLDER):
            if not (owned_folders.is_owned(path, owner) or is_build_tree(path)):
                yield path
        for path in _list_folders(folder):
            if path.name == FINAL_FOLDER:
                ours = final.is_ours(path, owner)
            else:
                ours = owned_folders.is_owned(path, owner) or owned_folders.is_empty(path)
            if path.name in (FINAL_FOLDER, RUNS_FOLDER, *_WHOLE) and not ours:
                yield path


def remove(leftover: Leftover, say: Callable[[str], None]) -> bool:
    """Return whether it went: what another run took or finished meanwhile stays."""
    path = leftover.path
    store = Store(leftover.root, say=say)
    with store.lock(leftover.lock):
        marked = leftover.nested or owned_folders.is_owned(path, store.owner)
        if _read_use(path) != leftover.used_ns or not (leftover.files or marked):
            return False
        with guard_write(path):
            if leftover.nested:
                owned_folders.remove_run(path)
            elif leftover.files:
                owned_folders.remove_files(path, leftover.files)
            else:
                shutil.rmtree(path)
    with suppress(OSError):  # there is more in it
        path.parent.rmdir()
    return True


def clear_results(root: Path, say: Callable[[str], None]) -> None:
    """Remove a folder of results. Raises InputError where something is left that is not ours."""
    if root.is_symlink():
        raise owned_folders.refuse(root)
    if _is_results(root):
        for leftover in list_leftovers(root, everything=True):
            remove(leftover, say)
        remove_rest(root)
    for left in sorted(root.iterdir()) if root.is_dir() else ():
        raise owned_folders.refuse(left)
    if root.exists() and not root.is_dir():
        raise owned_folders.refuse(root)


def remove_rest(root: Path) -> None:
    """Remove what is left of megtrim's in folders of results without any: passes, locks, a list.

    What else is there stays, such as a person's file, and its folder.
    """
    for folder in _list_results_folders(root):
        if next(list_leftovers(folder, everything=True), None) is not None:
            continue
        with suppress(OSError):  # another run holds a lock, or a person put something there
            for lock in filter(owned_folders.is_empty_lock, (folder / LOCKS).iterdir()):
                with FileLock(lock, timeout=0):
                    lock.unlink()
            _remove_passes(folder / PASS_FOLDER, owned_folders.read_owner(folder / LOCKS))
            owned_folders.remove_files(folder / LOCKS, (MARKER,))
            for name in (*FORMER_PASS_FILES, AGAINST_FILE):
                if is_replaceable(folder / name):
                    (folder / name).unlink(missing_ok=True)
            alone = [each.name for each in folder.iterdir()] == [GITIGNORE]
            if _is_own_gitignore(folder / GITIGNORE, alone=alone):
                (folder / GITIGNORE).unlink()
            folder.rmdir()


def is_replaceable(file: Path) -> bool:
    """Tell whether sizes may be written there: nothing is, or sizes that megtrim wrote."""
    return not os.path.lexists(file) or read_object(file).keys() >= {"version", "artifacts"}


def _is_own_gitignore(file: Path, *, alone: bool) -> bool:
    """``alone``: nothing else is left, so that of an earlier version hides nothing any more."""
    with suppress(OSError, ValueError):
        text = load_text(file)
        return text == IGNORED or (alone and text == _FORMER_IGNORED)
    return False


def _list_keys(folder: Path) -> Iterator[tuple[Stage, Path]]:
    for stage in Stage:
        for path in _list_folders(folder / stage):
            if RESULT_NAME.fullmatch(path.name):
                yield stage, path


def _remove_passes(folder: Path, owner: str) -> None:
    if owned_folders.is_owned(folder, owner):
        names = [each.name for each in folder.iterdir() if PASS_FILE.fullmatch(each.name)]
        owned_folders.remove_files(folder, (*names, MARKER))


def _read_result(root: Path, stage: Stage, path: Path) -> Leftover:
    found = Leftover(root=root, path=path, what=f"{stage}, unfinished", used_ns=_read_use(path))
    try:
        manifest = parse_manifest(load_text(path / MANIFEST))
    except (OSError, ValueError, InputError):
        return found
    current = path.name == manifest.key == key_of(stage, manifest.name, manifest.inputs)
    what = f"{stage}/{manifest.name}"
    if not current:
        what += ", of another version"
    return replace(
        found, what=what, files=(*manifest.files, MEMORY, MARKER, MANIFEST), current=current
    )


def _read_use(path: Path) -> int:
    with suppress(OSError):
        return (path / MANIFEST).lstat().st_mtime_ns
    return 0


def _list_results_folders(root: Path) -> list[Path]:
    """Return those of toolchains, and the one that they are in."""
    return [each for each in (*_list_folders(root), root) if _is_results(each)]


def _is_results(folder: Path) -> bool:
    locks = folder / LOCKS
    former = locks.is_dir() and (folder / GITIGNORE).is_file()
    return not locks.is_symlink() and (bool(owned_folders.read_owner(locks)) or former)


def _list_folders(folder: Path) -> list[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted(each for each in folder.iterdir() if each.is_dir() and not each.is_symlink())
