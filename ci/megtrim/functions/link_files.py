"""Text files of one link: what they are, which link they belong to, and then line by line.

They are made beside a program that anybody may have built, and come from other machines. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from megtrim.elf.symbol_names import is_linkable
from megtrim.errors import InputError

MAX_BYTES = 256 * 1024 * 1024
FIRST = 3
"""Number of the first line behind those that say what the file is."""
_LINK = re.compile(r"link ([0-9a-f]{64})")


def dump_lines(magic: str, link_sha256: str, lines: Iterable[str]) -> str:
    """Return a file's text."""
    return "\n".join([magic, f"link {link_sha256}", *lines, ""])


def parse_lines(data: bytes, *, magic: str, source: str, hint: str) -> tuple[str, list[str]]:
    """Return the link that a file belongs to, and its lines.

    Raises InputError naming ``source:line`` for a file of another kind, or one that is cut off.
    """
    if len(data) > MAX_BYTES:
        raise refusal(source, 1, f"more than {MAX_BYTES} bytes", hint)
    # Only what is ASCII can be a name; anything else is shown as it is.
    lines = data.decode("ascii", "backslashreplace").split("\n")
    if lines[0] != magic:
        raise refusal(source, 1, f"found {lines[0][:80]!r}, expected {magic!r}", hint)
    link = _LINK.fullmatch(lines[1]) if len(lines) > 1 else None
    if link is None:
        raise refusal(source, 2, "expected the word link and a sha256", hint)
    if lines[-1]:
        said = "the last line has no end: is the file cut off?"
        raise refusal(source, len(lines), said, hint)
    return link[1], lines[FIRST - 1 : -1]


def check_names(names: Sequence[str], *, source: str, line: int, hint: str) -> None:
    """Refuse names that no linker script may hold."""
    for name in names:
        if not is_linkable(name):
            raise refusal(source, line, f"found {name[:80]!r}, expected a linkage name", hint)


def refusal(source: str, line: int, said: str, hint: str) -> InputError:
    """Return the error for one line of a file."""
    return InputError(f"{source}:{line}: {said}", hint=hint)
