"""Whether files still hold what was written to them: read again, or known by what the disk says.

Reading every result again would cost an up-to-date run more than all the rest of it. So a digest
is remembered with size, inode and the times of the last write and of the last change of any kind.
Whoever restores the former cannot restore the latter.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path

MEMORY = ".digests.json"
"""Lies in a folder whose files were read, and says what they were known by."""
_SETTLED_NS = 2_000_000_000
"""A file that changed later than this before it was read may change again in the same tick of
its disk's clock, so it is not known by its times yet."""
_LARGEST_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class KnownDigests:
    """A digest, and what the disk said of the file that had it."""

    sha256: str
    size_bytes: int
    inode: int
    written_ns: int
    changed_ns: int


def is_known(path: Path, known: KnownDigests) -> bool:
    """Say whether the disk says of a file what it said when its digest was taken."""
    return _stat_file(path, known.sha256) == known


def read_known(path: Path, sha256: str) -> KnownDigests | None:
    """Read a file; return what it is known by from now on, None where it has another digest."""
    said = _stat_file(path, sha256)
    try:
        whole = said is not None and _digest(path) == sha256
    except OSError:
        return None
    return said if whole and said == _stat_file(path, sha256) else None


def read_damage(folder: Path, files: Mapping[str, str]) -> tuple[str, dict[str, KnownDigests]]:
    """Return the first file that is not what it was, or an empty text, and what is known by now.

    ``files``: relative path to sha256. What had to be read is remembered in the folder.
    """
    settled_ns = time.time_ns() - _SETTLED_NS
    before, now = _load(folder), {}
    for name, sha256 in files.items():
        known = before.get(name)
        if known is not None and known.sha256 == sha256 and is_known(folder / name, known):
            now[name] = known
            continue
        found = read_known(folder / name, sha256)
        if found is None:
            return name, {}
        if found.changed_ns < settled_ns:
            now[name] = found
    if now != before:
        _remember(folder, now)
    return "", now


def load_text(path: Path) -> str:
    """Return the text of a plain file of reasonable size. Raises OSError or ValueError."""
    said = path.lstat()
    if not stat.S_ISREG(said.st_mode) or said.st_size > _LARGEST_BYTES:
        msg = f"{path} is no plain file of reasonable size"
        raise ValueError(msg)
    return path.read_text(encoding="utf-8")


def _stat_file(path: Path, sha256: str) -> KnownDigests | None:
    """Return what the disk says of a plain file; None of anything else."""
    try:
        said = path.lstat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(said.st_mode):
        return None
    return KnownDigests(sha256, said.st_size, said.st_ino, said.st_mtime_ns, said.st_ctime_ns)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _load(folder: Path) -> dict[str, KnownDigests]:
    """Return what is remembered; nothing where that is damaged: all is read again then."""
    try:
        rows = json.loads(load_text(folder / MEMORY))
        return {name: KnownDigests(*row) for name, row in rows.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _remember(folder: Path, known: Mapping[str, KnownDigests]) -> None:
    """Write it whole or not at all; where that cannot be, the next run reads the files again."""
    temporary = folder / f"{MEMORY}.{os.getpid()}.tmp"
    with suppress(OSError):
        try:
            rows = {name: astuple(each) for name, each in sorted(known.items())}
            temporary.write_text(json.dumps(rows), encoding="utf-8")
            temporary.replace(folder / MEMORY)
        finally:
            temporary.unlink(missing_ok=True)
