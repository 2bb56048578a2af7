"""What megtrim left in a folder of results and the next run does without; and its removal.

What a person put there stays, and no link is followed: of a result go the files that its manifest
lists, and a build tree is megtrim's if there is a lock of its name.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from megtrim.chain.filenames import FINAL_FOLDER, WORK_FOLDER
from megtrim.chain.graph import Stage
from megtrim.chain.store import GITIGNORE, LOCKS, MANIFEST, Store, key_of, parse_manifest
from megtrim.util.errors import InputError
from megtrim.util.files import MEMORY, cannot_write, load_text
from megtrim.util.value import Value

_RESULT = re.compile(r"[0-9a-f]{20}(\.before)?", re.ASCII)
_WHOLE = (FINAL_FOLDER, "runs", "ccache", "sysroots")
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
        name = self.path.name.removesuffix(".before")
        return name if self.path.parent == self.root else f"{self.path.parent.name}-{name}"

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
    for folder in (root, *filter(_is_results, _list_folders(root))):
        results = sorted(_list_results(folder), key=lambda result: result.used_ns)
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
        try:
            _remove_files(leftover) if leftover.files else shutil.rmtree(path)
        except OSError as error:
            raise cannot_write(path, error) from None
    with suppress(OSError):  # there is more in it
        path.parent.rmdir()
    return True


def remove_rest(root: Path) -> None:
    """Remove locks, and folders that hold nothing else, once all results went."""
    for folder in (*filter(_is_results, _list_folders(root)), root):
        with suppress(OSError):  # what a person put there keeps its folder
            for lock in (folder / LOCKS).glob("*.lock"):
                lock.unlink()
            (folder / LOCKS).rmdir()
            (folder / GITIGNORE).unlink()
            folder.rmdir()


def _list_results(root: Path) -> Iterator[Leftover]:
    for stage in Stage:
        for path in filter(lambda path: _RESULT.fullmatch(path.name), _list_folders(root / stage)):
            try:
                manifest = parse_manifest(load_text(path / MANIFEST))
            except (OSError, ValueError, InputError):
                what = f"{stage}, unfinished"
                yield Leftover(root=root, path=path, what=what, used_ns=_read_use(path))
                continue
            current = path.name == manifest.key == key_of(stage, manifest.name, manifest.inputs)
            yield Leftover(
                root=root,
                path=path,
                what=f"{stage}/{manifest.name}" + ", of another version" * (not current),
                files=(*manifest.files, MEMORY, MANIFEST),
                used_ns=_read_use(path),
                current=current,
            )


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


def _is_results(folder: Path) -> bool:
    return (folder / LOCKS).is_dir() and (folder / GITIGNORE).is_file()


def _list_folders(folder: Path) -> list[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted(each for each in folder.iterdir() if each.is_dir() and not each.is_symlink())
