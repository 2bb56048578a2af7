"""Makes foreign text (logs, names, messages) fit to be shown: no control codes, bounded, never bad.

Pure; part of the report room. What a format needs on top (XML, Markdown, HTML) is the format's own.
"""

from __future__ import annotations

import re

# The rest of an escape sequence stays readable when only ESC is dropped, so whole sequences go.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[@-Z\\-_])"
)

# Not characters of XML 1.0, plus what turns the direction of the text around it.
_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
    "\u200e\u200f\u202a-\u202e\u2066-\u2069]"
    "|["
    + "".join(chr(plane << 16 | low) for plane in range(1, 17) for low in (0xFFFE, 0xFFFF))
    + "]"
)

REPLACEMENT = "\ufffd"


def clean(text: str, *, limit: int) -> str:
    """Return ``text`` without escape sequences, with unfit characters replaced, of bounded length.

    Of a longer text the first quarter and the end are kept, with a note between: the end of a log
    is where the cause is.
    """
    shortened = _shorten(text, limit)
    plain = _ESCAPES.sub("", shortened).replace("\r\n", "\n").replace("\r", "\n")
    return _UNFIT.sub(REPLACEMENT, plain)


def one_line(text: str, *, limit: int = 500) -> str:
    """Return ``text`` cleaned, on one line."""
    return " ".join(clean(text, limit=limit).split())


def command(text: str, *, limit: int = 2_000) -> str:
    """Return a command line to paste, as it is or not at all: half of one does something else."""
    whole = len(text) <= limit and clean(text, limit=limit) == text
    return text if whole else "(its command holds what cannot be shown here: see verdict.json)"


def path_in_project(text: str) -> str:
    """Return ``text`` as a path below the project: no root, no way up, never empty."""
    parts = [part for part in one_line(text).split("/") if part not in ("", ".", "..")]
    return "/".join(parts) or "megtrim.yaml"


def _shorten(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = limit // 4
    left_out = len(text) - limit
    return f"{text[:head]}\n… {left_out:,} characters left out …\n{text[head + left_out :]}"
