"""The format of text files that belong to one link: a header of two lines, then one entry a line.

They come from other machines, where an untrusted program ran. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from megtrim.elf.symbol_names import is_linkable
from megtrim.util.errors import InputError

MAX_BYTES = 256 * 1024 * 1024
FIRST = 3
"""Number of the first line after the header."""
_LINK = re.compile(r"link ([0-9a-f]{64})")


def dump_lines(magic: str, link_sha256: str, lines: Iterable[str]) -> str:
    """Return a file's text."""
    return "\n".join([magic, f"link {link_sha256}", *lines, ""])


def parse_lines(data: bytes, *, magic: str, source: str, hint: str) -> tuple[str, list[str]]:
    """Return the link that a file belongs to, and its lines.

    Raises InputError naming ``source:line`` for a file of another kind, or a truncated one.
    """
    if len(data) > MAX_BYTES:
        raise refusal(source, 1, f"more than {MAX_BYTES} bytes", hint)
    # Names are ASCII; anything else is escaped for the message.
    lines = data.decode("ascii", "backslashreplace").split("\n")
    if lines[0] != magic:
        raise refusal(source, 1, f"found {lines[0][:80]!r}, expected {magic!r}", hint)
    link = _LINK.fullmatch(lines[1]) if len(lines) > 1 else None
    if link is None:
        raise refusal(source, 2, "expected the word link and a sha256", hint)
    if lines[-1]:
        problem = "the last line does not end with a newline: is the file truncated?"
        raise refusal(source, len(lines), problem, hint)
    return link[1], lines[FIRST - 1 : -1]


def check_names(names: Sequence[str], *, source: str, line: int, hint: str) -> None:
    """Raise InputError for a name that is not allowed in a linker script."""
    for name in names:
        if not is_linkable(name):
            raise refusal(source, line, f"found {name[:80]!r}, expected a linkage name", hint)


def refusal(source: str, line: int, problem: str, hint: str) -> InputError:
    """Return the error for one line of a file."""
    return InputError(f"{source}:{line}: {problem}", hint=hint)
