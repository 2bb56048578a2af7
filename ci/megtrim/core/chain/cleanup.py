"""What megtrim left in a folder of results and the next run does without; and its removal.

What a person put there stays, and no link is followed: of a result go the files that its manifest
lists, and a build tree is megtrim's if there is a lock of its name.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from filelock import FileLock

from megtrim.core.chain.filenames import AGAINST_FILE, FINAL_FOLDER, PASS_FILES, WORK_FOLDER
from megtrim.core.chain.graph import Stage
from megtrim.core.chain.result_store import (
    GITIGNORE,
    LOCKS,
    MANIFEST,
    Store,
    key_of,
    parse_manifest,
)
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.files import MEMORY, guard_write, load_text
from megtrim.libs.util.value import Value

_RESULT = re.compile(r"[0-9a-f]{20}(\.before)?", re.ASCII)
_WHOLE = frozenset({FINAL_FOLDER, "runs", "ccache", "sysroots"})
"""Folders that hold what a run made, and the next one reads or fills again."""


class Leftover(Value):
    root: Path
    path: Path
    what: str
    files: tuple[str, ...] = ()
    """Relative to ``path``: what may go; empty: the whole folder."""
    used_ns: int = 0
    """When a run last needed the result; 0: it is no finished one."""
    current: bool = False
    """A result of this megtrim, which a run of it may take."""

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
    if not _is_results(root):
        msg = f"{root}: found no results of megtrim, expected a folder that a run wrote"
        raise InputError(msg, hint="name it with --out")
    for folder in _list_results_folders(root):
        found = (
            _read_result(folder, stage, path)
            for stage in Stage
            for path in _list_folders(folder / stage)
            if _RESULT.fullmatch(path.name)
        )
        results = sorted(found, key=lambda result: result.used_ns)
        last = {result.what: result for result in results if result.current}
        yield from (each for each in results if everything or last.get(each.what) is not each)
        for path in _list_folders(folder / WORK_FOLDER):
            tree = Leftover(root=folder, path=path, what=f"build tree {path.name}")
            if (folder / LOCKS / f"{tree.lock}.lock").is_file():
                yield tree
        for path in _list_folders(folder) if everything else ():
            if path.name in _WHOLE:
                yield Leftover(root=folder, path=path, what=path.name)


def remove(leftover: Leftover, say: Callable[[str], None]) -> bool:
    """Return whether it went: what another run took or finished meanwhile stays."""
    path = leftover.path
    with Store(leftover.root, say=say).lock(leftover.lock):
        if _read_use(path) != leftover.used_ns:
            return False
        with guard_write(path):
            _remove_files(leftover) if leftover.files else shutil.rmtree(path)
    with suppress(OSError):  # there is more in it
        path.parent.rmdir()
    return True


def remove_rest(root: Path) -> None:
    """Remove folders of results in which nothing but sizes of passes and locks is left."""
    for folder in _list_results_folders(root):
        if [each.name for each in _list_folders(folder)] != [LOCKS]:
            continue
        with suppress(OSError):  # another run holds a lock, or a person put something there
            for lock in (folder / LOCKS).glob("*.lock"):
                with FileLock(lock, timeout=0):
                    lock.unlink()
            (folder / LOCKS).rmdir()
            for name in (*PASS_FILES, AGAINST_FILE, GITIGNORE):
                (folder / name).unlink(missing_ok=True)
            folder.rmdir()


def _read_result(root: Path, stage: Stage, path: Path) -> Leftover:
    found = Leftover(root=root, path=path, what=f"{stage}, unfinished", used_ns=_read_use(path))
    try:
        manifest = parse_manifest(load_text(path / MANIFEST))
    except (OSError, ValueError, InputError):
        return found
    current = path.name == manifest.key == key_of(stage, manifest.name, manifest.inputs)
    what = f"{stage}/{manifest.name}" + ", of another version" * (not current)
    return replace(found, what=what, files=(*manifest.files, MEMORY, MANIFEST), current=current)


def _read_use(path: Path) -> int:
    with suppress(OSError):
        return (path / MANIFEST).lstat().st_mtime_ns
    return 0


def _remove_files(leftover: Leftover) -> None:
    folder = leftover.path
    for name in leftover.files:
        if (folder / name).parent.resolve() == folder.resolve() / Path(name).parent:
            (folder / name).unlink(missing_ok=True)
    for inner, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):  # a person's file is in it
            Path(inner).rmdir()


def _list_results_folders(root: Path) -> list[Path]:
    """Return those of toolchains, and the one that they are in."""
    return [each for each in (*_list_folders(root), root) if _is_results(each)]


def _is_results(folder: Path) -> bool:
    return (folder / LOCKS).is_dir() and (folder / GITIGNORE).is_file()


def _list_folders(folder: Path) -> list[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted(each for each in folder.iterdir() if each.is_dir() and not each.is_symlink())
