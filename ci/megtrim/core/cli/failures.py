"""Failures of the machine and of file names that no code foresaw, as megtrim's own. Pure."""

import errno
from pathlib import Path

from megtrim.libs.util.errors import (
    DISK_ERRORS,
    NO_NAMES,
    InfrastructureFailure,
    InputError,
    MegtrimError,
)
from megtrim.libs.util.files import cannot_write

_LONGEST_NAME = 100


def translate(error: Exception) -> MegtrimError | None:
    """Return None for a bug in megtrim."""
    if isinstance(error, MegtrimError):
        return error
    if found := _describe_file_name(error):
        return InputError(found, hint="name another file or folder")
    if isinstance(error, OSError) and error.errno in DISK_ERRORS:
        return cannot_write(Path(error.filename or "a file"), error)
    if _is_short_of_memory(error):
        hint = "free some, or raise the limit of this shell: ulimit -v"
        return InfrastructureFailure("not enough memory", hint=hint)
    return None


def _describe_file_name(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno in NO_NAMES:
        shown = ascii(str(error.filename or ""))[:_LONGEST_NAME]
        return f"{shown}: {error.strerror}, expected the name of a file or folder"
    if isinstance(error, ValueError) and "null byte" in str(error):
        return "found a NUL byte in a name, expected the name of a file or folder"
    if isinstance(error, RuntimeError) and "Symlink loop" in str(error):
        return f"{error}, expected the name of a file or folder"
    if isinstance(error, UnicodeEncodeError):
        return f"found {ascii(error.object)[:_LONGEST_NAME]}, expected the name of a file or folder"
    return ""


def _is_short_of_memory(error: BaseException | None) -> bool:
    """The loader of libraries and the start of a thread say it in words."""
    if error is None:
        return False
    texts = ("Cannot allocate memory", "can't start new thread", "failed to map segment")
    said = isinstance(error, ImportError | RuntimeError) and any(
        text in str(error) for text in texts
    )
    lacking = isinstance(error, OSError) and error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or said or lacking or _is_short_of_memory(error.__cause__)
