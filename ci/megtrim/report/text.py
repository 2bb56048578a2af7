"""Cleans untrusted text (logs, names, messages): no control codes, bounded, valid Unicode.

Pure; part of the report room. Escaping for XML, Markdown or HTML is up to each format.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import PurePosixPath

from megtrim.printable import replace_invisible

# Whole escape sequences are removed: without ESC, their rest would remain as text.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[@-Z\\-_])"
)

REPLACEMENT = "\ufffd"


def clean(text: str, *, limit: int) -> str:
    """Return ``text`` without escape sequences, with invalid characters replaced, bounded.

    If it is too long, its first quarter and its end are kept, with a note in between: the cause is
    usually at the end of a log.
    """
    shortened = _shorten(text, limit)
    plain = _ESCAPES.sub("", shortened).replace("\r\n", "\n").replace("\r", "\n")
    return replace_invisible(plain, REPLACEMENT)


def one_line(text: str, *, limit: int = 500) -> str:
    """Return ``text`` cleaned, on one line."""
    return " ".join(clean(text, limit=limit).split())


def command(text: str, *, limit: int = 2_000) -> str:
    """Return a command line to paste, or a note if it is no printable line or too long.

    Never a part of it, and never several lines: a file name may hold a line break.
    """
    printable = len(text) <= limit and clean(text, limit=limit) == text
    return (
        text
        if printable and text.splitlines() in ([], [text])
        else "(the command cannot be shown here: see verdict.json)"
    )


def path_in_project(text: str) -> str:
    """Return ``text`` as a relative path without ``..``, never empty."""
    parts = [part for part in one_line(text).split("/") if part not in ("", ".", "..")]
    return "/".join(parts) or "megtrim.yaml"


def path_in_repository(text: str, config: str) -> str:
    """Return a path that is relative to a configuration's folder as one from the repository's top.

    ``config`` is the configuration's path from there; if it is not below it, its folder is the top.
    """
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
