"""Changing files so that only their bytes show it, and documents in one place."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def put(file: Path, data: bytes) -> None:
    """Give a file another content of the same size; its times stay."""
    before = file.stat()
    assert len(data) == before.st_size
    file.write_bytes(data)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    put(file, bytes(data))


def swap(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    put(file, text.replace(old, new).encode())


def put_program(file: Path, program: bytes) -> None:
    """Put another program into a file of equal size: what follows its end is not read."""
    put(file, program.ljust(file.stat().st_size, b"\0"))


def edit(file: Path, change: Callable[[Any], object]) -> None:
    data = json.loads(file.read_text(encoding="utf-8"))
    change(data)
    file.write_text(json.dumps(data, indent=1), encoding="utf-8")
