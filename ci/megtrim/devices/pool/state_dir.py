"""The folder in which megtrim stores the state of devices, and how its files are read and written.

Several processes share this folder, people edit it, and a full disk truncates files. So whatever
is read is checked, and files are replaced as a whole.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from megtrim.util.errors import InfrastructureFailure, InputError

VARIABLE = "MEGTRIM_STATE"
_LARGEST_BYTES = 65_536
_LONGEST_SLUG = 80
_LONGEST_LOCK_S = 20.0


class StateFile(BaseModel):
    """The contents of a file in this folder: exactly these fields."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


S = TypeVar("S", bound=StateFile)


def state_folder(env: Mapping[str, str]) -> Path:
    """Return the folder that the environment names for state between runs."""
    given = env.get(VARIABLE, "")
    if given:
        return Path(given).absolute()
    base = Path(env.get("XDG_STATE_HOME", ""))
    if base.is_absolute():
        return base / "megtrim"
    home = Path(env.get("HOME", ""))
    if not home.is_absolute():
        msg = "there is no folder for the state of devices: found neither a home nor MEGTRIM_STATE"
        raise InputError(msg, hint=f"set {VARIABLE} to a folder that all jobs of this host share")
    return home / ".local" / "state" / "megtrim"


def slug(key: str) -> str:
    """Return a file name for a key: readable, and unique for each key."""
    readable = re.sub(r"[^A-Za-z0-9.-]", "_", key)[:_LONGEST_SLUG].lstrip(".")
    return f"{readable}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def open_shared(path: Path) -> int:
    """Open a file to lock it, and create it if necessary. Links and pipes are refused."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        raise make_unusable_error(path, error) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise make_unusable_error(path, OSError(errno.EINVAL, "it is not a plain file"))
    return descriptor


@contextmanager
def lock_file(path: Path) -> Iterator[int]:
    """Lock a file for a few operations and yield its descriptor, or raise in bounded time."""
    descriptor = open_shared(path)
    try:
        end = time.monotonic() + _LONGEST_LOCK_S
        while not try_lock(descriptor):
            if time.monotonic() > end:
                msg = f"{path} has been locked for {_LONGEST_LOCK_S:.0f} s"
                hint = f"`fuser {path}` shows which process was suspended while it held it"
                raise InfrastructureFailure(msg, hint=hint)
            time.sleep(0.005)
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Lock it if no one else has; return whether we hold it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def read_saved(path: Path, kind: type[S]) -> S | None:
    """Return what the file holds, or None if there is no file. Raises InputError if damaged."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        # A link, or another user's file: only this file is affected.
        raise make_damage_error(path, f"it cannot be read ({error.strerror})") from None
    try:
        return parse_saved(read_descriptor(descriptor), kind, path)
    finally:
        os.close(descriptor)


def read_descriptor(descriptor: int) -> bytes:
    """Return the bytes of an open file, but not many more than the largest valid one has."""
    try:
        return os.pread(descriptor, _LARGEST_BYTES + 1, 0)
    except OSError:
        return b""  # a pipe or a folder, which no document can be read from


def parse_saved(data: bytes, kind: type[S], path: Path) -> S:
    """Parse a document of that kind. Raises InputError, which names the file and the mistake."""
    if len(data) > _LARGEST_BYTES:
        raise make_damage_error(path, f"found more than {_LARGEST_BYTES:,} bytes")
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise make_damage_error(
            path, f"{where}: {first['msg']}" if where else first["msg"]
        ) from None


def make_damage_error(path: Path, found: str) -> InputError:
    """Return the error for a file that megtrim did not write, or not completely."""
    msg = f"{path}: {found}, expected what megtrim writes there"
    return InputError(msg, hint="move the file away if you do not know what changed it")


def make_unusable_error(path: Path, error: OSError) -> InfrastructureFailure:
    """Return the failure for a state folder that cannot be used."""
    msg = f"{path} cannot be used: {error.strerror}"
    return InfrastructureFailure(msg, hint=f"{VARIABLE} names another folder for the state")
