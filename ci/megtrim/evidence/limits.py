"""What bundles and evidence may hold: names, digests, texts and counts, each with its limit.

Part of the evidence room. Both documents come from other machines, so every value is checked
before it is used. One that does not fit is a ValueError that says where.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from megtrim.config.config_id import NAME_PATTERN
from megtrim.util import environment, input_files
from megtrim.util.environment import Variables
from megtrim.util.errors import InputError
from megtrim.util.json_text import LARGEST_DOCUMENT

FILES = "files"
"""Folder of a bundle or of evidence that holds files, each named by its sha256."""

ENDING_FILE = "ending.json"
"""How a run ended that left no verdict."""

MOST_RESULTS = 1000
"""Results of one device job."""
MOST_ITEMS = 10_000
"""Entries of any other list."""
LONGEST_LINE = 4096
LONGEST_LOG = 65_536

_NAME = re.compile(NAME_PATTERN.strip("^$"))
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SCENARIO = re.compile(rf"(?:{_NAME.pattern})/(?:{_NAME.pattern})@(?P<cpu_class>{_NAME.pattern})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_CONTROL_IN_LOG = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_LONGEST_NAME = 200
_SHOWN = 60


def wrong(where: str, found: object, expected: str) -> ValueError:
    """Return the error of a value that does not fit."""
    shown = repr(found)
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
    return ValueError(f"{where}: found {shown}, expected {expected}")


def require(fits: bool, where: str, found: object, expected: str) -> None:
    """Raise :func:`wrong` where a value does not fit."""
    if not fits:
        raise wrong(where, found, expected)


def check_name(where: str, value: str) -> None:
    """Expect a name as the configuration takes it, which is safe in paths and labels."""
    if len(value) > _LONGEST_NAME or _NAME.fullmatch(value) is None:
        raise wrong(where, value, "a name of letters, digits, '.', '_' and '-'")


def check_digest(where: str, value: str) -> None:
    """Expect a sha256."""
    if _DIGEST.fullmatch(value) is None:
        raise wrong(where, value, "a sha256 of 64 hex digits")


def check_scenario(where: str, value: str, *, cpu_class: str) -> None:
    """Expect ``MODEL/SCENARIO@CLASS`` of that class."""
    match = _SCENARIO.fullmatch(value) if len(value) <= 3 * _LONGEST_NAME + 2 else None
    if match is None or match["cpu_class"] != cpu_class:
        raise wrong(where, value, f"MODEL/SCENARIO@{cpu_class}")


def check_contest(where: str, value: str, *, cpu_class: str) -> str:
    """Expect ``MODEL/SCENARIO@CLASS#NAME`` of that class; return the scenario."""
    scenario, mark, name = value.partition("#")
    check_scenario(where, scenario, cpu_class=cpu_class)
    if not mark:
        raise wrong(where, value, f"MODEL/SCENARIO@{cpu_class}#NAME")
    check_name(where, name)
    return scenario


def check_line(where: str, value: str) -> None:
    """Expect one line of text without control characters."""
    if len(value) > LONGEST_LINE or _CONTROL.search(value):
        expected = f"one line of at most {LONGEST_LINE} characters, none a control character"
        raise wrong(where, value, expected)


def check_variables(where: str, variables: Variables) -> None:
    """Expect variables that a scenario may set, each once."""
    check_count(where, variables, environment.MOST_VARIABLES)
    check_unique(where, [name for name, _ in variables])
    for name, value in variables:
        require(environment.is_name(name), where, name, environment.NAME_EXPECTED)
        require(environment.is_value(value), f"{where}: {name}", value, "one line of text")


def check_log(where: str, value: str) -> None:
    """Expect lines of text without control characters."""
    if len(value) > LONGEST_LOG or _CONTROL_IN_LOG.search(value):
        expected = f"at most {LONGEST_LOG} characters, none a control character"
        raise wrong(where, value, expected)


def check_count(where: str, items: Sequence[object], most: int) -> None:
    """Expect at most so many."""
    if len(items) > most:
        raise wrong(where, len(items), f"at most {most}")


def check_unique(where: str, names: Sequence[str]) -> None:
    """Expect no name twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise wrong(where, name, "each name once")
        seen.add(name)


def check_day(where: str, value: str) -> None:
    """Expect a date such as 2027-01-31."""
    try:
        fits = date.fromisoformat(value).isoformat() == value
    except ValueError:
        fits = False
    if not fits:
        raise wrong(where, value, "a date such as 2027-01-31")


def clean_line(text: str) -> str:
    """Return a text as one line that :func:`check_line` takes, and that a log can show."""
    line = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", " ".join(text.splitlines()))
    # A runner takes what follows this as a command, wherever in a line it is.
    return line.replace("##[", "# #[")[:LONGEST_LINE]


def clean_log(text: str) -> str:
    """Return the end of a text, as :func:`check_log` takes it."""
    return _CONTROL_IN_LOG.sub("\N{REPLACEMENT CHARACTER}", text[-LONGEST_LOG:])


def read_text(path: Path, *, hint: str) -> str:
    """Return the text of a document of at most the largest size. Raises InputError."""
    data = read_bytes(path, most=LARGEST_DOCUMENT, hint=hint)
    return input_files.decode(data, shown=str(path), hint=hint)


def read_bytes(path: Path, *, most: int, hint: str) -> bytes:
    """Return a file's bytes; a link, a folder or more than ``most`` bytes is an InputError."""
    if path.is_symlink():
        msg = f"{path}: found a link, expected a plain file"
        raise InputError(msg, hint=hint)
    return input_files.read_bytes(path, most_bytes=most, expected="a plain file", hint=hint)


def read_named(folder: Path, digest: str, *, most: int, hint: str) -> bytes:
    """Return the bytes of the file that ``folder`` holds under a sha256, after checking it."""
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
