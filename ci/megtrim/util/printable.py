"""Makes text that anyone may have written safe to print: a terminal, or a log that CI keeps.

Pure. Used where text leaves megtrim. A character that would not be seen, or that would turn the
text around it, is shown as its escape; a line that a CI service would take for a command is not
one any more. Every escape is one of JSON's, so a document stays the same document.
"""

from __future__ import annotations

import re
import unicodedata

_SUSPECT = re.compile(r"[^\n\t\x20-\x7e]")
_COMMAND = re.compile(r"^(\s*):(?=:)|##(?=\w*\[)", re.MULTILINE)
"""GitHub's at the start of a line; GitHub's older ones, Azure's and TeamCity's anywhere in it."""


def make_printable(text: str) -> str:
    return _COMMAND.sub(_break, _SUSPECT.sub(_escape, text))


def replace_invisible(text: str, replacement: str) -> str:
    """Return ``text`` with another character in place of each that :func:`make_printable` shows."""
    return _SUSPECT.sub(lambda found: found[0] if _is_visible(found[0]) else replacement, text)


def _is_visible(character: str) -> bool:
    """Tell whether a character is seen, and leaves those around it in their order."""
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _escape(found: re.Match[str]) -> str:
    if _is_visible(found[0]):
        return found[0]
    units = found[0].encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2].hex() for at in range(0, len(units), 2))
    return "".join(f"\\u{unit}" for unit in pairs)


def _break(found: re.Match[str]) -> str:
    return "#\\u0023" if found[1] is None else f"{found[1]}\\u003a"
