"""The files of a release: written to a new folder under their paths, all of them or none.

Modes, order and bytes are the same whoever writes them, and wherever.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from megtrim.errors import InfrastructureFailure, InputError
from megtrim.release.contents import PROGRAMS, ReleaseContents
from megtrim.release.documents import seal
from megtrim.store import cannot_write, sha256_file

_FOLDER_MODE = 0o755
_FILE_MODE = 0o644
_PROGRAM_MODE = 0o755


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFile:
    """A file, and where it goes."""

    path: str
    """Relative to the release."""
    source: Path | bytes
    """The file itself, or its bytes."""
    sha256: str
    """What it must be once it is written."""


def from_text(path: str, text: str) -> ReleaseFile:
    """Return a file with this text."""
    data = text.encode()
    return ReleaseFile(path=path, source=data, sha256=hashlib.sha256(data).hexdigest())


def from_path(path: str, source: Path) -> ReleaseFile:
    """Return a file with what ``source`` holds now. Raises InputError if it cannot be read."""
    return ReleaseFile(path=path, source=source, sha256=sha256_file(source))


def seal_files(
    contents: ReleaseContents,
    payload: Sequence[ReleaseFile],
    *,
    stages: Mapping[str, str],
    megtrim: str,
) -> tuple[ReleaseFile, ...]:
    """Return the files of a release: ``payload``, and the documents that follow from it."""
    digests = {each.path: each.sha256 for each in payload}
    texts = seal(contents, digests, stages=stages, megtrim=megtrim)
    return (*payload, *(from_text(path, text) for path, text in texts.items()))


def expect_new(folder: Path) -> None:
    """Refuse a folder that holds anything: nothing is overwritten. Raises InputError."""
    try:
        taken = folder.is_symlink() or (folder.exists() and any(folder.iterdir()))
    except NotADirectoryError:
        taken = True
    except OSError as error:
        raise cannot_write(folder, error) from None
    if taken:
        msg = f"{folder} exists already and is no empty folder"
        raise InputError(msg, hint="remove it, or name another one")


def list_released(folder: Path, digests: Mapping[str, str]) -> list[ReleaseFile]:
    """Return the files of a release in a folder, by their paths and sha256."""
    return [
        ReleaseFile(path=path, source=folder / path, sha256=sha256)
        for path, sha256 in digests.items()
    ]


def write_folder(files: Iterable[ReleaseFile], folder: Path) -> None:
    """Write the files to ``folder``, which appears only when all are there."""
    expect_new(folder)
    # Compilers and people may have any umask: modes are set one by one.
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    try:
        partial.mkdir(parents=True)
        partial.chmod(_FOLDER_MODE)
        for file in files:
            _write(file, partial)
        if folder.exists():
            folder.rmdir()
        partial.rename(folder)
    except OSError as error:
        raise cannot_write(folder, error) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_file(data: bytes, path: Path) -> None:
    """Write one file, which appears only when all of it is there."""
    with write_whole(path) as partial:
        partial.write_bytes(data)
        partial.chmod(_FILE_MODE)


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Give another path to write a file to; it becomes ``path`` when the block ends well."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        partial.rename(path)
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def mode_of(path: str) -> int:
    """Return the mode of a file of a release, whoever writes it."""
    return _PROGRAM_MODE if path.startswith(f"{PROGRAMS}/") else _FILE_MODE


def read_bytes(file: ReleaseFile) -> bytes:
    """Return what a file holds. Raises InfrastructureFailure if it is not what it was."""
    data = file.source if isinstance(file.source, bytes) else file.source.read_bytes()
    if hashlib.sha256(data).hexdigest() != file.sha256:
        msg = f"{file.source!s:.200} changed while the release was written"
        raise InfrastructureFailure(msg, hint="leave it alone, and run it again")
    return data


def _write(file: ReleaseFile, root: Path) -> None:
    target = root / file.path
    _make_folders(target.parent, root)
    target.write_bytes(read_bytes(file))
    target.chmod(mode_of(file.path))


def _make_folders(folder: Path, root: Path) -> None:
    if folder != root and not folder.exists():
        _make_folders(folder.parent, root)
        folder.mkdir()
        folder.chmod(_FOLDER_MODE)
