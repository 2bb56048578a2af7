"""Parses the log of ``load_and_run``: up to 1.6, from 1.7 to 1.9, and from 1.10 on.

A minimum-size build logs nothing, and an interrupted run logs only its beginning, so every field
may be missing; :mod:`megtrim.load_and_run.timing_logs.reader` reads whole logs strictly. Times are
in milliseconds, as logged. Pure: text in, values out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from megtrim.load_and_run.timing_logs.lines import LineKind, Summary, find_in_lines, make_summary

_VERSION, _LOAD, _PREPARE, _WARMUP, _ITERATION, _RUN, _SUMMARY, _TOTAL = (
    find_in_lines(kind)
    for kind in (
        *(LineKind.VERSION, LineKind.LOAD, LineKind.PREPARE, LineKind.WARMUP),
        *(LineKind.ITERATION, LineKind.RUN, LineKind.SUMMARY, LineKind.TOTAL),
    )
)
_WARNING = re.compile(r"^\[\d+ \d+:\d+:\d+ [^\]]*\]\[WARN\] ?(.+)$", re.MULTILINE)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """One timed iteration."""

    whole_ms: float
    """End to end."""
    host_ms: float | None
    """Until the host had submitted all work (``host``, in older dialects ``exec``)."""
    device_ms: float | None
    """Time on the device; only the oldest dialect logs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLog:
    """A parsed log; lists are in the order of the log."""

    engine_version: str
    load_ms: float | None
    prepare_ms: tuple[float, ...]
    warmup_ms: tuple[float, ...]
    iterations: tuple[Iteration, ...]
    summaries: tuple[Summary, ...]
    """One for each test case."""
    total_ms: float | None
    warnings: tuple[str, ...]


def parse_log(text: str) -> RunLog:
    """Parse a log. Lines that are unknown or damaged are skipped, so any text is a log."""
    version = _VERSION.search(text)
    # The older program's line for a model without inputs has one time.
    alone = (Iteration(whole_ms=ms, host_ms=None, device_ms=None) for ms in _every(_RUN, text))
    return RunLog(
        engine_version=version["version"] if version else "",
        load_ms=next(_every(_LOAD, text), None),
        prepare_ms=tuple(_every(_PREPARE, text)),
        warmup_ms=tuple(_every(_WARMUP, text)),
        iterations=(*(_iteration(match) for match in _ITERATION.finditer(text)), *alone),
        summaries=tuple(make_summary(match) for match in _SUMMARY.finditer(text)),
        total_ms=next(_every(_TOTAL, text), None),
        warnings=tuple(match[1].rstrip() for match in _WARNING.finditer(text)),
    )


def _every(pattern: re.Pattern[str], text: str) -> Iterator[float]:
    return (float(match["ms"]) for match in pattern.finditer(text))


def _iteration(match: re.Match[str]) -> Iteration:
    device = match["device"]
    return Iteration(
        whole_ms=float(match["e2e"] or match["whole"]),
        host_ms=float(match["host"] or match["exec"]),
        device_ms=float(device) if device else None,
    )


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
