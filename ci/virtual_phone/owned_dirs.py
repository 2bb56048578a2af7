"""Folders that belong to a process for as long as it lives, and how abandoned ones are found.

The kernel releases a lock however its holder ends: kill -9 leaves a folder without a lock.
"""

import fcntl
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

LOCK = "lock"
GRACE_S = 60.0
"""How long a folder may be without a lock: its owner may be about to hold it."""


def hold(folder: Path) -> int:
    new = folder / f"{LOCK}.new"
    lock = os.open(new, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    # Named only now: no one shall find it unlocked and think that we ended.
    new.rename(folder / LOCK)
    return lock


def is_abandoned(folder: Path) -> bool:
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        with suppress(OSError):
            return time.time() - folder.stat().st_mtime > GRACE_S
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        folder.parent.rmdir()
