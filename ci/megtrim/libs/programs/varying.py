"""Text that may differ from run to run, by patterns. Pure.

A pattern is a regular expression without groups and alternatives, whose repeats give nothing back:
so no text makes a match last long, whoever wrote both.
"""

import re
from collections.abc import Iterable

from megtrim.libs.util.errors import InputError

LONGEST_PATTERN = 200
EXPECTED = (
    "a regular expression such as '[0-9.]+ ms', without groups, '|', '^' and '$', that matches "
    "no empty text"
)
PATTERN = r"^[ -~]+$"
_LONGEST_LINE = 4096
_LARGEST_TEXT_BYTES = 8 * 1024 * 1024
_MASK = b"*"
_TOKEN = re.compile(
    r"(?P<atom>\\[dDwWsS]|\\[^A-Za-z0-9]|\[\^?\]?(?:\\.|[^\]\\])*\]|[^*+?{}()|\[\]^$\\])"
    r"(?P<repeat>[*+?]|\{[0-9]{1,4}(?:,[0-9]{0,4})?\})?"
)


def compile_pattern(text: str) -> re.Pattern[bytes]:
    """Raises InputError for what is no such pattern."""
    made = ""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise _refuse(text)
        possessive = f"{found['repeat']}+" if found["repeat"] else ""
        made += found["atom"] + possessive
        at = found.end()
    try:
        pattern = re.compile(made.encode("ascii"))
    except (re.error, ValueError, OverflowError):
        raise _refuse(text) from None
    if pattern.match(b""):
        raise _refuse(text)
    return pattern


def check_pattern(text: str) -> str:
    compile_pattern(text)
    return text


def is_pattern(text: str) -> bool:
    try:
        compile_pattern(text)
    except InputError:
        return False
    return True


def mask(data: bytes, patterns: Iterable[str], *, by: bytes = _MASK) -> bytes:
    """Return text with each match replaced, line by line; what is too long for text stays."""
    compiled = [compile_pattern(each) for each in patterns]
    if not compiled or len(data) > _LARGEST_TEXT_BYTES:
        return data
    lines = []
    for line in data.splitlines(keepends=True):
        masked = line
        if len(line) <= _LONGEST_LINE:
            for pattern in compiled:
                masked = pattern.sub(by, masked)
        lines.append(masked)
    return b"".join(lines)


def _refuse(text: str) -> InputError:
    return InputError(f"found the pattern {text[:LONGEST_PATTERN]!r}, expected {EXPECTED}")
