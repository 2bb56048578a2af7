"""Stage folders: ``OUT/<stage>/<key>/`` with files and, written last, ``manifest.json``.

The key is the digest of the inputs, so the same inputs are never built or run twice. A folder
without a manifest is torn (a run was cut off) and is redone. Two processes never work in one
folder: the second waits for the first and then finds its result.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from megtrim.errors import (
    NO_ROOM,
    InfrastructureFailure,
    InputError,
    ProductFailure,
    room_hint,
)
from megtrim.reading import opened

MANIFEST = "manifest.json"
_LAYOUT = 1
_LOCK_POLL_S = 0.2
_ASIDE = ".before"
"""Ends the folder of a result that is being made anew."""
_DISK_ERRORS = frozenset(
    {*NO_ROOM, errno.EROFS, errno.EIO, errno.EFBIG, errno.ESTALE, errno.ENOTCONN}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A finished stage folder and its manifest."""

    path: Path
    stage: str
    name: str
    key: str
    inputs: Mapping[str, str]
    result: Mapping[str, Any]
    files: Mapping[str, str]
    """Relative path to sha256."""

    def file(self, name: str) -> Path:
        """Return the path of one of its files; one that is not there is our own bug."""
        if name not in self.files:
            msg = f"{self.path} holds no {name}"
            raise KeyError(msg)
        return self.path / name


def key_of(stage: str, name: str, inputs: Mapping[str, str]) -> str:
    """Return the digest that names a stage's folder: 20 hex digits of sha256."""
    text = json.dumps([_LAYOUT, stage, name, sorted(inputs.items())])
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def sha256_file(path: Path) -> str:
    """Return the sha256 of a file's bytes; a file that cannot be read is an input error."""
    with opened(path, expected="a file") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that a reader sees the old one or the new one, never half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        with suppress(OSError):  # Ctrl-C leaves nothing either; gone already where all went well
            temporary.unlink(missing_ok=True)


def cannot_write(path: Path, error: OSError) -> InfrastructureFailure:
    """Return the failure that a full or read-only disk is: nothing is known of the product."""
    msg = f"{path} cannot be written: {error.strerror}"
    return InfrastructureFailure(msg, hint=room_hint(error))


class Store:
    """All stage folders below one root."""

    def __init__(self, root: Path, *, say: Callable[[str], None] = lambda _: None) -> None:
        self.root = root
        self._say = say

    def find(self, stage: str, key: str) -> Folder | None:
        """Return the finished folder, or None where there is none or it is torn."""
        return _load(self.root / stage / key)

    def previous(
        self, stage: str, name: str = "", *, fits: Callable[[Folder], bool] = lambda _: True
    ) -> Folder | None:
        """Return the newest finished folder that fits, whatever its inputs were.

        ``name``: of that name alone; empty: of any.
        """
        newest: tuple[float, Path] | None = None
        for manifest in (self.root / stage).glob(f"*/{MANIFEST}"):
            folder = _load(manifest.parent)
            if folder is None or name not in ("", folder.name) or not fits(folder):
                continue
            try:
                candidate = (manifest.stat().st_mtime, manifest.parent)
            except FileNotFoundError:
                continue  # another process discards it just now
            newest = candidate if newest is None else max(newest, candidate)
        return _load(newest[1]) if newest else None

    def ensure(
        self,
        stage: str,
        name: str,
        inputs: Mapping[str, str],
        produce: Callable[[Path], Mapping[str, Any]],
    ) -> tuple[Folder, bool]:
        """Return the folder for these inputs, and whether it had to be produced now.

        ``produce`` gets the empty folder and returns the result that goes into the manifest.
        When it raises, the folder stays without a manifest: its logs can be read, and the next
        run starts it anew.
        """
        key = key_of(stage, name, inputs)
        with self.lock(f"{stage}-{key}"):
            found = self.find(stage, key)
            if found is not None:
                return found, False
            path = self.root / stage / key
            self._hide_from_git()
            self._clear(path)
            result = _produced(produce, path)
            self._finish(path, stage, name, key, inputs, result)
            shutil.rmtree(path.with_name(f"{key}{_ASIDE}"), ignore_errors=True)
        folder = self.find(stage, key)
        if folder is None:
            msg = f"{path / MANIFEST} was written and cannot be read back"
            raise InfrastructureFailure(msg)
        return folder, True

    def discard(self, stage: str, name: str = "") -> None:
        """Set every result of a stage aside, so that it is made anew; ``name``: of that name alone.

        It is still the previous one, until its successor is there: a proof outlives an attempt
        that a dead device brings to nothing.
        """
        for manifest in sorted((self.root / stage).glob(f"*/{MANIFEST}")):
            path = manifest.parent
            if path.name.endswith(_ASIDE) or (name and not _is_named(path, name)):
                continue
            with self.lock(f"{stage}-{path.name}"):
                self._set_aside(path)

    def _set_aside(self, path: Path) -> None:
        aside = path.with_name(f"{path.name}{_ASIDE}")
        try:
            shutil.rmtree(aside, ignore_errors=True)
            path.rename(aside)
        except FileNotFoundError:
            return  # another process discarded it just now
        except OSError as error:
            raise cannot_write(path, error) from None

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold a lock between processes; it dies with its holder. The wait is announced once."""
        path = self.root / "locks" / f"{name}.lock"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(path)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                self._say(f"waiting for another megtrim that works on {name}")
                lock.acquire(poll_interval=_LOCK_POLL_S)
        except OSError as error:
            raise cannot_write(path, error) from None
        try:
            yield
        finally:
            lock.release()

    def _hide_from_git(self) -> None:
        """Keep results out of commits, and out of an engine's checkout that they may lie in."""
        path = self.root / ".gitignore"
        if not path.exists():
            write_atomically(path, "*\n")

    def _clear(self, path: Path) -> None:
        try:
            if path.exists():
                shutil.rmtree(path)
            path.mkdir(parents=True)
        except OSError as error:
            raise cannot_write(path, error) from None

    def _finish(
        self,
        path: Path,
        stage: str,
        name: str,
        key: str,
        inputs: Mapping[str, str],
        result: Mapping[str, Any],
    ) -> None:
        files = {
            str(file.relative_to(path)): {"sha256": sha256_file(file), "bytes": file.stat().st_size}
            for file in sorted(path.rglob("*"))
            if file.is_file()
        }
        manifest = {
            "layout": _LAYOUT,
            "stage": stage,
            "name": name,
            "key": key,
            "inputs": dict(inputs),
            "result": dict(result),
            "files": files,
        }
        text = json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        write_atomically(path / MANIFEST, text)


def _produced(produce: Callable[[Path], Mapping[str, Any]], path: Path) -> Mapping[str, Any]:
    try:
        result = produce(path)
    except OSError as error:
        if error.errno in _DISK_ERRORS:
            raise cannot_write(path, error) from None
        _expect_there(path)
        raise
    except (InputError, ProductFailure):
        _expect_there(path)  # what failed then says nothing of the product
        raise
    _expect_there(path)
    return result


def _expect_there(path: Path) -> None:
    if not path.is_dir():
        msg = f"{path} is gone: the folder of results was removed or unmounted meanwhile"
        raise InfrastructureFailure(
            msg, hint="leave it alone while megtrim works, and run it again"
        )


def _is_named(path: Path, name: str) -> bool:
    folder = _load(path)
    return folder is not None and folder.name == name


def _load(path: Path) -> Folder | None:
    try:
        data = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        whole = data["layout"] == _LAYOUT and all(
            (path / name).stat().st_size == facts["bytes"] for name, facts in data["files"].items()
        )
        if not whole:
            return None
        return Folder(
            path=path,
            stage=data["stage"],
            name=data["name"],
            key=data["key"],
            inputs=data["inputs"],
            result=data["result"],
            files={name: facts["sha256"] for name, facts in data["files"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # whatever is wrong with it, redoing the stage mends it
