"""Reads files from people and other machines; they may be hostile.

Pipes, devices, circles, huge files, LFS pointers, merge conflicts: an InputError names ``shown``.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from megtrim.libs.util.errors import InputError

POINTER_HINT = "fetch the file itself: git lfs pull"
MERGE_HINT = "keep what both sides need, and remove the lines of the markers"

# https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md: the first line, and the size.
_POINTER = b"version https://git-lfs.github.com/spec/"
_MOST_POINTER_BYTES = 1024
_OURS, _THEIRS = (re.compile(f"^[{mark}]{{7}}(?: |$)", re.MULTILINE) for mark in "<>")
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_STEP_BYTES = 2**20
FOLDER = "a folder"
MISSING = "no such file"
_KINDS = {
    stat.S_IFDIR: FOLDER,
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_NO_PATH = "no path"
"""A text with a NUL byte, or half of a surrogate pair."""


def kind_at(path: Path) -> str:
    """Describe what a path leads to, such as ``a folder``; empty for a plain file."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return MISSING
    except OSError as error:
        return f"a path that leads nowhere ({error.strerror})"
    except ValueError:
        return _NO_PATH
    return "" if stat.S_ISREG(mode) else _KINDS[stat.S_IFMT(mode)]


@contextmanager
def open_plain_file(
    path: Path, *, expected: str, shown: str = "", hint: str = "", most_bytes: int | None = None
) -> Iterator[BufferedReader]:
    """Open a plain file for reading, without blocking. Raises InputError.

    ``expected`` says what the file should be, such as ``a model``. ``shown`` is its name in
    messages, by default its path. An OSError of a later read becomes an InputError, too.
    """
    shown = shown or str(path)
    try:
        _expect_file(path.stat().st_mode, shown, expected, hint)  # opening a device can do harm
        with os.fdopen(os.open(path, _FLAGS), "rb") as stream:
            facts = os.fstat(stream.fileno())
            _expect_file(facts.st_mode, shown, expected, hint)  # it may have been replaced
            if most_bytes is not None and facts.st_size > most_bytes:
                found = f"more than {most_bytes:,} bytes"
                raise _make_mismatch_error(shown, found, expected, hint)
            _expect_no_pointer(stream, facts.st_size, shown, expected)
            yield stream
    except OSError as error:
        msg = f"{shown}: cannot be read: {error.strerror}"
        raise InputError(msg, hint=hint) from None
    except ValueError:
        raise _make_mismatch_error(shown, _NO_PATH, expected, hint) from None


def read_bytes(
    path: Path, *, most_bytes: int, expected: str, shown: str = "", hint: str = ""
) -> bytes:
    shown = shown or str(path)
    with open_plain_file(
        path, expected=expected, shown=shown, hint=hint, most_bytes=most_bytes
    ) as stream:
        # What is asked for is set aside at once. It may have grown; files of /proc have no size.
        data = stream.read(min(os.fstat(stream.fileno()).st_size, most_bytes) + 1)
        while len(data) <= most_bytes and (more := stream.read(_STEP_BYTES)):
            data += more
    if len(data) > most_bytes:
        raise _make_mismatch_error(shown, f"more than {most_bytes:,} bytes", expected, hint)
    return data


def read_text(
    path: Path, *, most_bytes: int, expected: str, shown: str = "", hint: str = ""
) -> str:
    shown = shown or str(path)
    data = read_bytes(path, most_bytes=most_bytes, expected=expected, shown=shown, hint=hint)
    return decode(data, shown=shown, hint=hint)


def find_shipped(installed: str, checkout: str) -> Path:
    """Return what comes with megtrim: in its package, where it is installed, or in a checkout."""
    package = Path(__file__).resolve().parents[2]
    return found if (found := package / installed).exists() else package.parents[1] / checkout


def decode(data: bytes, *, shown: str, hint: str = "") -> str:
    """Return UTF-8 bytes as text. Raises InputError naming the line."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start]
        msg = f"{shown}:{line}: found the byte 0x{byte:02x}, which is not UTF-8, expected text"
        raise InputError(msg, hint=hint) from None


def expect_merged(text: str, *, shown: str, hint: str = MERGE_HINT) -> None:
    """Raise InputError, naming the line, for a text in which git left both sides of a merge."""
    ours = _OURS.search(text)
    if ours is None or _THEIRS.search(text, ours.end()) is None:
        return
    line = text.count("\n", 0, ours.start()) + 1
    msg = f"{shown}:{line}: found an unresolved merge conflict"
    raise InputError(msg, hint=hint)


def _expect_no_pointer(stream: BufferedReader, size_bytes: int, shown: str, expected: str) -> None:
    """Raise InputError for a Git LFS pointer, which takes a large file's place until a fetch."""
    if size_bytes < _MOST_POINTER_BYTES:
        if stream.read(len(_POINTER)) == _POINTER:
            msg = f"{shown} is a Git LFS pointer, expected {expected}"
            raise InputError(msg, hint=POINTER_HINT)
        stream.seek(0)


def _expect_file(mode: int, shown: str, expected: str, hint: str) -> None:
    if not stat.S_ISREG(mode):
        raise _make_mismatch_error(shown, _KINDS[stat.S_IFMT(mode)], expected, hint)


def _make_mismatch_error(shown: str, found: str, expected: str, hint: str) -> InputError:
    return InputError(f"{shown}: found {found}, expected {expected}", hint=hint)
