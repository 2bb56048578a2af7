"""Parses the log of ``load_and_run``: up to 1.6, from 1.7 to 1.9, and from 1.10 on.

A minimum-size build logs nothing, and an interrupted run logs only its beginning, so every field
may be missing. Times are in milliseconds, as logged. Pure: text in, values out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = r"(\d+(?:\.\d+)?|-?nan|inf)"
_PREFIX = r"^(?:\[\d+ \d+:\d+:\d+ [^\]]*\] ?)?"
_LOAD = re.compile(rf"{_PREFIX}load model: {_NUMBER}ms", re.MULTILINE)
_PREPARE = re.compile(rf"{_PREFIX}=== prepare: {_NUMBER}ms", re.MULTILINE)
_WARMUP = re.compile(rf"{_PREFIX}warm ?up \d+(?:: |  ){_NUMBER}ms", re.MULTILINE)
_ITERATION = re.compile(
    rf"{_PREFIX}iter \d+/\d+: (?:"
    rf"e2e={_NUMBER} ms \(host={_NUMBER} ms\)"
    rf"|{_NUMBER} ?ms \(exec={_NUMBER}(?: ?ms|,device={_NUMBER})\))"
    # The older program's line for a model without inputs.
    rf"|{_PREFIX}=== finished run #\d+: time={_NUMBER}ms",
    re.MULTILINE,
)
_SUMMARY = re.compile(
    rf"{_PREFIX}=== finished test #\d+: time={_NUMBER} ?ms avg_time={_NUMBER} ?ms "
    rf"(?:standard_deviation|sd|sexec)={_NUMBER} ?ms "
    rf"(?:min={_NUMBER} ?ms max={_NUMBER} ?ms|minmax={_NUMBER},{_NUMBER})",
    re.MULTILINE,
)
_TOTAL = re.compile(rf"{_PREFIX}=== total time: {_NUMBER}ms", re.MULTILINE)
_WARNING = re.compile(r"^\[\d+ \d+:\d+:\d+ [^\]]*\]\[WARN\] ?(.+)$", re.MULTILINE)
_VERSION = re.compile(r"using MegBrain (?:MegBrain )?([0-9][^\s(]*)")

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
class Summary:
    """The program's own statistics of one test."""

    total_ms: float
    average_ms: float
    deviation_ms: float
    """Not a number after a single iteration."""
    minimum_ms: float
    maximum_ms: float


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
    """Parse a log. Unknown lines are skipped, so any text is a log."""
    version = _VERSION.search(text)
    return RunLog(
        engine_version=version[1] if version else "",
        load_ms=_first(_LOAD, text),
        prepare_ms=tuple(float(match[1]) for match in _PREPARE.finditer(text)),
        warmup_ms=tuple(float(match[1]) for match in _WARMUP.finditer(text)),
        iterations=tuple(_iteration(match) for match in _ITERATION.finditer(text)),
        summaries=tuple(_summary(match) for match in _SUMMARY.finditer(text)),
        total_ms=_first(_TOTAL, text),
        warnings=tuple(match[1].rstrip() for match in _WARNING.finditer(text)),
    )


def _first(pattern: re.Pattern[str], text: str) -> float | None:
    match = pattern.search(text)
    return float(match[1]) if match else None


def _iteration(match: re.Match[str]) -> Iteration:
    whole, host, old_whole, execution, device, alone = match.groups()
    host = host or execution
    return Iteration(
        whole_ms=float(whole or old_whole or alone),
        host_ms=float(host) if host else None,
        device_ms=float(device) if device else None,
    )


def _summary(match: re.Match[str]) -> Summary:
    total, average, deviation, minimum, maximum, old_minimum, old_maximum = match.groups()
    return Summary(
        total_ms=float(total),
        average_ms=float(average),
        deviation_ms=float(deviation),
        minimum_ms=float(minimum or old_minimum),
        maximum_ms=float(maximum or old_maximum),
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
