"""Where megtrim remembers its devices, and how what stands there is read and written.

Several processes share this folder, people edit it, and a full disk cuts files off: what is
read is checked, what is written is written whole.
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

from megtrim.errors import InfrastructureFailure, InputError

VARIABLE = "MEGTRIM_STATE"
_LARGEST_BYTES = 65_536
_LONGEST_SLUG = 80
_LONGEST_LOCK_S = 20.0


class StateFile(BaseModel):
    """What a file of this folder holds: these fields and no others."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


S = TypeVar("S", bound=StateFile)


def state_folder(env: Mapping[str, str]) -> Path:
    """Return the folder of what is remembered between runs, from the environment."""
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
    """Return a file name for a key: readable, and another one for each key."""
    readable = re.sub(r"[^A-Za-z0-9.-]", "_", key)[:_LONGEST_SLUG].lstrip(".")
    return f"{readable}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def open_shared(path: Path) -> int:
    """Open a file to lock it, making it where there is none. Links and pipes are refused."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        raise unusable(path, error) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise unusable(path, OSError(errno.EINVAL, "it is no plain file"))
    return descriptor


@contextmanager
def lock_file(path: Path) -> Iterator[int]:
    """Lock a file for a few operations and give out its descriptor, or raise in bounded time."""
    descriptor = open_shared(path)
    try:
        end = time.monotonic() + _LONGEST_LOCK_S
        while not try_lock(descriptor):
            if time.monotonic() > end:
                msg = f"{path} has been locked for {_LONGEST_LOCK_S:.0f} s"
                hint = f"`fuser {path}` tells which process was stopped while it held it"
                raise InfrastructureFailure(msg, hint=hint)
            time.sleep(0.005)
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Lock it if nobody else has; tell whether it is ours."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def read_saved(path: Path, kind: type[S]) -> S | None:
    """Return what the file holds, None where there is none; InputError where it is damaged."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        # A link in its place, or another user's file: that costs this file alone.
        raise make_damage_error(path, f"it cannot be read ({error.strerror})") from None
    try:
        return parse_saved(read_descriptor(descriptor), kind, path)
    finally:
        os.close(descriptor)


def read_descriptor(descriptor: int) -> bytes:
    """Return the bytes of an open file; of an endless one no more than shows that it is wrong."""
    try:
        return os.pread(descriptor, _LARGEST_BYTES + 1, 0)
    except OSError:
        return b""  # a pipe, a folder: no document either way


def parse_saved(data: bytes, kind: type[S], path: Path) -> S:
    """Read a document of that kind. Raises InputError, which names the file and what is wrong."""
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
    """Return the error of a file that megtrim did not write, or not to its end."""
    msg = f"{path}: {found}, expected what megtrim writes there"
    return InputError(msg, hint="move the file away if you do not know what changed it")


def unusable(path: Path, error: OSError) -> InfrastructureFailure:
    """Return the failure of a state folder that cannot be used."""
    msg = f"{path} cannot be used: {error.strerror}"
    return InfrastructureFailure(msg, hint=f"{VARIABLE} names another folder for the state")
