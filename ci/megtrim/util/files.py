"""Files that are written whole or not at all."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from megtrim.util.errors import InfrastructureFailure, room_hint
from megtrim.util.input_files import open_plain_file


def sha256_file(path: Path) -> str:
    with open_plain_file(path, expected="a file") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_atomically(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        with suppress(OSError):  # Ctrl-C leaves nothing either; gone already where all went well
            temporary.unlink(missing_ok=True)


def cannot_write(path: Path, error: OSError) -> InfrastructureFailure:
    """Return the failure that a full or read-only disk is: nothing is known of the product."""
    msg = f"{path} cannot be written: {error.strerror}"
    return InfrastructureFailure(msg, hint=room_hint(error))
