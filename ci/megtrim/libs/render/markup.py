"""Escapes untrusted text for Markdown: it becomes no mention, link, image, HTML or table. Pure.

GitHub's dialect links ``@``, ``#``, hashes of commits and addresses in plain text, never in code.
"""

import posixpath
import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import TypeVar

from megtrim.libs.util.wording import replace_invisible

# Whole escape sequences are removed: without ESC, their rest would remain as text.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[@-Z\\-_])"
)

REPLACEMENT = "\ufffd"


def clean(text: str, *, limit: int) -> str:
    """Remove escape sequences and invalid characters; keep a long text's first quarter and end."""
    shortened = _shorten(text, limit)
    plain = _ESCAPES.sub("", shortened).replace("\r\n", "\n").replace("\r", "\n")
    return replace_invisible(plain, REPLACEMENT)


def one_line(text: str, *, limit: int = 500) -> str:
    return " ".join(clean(text, limit=limit).split())


def command(text: str, *, limit: int = 2_000) -> str:
    """Return a note for what is no printable line or too long.

    Never a part of it, and never several lines: a file name may hold a line break.
    """
    printable = len(text) <= limit and clean(text, limit=limit) == text
    return (
        text
        if printable and text.splitlines() in ([], [text])
        else "(the command cannot be shown here: see verdict.json)"
    )


def path_in_project(text: str) -> str:
    """Return a relative path without ``..``, never empty."""
    parts = [part for part in one_line(text).split("/") if part not in ("", ".", "..")]
    return "/".join(parts) or "megtrim.yaml"


def path_in_repository(text: str, config: str) -> str:
    """``text`` is relative to the folder of ``config``, whose path is from the repository's top."""
    folder = PurePosixPath(config).parent
    if folder.is_absolute() or ".." in folder.parts:
        return path_in_project(text)
    return path_in_project(posixpath.normpath(folder / one_line(text)))


def _shorten(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = limit // 4
    left_out = len(text) - limit
    return f"{text[:head]}\n… {left_out:,} characters left out …\n{text[head + left_out :]}"


T = TypeVar("T")

MOST_ROWS = 100

_LONGEST_CODE = 200
_LONGEST_PROSE = 500

_PLAIN_IN_CODE = re.compile(r"[^`|\\\n$]+")
_HASH = r"(?<![0-9A-Za-z])[0-9a-f]{7,64}(?![0-9A-Za-z])"
"""GitHub links it to a commit of the repository that the comment is in, whichever it is of.

It links none in code.
"""
_SPECIAL = re.compile(
    r"(?P<escape>[\\`*_{}\[\]~|!])"
    r"|(?P<entity>[<>&$])"
    rf"|(?P<hash>{_HASH})"
    r"|(?P<link>[@#]|:(?=//)|(?i:(?<![a-z0-9])(?:www(?=\.)|gh(?=-[0-9])|mailto(?=:)|xmpp(?=:))))"
)
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?/[A-Za-z0-9._~/-]{1,300}")
_OPENS_A_BLOCK = re.compile(r"(?:[-+=]+|[0-9]+[.)])(?= |$)")

# An HTML comment is not shown, and ends the text before it for the search for links.
_BREAK = "<!-- -->"


def code(text: str) -> str:
    line = one_line(text, limit=_LONGEST_CODE)
    if not line:
        return ""
    if _PLAIN_IN_CODE.fullmatch(line):
        return f"`{line}`"
    return _code_in_html(line)


def code_in_title(text: str) -> str:
    """The title of a fold is HTML, not Markdown."""
    return _code_in_html(one_line(text, limit=_LONGEST_CODE))


def _code_in_html(line: str) -> str:
    # The tag is HTML, so GitHub still searches it for e-mail addresses.
    inert = re.sub(r"[!-/:-@\[-`{-~]", lambda found: _entity(found.group()), line)
    return f"<code>{inert.replace('&#64;', '&#64;' + _BREAK)}</code>"


def prose(text: str) -> str:
    return _close_opening(_SPECIAL.sub(_inert, one_line(text, limit=_LONGEST_PROSE)))


def prose_with_code(text: str) -> str:
    """Keep what is between two backticks as code, such as the command of an advice."""
    parts = one_line(text, limit=2 * _LONGEST_PROSE).split("`")
    if len(parts) % 2 == 0:
        return prose(text)
    shown = [
        code(part) if number % 2 else _SPECIAL.sub(_inert, part)
        for number, part in enumerate(parts)
    ]
    return _close_opening("".join(shown))


def _close_opening(line: str) -> str:
    """Keep what begins like an item of a list from being one."""
    opening = _OPENS_A_BLOCK.match(line)
    if opening is None:
        return line
    at = opening.end() - 1
    return f"{line[:at]}\\{line[at:]}"


def _inert(found: re.Match[str]) -> str:
    text = found.group()
    if found["escape"]:
        return f"\\{text}"
    if found["hash"]:
        return f"<code>{text}</code>"
    return _entity(text) if found["entity"] else text + _BREAK


def _entity(character: str) -> str:
    return f"&#{ord(character)};"


def block(text: str, *, limit: int = _LONGEST_PROSE) -> str:
    body = clean(text, limit=limit).strip("\n")
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{body}\n{fence}"


def link(text: str, address: str) -> str:
    """``text`` is trusted Markdown; empty for anything but a plain address."""
    return f"[{text}]({address})" if _ADDRESS.fullmatch(address) else ""


def fold(title: str, body: str) -> str:
    """``body`` is trusted Markdown, ``title`` trusted HTML."""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A column whose head ends with ``>`` is right-aligned."""
    names = [name.removesuffix(">") for name in head]
    rules = ["---:" if name.endswith(">") else "---" for name in head]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (names, rules, *rows))


def bounded_table(
    head: Sequence[str], items: Sequence[T], row: Callable[[T], Sequence[str]]
) -> str:
    more = len(items) - MOST_ROWS
    note = f"\n\n*{more:,} more in the HTML report.*" if more > 0 else ""
    return table(head, [row(item) for item in items[:MOST_ROWS]]) + note
