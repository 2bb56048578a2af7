"""How much bundles and evidence may hold, what is cleaned before it is written, and their files.

Quick to load: the types of values, which need pydantic, are in :mod:`megtrim.core.evidence.fields`.
"""

import hashlib
import re
from pathlib import Path

from megtrim.libs.util import input_files
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.json_text import LARGEST_DOCUMENT

FILES = "files"
"""Folder of a bundle or of evidence that holds files, each named by its sha256."""

ENDING_FILE = "ending.json"

MOST_RESULTS = 1000
MOST_ITEMS = 10_000
LONGEST_LINE = 4096
LONGEST_LOG = 65_536

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
CONTROL_IN_LOG = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def clean_line(text: str) -> str:
    line = CONTROL.sub("\N{REPLACEMENT CHARACTER}", " ".join(text.splitlines()))
    # A runner takes what follows this as a command, wherever in a line it is.
    return line.replace("##[", "# #[")[:LONGEST_LINE]


def clean_log(text: str) -> str:
    return CONTROL_IN_LOG.sub("\N{REPLACEMENT CHARACTER}", text[-LONGEST_LOG:])


def read_text(path: Path, *, hint: str) -> str:
    data = read_bytes(path, most=LARGEST_DOCUMENT, hint=hint)
    return input_files.decode(data, shown=str(path), hint=hint)


def read_bytes(path: Path, *, most: int, hint: str) -> bytes:
    """Return a file's bytes; a link, a folder or more than ``most`` bytes is an InputError."""
    if path.is_symlink():
        msg = f"{path}: found a link, expected a plain file"
        raise InputError(msg, hint=hint)
    return input_files.read_bytes(path, most_bytes=most, expected="a plain file", hint=hint)


def read_named(folder: Path, digest: str, *, most: int, hint: str) -> bytes:
    path = folder / FILES / digest
    if (folder / FILES).is_symlink():
        msg = f"{folder / FILES}: found a link, expected a folder"
        raise InputError(msg, hint=hint)
    data = read_bytes(path, most=most, hint=hint)
    found = hashlib.sha256(data).hexdigest()
    if found != digest:
        msg = f"{path}: its sha256 is {found}, expected that of its name"
        raise InputError(msg, hint=hint)
    return data
