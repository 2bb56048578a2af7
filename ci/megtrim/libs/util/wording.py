"""Words and characters of messages and reports. Pure.

Untrusted text is made safe where it leaves megtrim: what is not seen becomes an escape of JSON, so
a document stays the same one, and no line is a command of a CI service.
"""

import re
import unicodedata

COMMIT_DIGEST = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)
"""Names a commit of git, of SHA-1 or of SHA-256."""
_CLAUSE = re.compile(r"[,;:] ")
_SUSPECT = re.compile(r"[^\n\t\x20-\x7e]")
_COMMAND = re.compile(r"^(\s*):(?=:)|##(?=\w*\[)", re.MULTILINE)
"""GitHub's at the start of a line; GitHub's older ones, Azure's and TeamCity's anywhere in it."""


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as ``1 file`` or ``2 files``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def shorten(text: str, most: int, head: int) -> str:
    """Leave out what follows ``head`` characters: what is at the end says more, as of a path."""
    return text if len(text) <= most else f"{text[:head]}…{text[head + 1 - most :]}"


def cut(text: str, most: int) -> str:
    """Leave out the end of a sentence that is too long, at a comma or a colon if there is one."""
    if len(text) <= most:
        return text
    clauses = [found.start() for found in _CLAUSE.finditer(text[: most + 1]) if found.start() > 2]
    return text[: clauses[-1]] if clauses else f"{text[: most - 1].rstrip()}…"


def make_printable(text: str) -> str:
    seen = _SUSPECT.sub(_escape, text)
    return _COMMAND.sub(lambda at: "#\\u0023" if at[1] is None else f"{at[1]}\\u003a", seen)


def replace_invisible(text: str, replacement: str) -> str:
    """Return ``text`` with another character in place of each that :func:`make_printable` shows."""
    return _SUSPECT.sub(lambda match: match[0] if _is_visible(match[0]) else replacement, text)


def _is_visible(character: str) -> bool:
    """Tell whether a character is seen, and leaves those around it in their order."""
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _escape(match: re.Match[str]) -> str:
    if _is_visible(match[0]):
        return match[0]
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def one_line(text: str, *, most: int = 300) -> str:
    """Make untrusted text safe for a log: one line, printable, not a command of a runner."""
    line = "".join(c if c.isprintable() else " " for c in text[: 4 * most])
    line = " ".join(line.split()).replace("##[", "# #[").replace("::", ": :")
    return line if len(line) <= most else f"{line[: most - 1]}…"
