"""Files that are written whole or not at all, and checks whether they still hold what was written.

A digest is stored with size, inode, and times of write and change: the last cannot be reset.
"""

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path

from megtrim.libs.util.errors import NO_ROOM, InfrastructureFailure
from megtrim.libs.util.input_files import open_plain_file
from megtrim.libs.util.shortage import MAKE_ROOM, NO_ROOM_BYTES, Room, find_lack

MEMORY = ".digests.json"
"""File in a folder of results with the known digests of its files."""
_SETTLED_NS = 2_000_000_000
"""A file that changed less than this before it was read may change again in the same tick of the
disk's clock, so its times do not identify it yet."""
_LARGEST_BYTES = 16 * 1024 * 1024


def sha256_file(path: Path) -> str:
    with open_plain_file(path, expected="a file") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_atomically(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with guard_write(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(path)
    finally:
        with suppress(OSError):  # Ctrl-C leaves nothing either; gone already where all went well
            temporary.unlink(missing_ok=True)


def append_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Append whole lines, also to a file whose last one was cut off."""
    with guard_write(path), path.open("ab") as stream:
        begin = b""
        if stream.tell():
            with path.open("rb") as existing:
                existing.seek(-1, os.SEEK_END)
                begin = b"" if existing.read() == b"\n" else b"\n"
        stream.write(begin + b"".join(line + b"\n" for line in lines))


@contextmanager
def guard_write(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from None


def cannot_write(path: Path, error: OSError) -> InfrastructureFailure:
    """Return the failure that a full or read-only disk is: nothing is known of the product."""
    msg = f"{path} cannot be written: {error.strerror}"
    hint = "choose another folder with --out"
    hint = f"free some space, or {hint}" if error.errno in NO_ROOM else hint
    return InfrastructureFailure(msg, hint=hint)


def read_rooms(places: Iterable[Path]) -> tuple[Room, ...]:
    """Return what is left on the disks of these folders, or of the nearest that is there."""
    nearest = (
        next((each for each in (place, *place.parents) if each.exists()), place) for place in places
    )
    found = (_read_room(place) for place in dict.fromkeys(nearest))
    return tuple(room for room in found if room is not None)


def _read_room(place: Path) -> Room | None:
    try:
        disk = os.statvfs(place)
    except OSError:
        return None
    # What cannot be written is not full, and a folder of the kernel holds no files.
    if disk.f_flag & os.ST_RDONLY or not disk.f_blocks:
        return None
    own = os.geteuid() == 0
    blocks, files = (disk.f_bfree, disk.f_ffree) if own else (disk.f_bavail, disk.f_favail)
    free_files = files if disk.f_files else None
    return Room(place=str(place), free_bytes=blocks * disk.f_frsize, free_files=free_files)


def expect_room(*places: Path, fewest_bytes: int = NO_ROOM_BYTES) -> None:
    """Raise InfrastructureFailure for a full disk: what failed there says nothing of a product."""
    if lack := find_lack(read_rooms(places), fewest_bytes):
        raise InfrastructureFailure(lack, hint=MAKE_ROOM)


@dataclass(frozen=True, slots=True)
class KnownDigests:
    sha256: str
    size_bytes: int
    inode: int
    written_ns: int
    changed_ns: int


def is_known(path: Path, known: KnownDigests) -> bool:
    return _stat_file(path, known.sha256) == known


def read_known(path: Path, sha256: str) -> KnownDigests | None:
    known = _stat_file(path, sha256)
    try:
        whole = known is not None and _digest(path) == sha256
    except OSError:
        return None
    return known if whole and known == _stat_file(path, sha256) else None


def read_damage(folder: Path, files: Mapping[str, str]) -> tuple[str, dict[str, KnownDigests]]:
    """Return the first file that changed, or an empty text, and all digests (sha256) known now."""
    settled_ns = time.time_ns() - _SETTLED_NS
    before = _load(folder)
    now = {}
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
    facts = path.lstat()
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > _LARGEST_BYTES:
        msg = f"{path} is not a plain file of reasonable size"
        raise ValueError(msg)
    return path.read_text(encoding="utf-8")


def read_object(path: Path) -> dict[str, object]:
    """Return the JSON object in a plain file; an empty one where there is none."""
    try:
        data = json.loads(load_text(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _stat_file(path: Path, sha256: str) -> KnownDigests | None:
    try:
        facts = path.lstat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(facts.st_mode):
        return None
    return KnownDigests(sha256, facts.st_size, facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _load(folder: Path) -> dict[str, KnownDigests]:
    try:
        rows = json.loads(load_text(folder / MEMORY))
        return {name: KnownDigests(*row) for name, row in rows.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _remember(folder: Path, known: Mapping[str, KnownDigests]) -> None:
    temporary = folder / f"{MEMORY}.{os.getpid()}.tmp"
    with suppress(OSError):
        try:
            rows = {name: astuple(each) for name, each in sorted(known.items())}
            temporary.write_text(json.dumps(rows), encoding="utf-8")
            temporary.replace(folder / MEMORY)
        finally:
            temporary.unlink(missing_ok=True)
