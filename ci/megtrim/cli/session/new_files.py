"""Files that a command adds to a project: all of them or none, and nothing is overwritten."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from megtrim.util.errors import NO_ROOM, InputError
from megtrim.util.files import cannot_write
from megtrim.util.input_files import read_text

Content = str | bytes

_LARGEST_FILE_BYTES = 1024 * 1024


def find_missing(texts: Mapping[Path, str], *, hint: str) -> dict[Path, Content]:
    """Return those that are not there yet. Raises InputError for one that is there and differs."""
    missing: dict[Path, Content] = {}
    for path, text in texts.items():
        if not path.exists():
            missing[path] = text
        elif read_text(path, most_bytes=_LARGEST_FILE_BYTES, expected="a short text") != text:
            msg = f"{path} exists and differs"
            raise InputError(msg, hint=hint)
    return missing


def write_files(files: Mapping[Path, Content]) -> None:
    """Write new files in their order; if one cannot be written, remove those before it."""
    written: list[Path] = []
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as stream:  # also a dangling link is someone's work
                written.append(path)
                stream.write(content.encode() if isinstance(content, str) else content)
    except BaseException as error:
        for file in written:
            file.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        if error.errno in NO_ROOM:
            raise cannot_write(Path(error.filename or written[-1]), error) from None
        msg = f"{error.filename or written[-1]} cannot be written: {error.strerror}"
        raise InputError(msg, hint="copy the models to a folder of your own") from None
