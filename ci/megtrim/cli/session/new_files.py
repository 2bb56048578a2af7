"""Files that a command adds to a project, and what is there already."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from megtrim.errors import InputError
from megtrim.input_files import read_text

_LARGEST_FILE_BYTES = 1024 * 1024


def find_missing(texts: Mapping[Path, str], *, hint: str) -> dict[Path, str]:
    """Return those that are not there yet. Raises InputError for one that is there and differs."""
    missing = {}
    for path, text in texts.items():
        if not path.exists():
            missing[path] = text
        elif read_text(path, most_bytes=_LARGEST_FILE_BYTES, expected="a short text") != text:
            msg = f"{path} exists and differs"
            raise InputError(msg, hint=hint)
    return missing
