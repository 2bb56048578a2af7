"""Escapes untrusted text for Markdown: it becomes no mention, link, image, HTML or table.

Pure; part of the report room. This is for GitHub's dialect, which links names after ``@``, numbers
after ``#`` and addresses in plain text, but never inside code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from megtrim.report.text import clean, one_line

T = TypeVar("T")

MOST_ROWS = 100

_LONGEST_CODE = 200
_LONGEST_PROSE = 500

_PLAIN_IN_CODE = re.compile(r"[^`|\\\n$]+")
_SPECIAL = re.compile(
    r"(?P<escape>[\\`*_{}\[\]~|!])"
    r"|(?P<entity>[<>&$])"
    r"|(?P<link>[@#]|:(?=//)|(?i:(?<![a-z0-9])(?:www(?=\.)|gh(?=-[0-9])|mailto(?=:)|xmpp(?=:))))"
)
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?/[A-Za-z0-9._~/-]{1,300}")
_OPENS_A_BLOCK = re.compile(r"(?:[-+=]+|[0-9]+[.)])(?= |$)")

# An HTML comment is not shown, and ends the text before it for the search for links.
_BREAK = "<!-- -->"


def code(text: str) -> str:
    """Return ``text`` as one line of code: a name, an id, an argument."""
    line = one_line(text, limit=_LONGEST_CODE)
    if not line:
        return ""
    if _PLAIN_IN_CODE.fullmatch(line):
        return f"`{line}`"
    return _code_in_html(line)


def code_in_title(text: str) -> str:
    """Return ``text`` as one line of code in the title of a fold, which is HTML, not Markdown."""
    return _code_in_html(one_line(text, limit=_LONGEST_CODE))


def _code_in_html(line: str) -> str:
    # The tag is HTML, so GitHub still searches it for e-mail addresses.
    inert = re.sub(r"[!-/:-@\[-`{-~]", lambda found: _entity(found.group()), line)
    return f"<code>{inert.replace('&#64;', '&#64;' + _BREAK)}</code>"


def prose(text: str) -> str:
    """Return ``text`` as one line of prose."""
    line = _SPECIAL.sub(_inert, one_line(text, limit=_LONGEST_PROSE))
    opening = _OPENS_A_BLOCK.match(line)
    if opening is None:
        return line
    at = opening.end() - 1
    return f"{line[:at]}\\{line[at:]}"


def _inert(found: re.Match[str]) -> str:
    text = found.group()
    if found["escape"]:
        return f"\\{text}"
    return _entity(text) if found["entity"] else text + _BREAK


def _entity(character: str) -> str:
    return f"&#{ord(character)};"


def block(text: str, *, limit: int = _LONGEST_PROSE) -> str:
    """Return ``text`` as a fenced block; its fence is longer than any inside."""
    body = clean(text, limit=limit).strip("\n")
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{body}\n{fence}"


def link(text: str, address: str) -> str:
    """Return ``text``, trusted Markdown, as a link; empty for anything but a plain address."""
    return f"[{text}]({address})" if _ADDRESS.fullmatch(address) else ""


def fold(title: str, body: str) -> str:
    """Return ``body``, trusted Markdown, folded under ``title``, trusted HTML."""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; a column whose head ends with ``>`` is right-aligned."""
    names = [name.removesuffix(">") for name in head]
    rules = ["---:" if name.endswith(">") else "---" for name in head]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (names, rules, *rows))


def bounded_table(
    head: Sequence[str], items: Sequence[T], row: Callable[[T], Sequence[str]]
) -> str:
    """Return a table of the first hundred items, and how many more there are."""
    more = len(items) - MOST_ROWS
    note = f"\n\n*{more:,} more in the HTML report.*" if more > 0 else ""
    return table(head, [row(item) for item in items[:MOST_ROWS]]) + note
