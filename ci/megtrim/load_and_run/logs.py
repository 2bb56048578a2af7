"""Finds the error message of a failed run in what it printed. Pure: text in, text out."""

from __future__ import annotations

import re

_THROWN = re.compile(
    r"^terminate called after throwing an instance of '([^']{1,200})'\n"
    r"\s*what\(\): +([^\n]*(?:\n(?!\s*\n|qemu: |libc *: )[^\n]+){0,20})",
    re.MULTILINE,
)
_CAUGHT = re.compile(
    r"^caught exception: +([^\n]*(?:\n(?!\s*\n|midout: )[^\n]+){0,20})", re.MULTILINE
)
"""The older program catches an exception, prints this, and exits with 254."""
_ERROR = re.compile(
    r"^(?:\[\d+ \d+:\d+:\d+ [^\]]*\]\[ERR(?:OR)?\]|ERROR:|error:) *(\S.*)$", re.MULTILINE
)
_NOISE = re.compile(
    r"^(?:qemu: uncaught|libc *:|WARNING: linker:|midout: |\[\d+ \d+:\d+:\d+ |"
    r"(?:real|user|sys)\t|using MegBrain|mgb load-and-run:|=== |load model: |warmup \d|iter \d|"
    r"(?:Trap|Trace/breakpoint trap|Illegal instruction|Aborted|Segmentation fault)\b)"
)
_LONGEST_MESSAGE = 2000


def error_message(stderr: str) -> str:
    """Return the error message of a failed run; empty if there is none.

    It is the text of an exception, else an error line, else the last line that is neither a log
    line nor the report of a signal.
    """
    thrown = _THROWN.search(stderr)
    if thrown:
        return f"{thrown[1]}: {_one_line(thrown[2])}"[:_LONGEST_MESSAGE]
    caught = _CAUGHT.search(stderr)
    if caught:
        return _one_line(caught[1])[:_LONGEST_MESSAGE]
    error = _ERROR.search(stderr)
    if error:
        return error[1].rstrip()[:_LONGEST_MESSAGE]
    lines = (line.strip() for line in reversed(stderr.split("\n")))
    return next((line for line in lines if line and not _NOISE.match(line)), "")[:_LONGEST_MESSAGE]


def _one_line(text: str) -> str:
    return " ".join(line.strip() for line in text.split("\n"))
