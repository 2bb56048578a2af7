"""The lines of a log that hold times, in all dialects of ``load_and_run``.

Read in the engine's history, at the tags v1.0.0 to v1.6.0 (``sdk/load-and-run``) and v1.7.0 to
v1.13.4 (``lite/load_and_run``). From 1.11 on, lines begin with a prefix of day, time and source
line. Times are milliseconds with three decimals. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

PREFIX = r"(?:\[\d+ \d+:\d+:\d+ [^\]\n]*\] ?)?"
_MS = r"\d{1,12}\.\d{3}"
_COUNT = r"\d{1,8}"


class LogDialect(StrEnum):
    """How a release spells its lines."""

    SDK = "up to 1.6"
    """``exec`` and ``device``; one line of preparation, whatever the number of warm-ups."""
    EXEC = "1.7 to 1.9"
    """``exec`` alone; a line of preparation for each warm-up."""
    E2E = "from 1.10 on"
    """``e2e`` and ``host``; a line of preparation for each warm-up."""


class LineKind(StrEnum):
    """The lines with times, each by the text that messages show."""

    VERSION = "using MegBrain …"
    LOAD = "load model: …ms"
    TESTS = "=== going to run … testcases"
    PREPARE = "=== prepare: …ms"
    WARMUP = "warm up …"
    TEST = "=== going to run … for … times"
    BARE = "=== going to run for … times"
    """A model without inputs, up to 1.6."""
    ITERATION = "iter …"
    RUN = "=== finished run #…"
    """An iteration of a model without inputs, up to 1.6."""
    SUMMARY = "=== finished test #…"
    AVERAGE = "avg time: …ms"
    """The whole summary of a model without inputs, up to 1.6."""
    TOTAL = "=== total time: …ms"


LINES: Mapping[LineKind, str] = {
    LineKind.VERSION: (
        r"(?:mgb load-and-run: )?using MegBrain (?:MegBrain )?"
        r"(?P<version>[0-9][^\s(]{0,40})\(\d+\) and MegDNN \S+"
    ),
    LineKind.LOAD: rf"load model: (?P<ms>{_MS})ms",
    LineKind.TESTS: rf"=== going to run (?P<count>{_COUNT}) testcases; output vars: .*",
    LineKind.PREPARE: rf"=== prepare: (?P<ms>{_MS})ms; going to warmup",
    LineKind.WARMUP: rf"warm(?P<space> )?up (?P<number>{_COUNT})(?(space)  |: )(?P<ms>{_MS})ms",
    LineKind.TEST: (
        rf"=== going to run (?:test #(?P<number>{_COUNT})|input) for (?P<count>{_COUNT}) times"
    ),
    LineKind.BARE: rf"=== going to run for (?P<count>{_COUNT}) times; output vars: .*",
    LineKind.ITERATION: (
        rf"iter (?P<number>{_COUNT})/(?P<count>{_COUNT}): (?:"
        rf"e2e=(?P<e2e>{_MS}) ms \(host=(?P<host>{_MS}) ms\)"
        rf"|(?P<whole>{_MS}) ?ms \(exec=(?P<exec>{_MS})(?: ?ms|,device=(?P<device>{_MS}))\))"
    ),
    LineKind.RUN: rf"=== finished run #(?P<number>{_COUNT}): time=(?P<ms>{_MS})ms",
    LineKind.SUMMARY: (
        rf"=== finished test #(?P<number>{_COUNT}): "
        rf"time=(?P<total>{_MS}) ?ms avg_time=(?P<average>{_MS}) ?ms "
        rf"(?:standard_deviation|sd|sexec)=(?P<deviation>{_MS}|-?nan|inf) ?ms "
        rf"(?:min=(?P<low>{_MS}) ?ms max=(?P<high>{_MS}) ?ms"
        rf"|minmax=(?P<old_low>{_MS}),(?P<old_high>{_MS}))"
    ),
    LineKind.AVERAGE: rf"avg time: (?P<ms>{_MS})ms",
    LineKind.TOTAL: rf"=== total time: (?P<ms>{_MS})ms",
}
"""The text of each line behind its prefix."""

BEGINNINGS = r"(?:load model|=== |warm ?up\b|iter \d|avg time|using MegBrain|mgb load-and-run)"
"""How lines with times begin: what begins so and is none of ``LINES`` is damaged."""

OF_FITTING = r"(?:config model time|warm up \d+ time|run iter \d+ time|profile option:)"
"""Lines of ``--fitting``, which times many settings in one process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The program's own statistics of one test."""

    total_ms: float
    average_ms: float
    deviation_ms: float
    """Of the sample; not a number after a single iteration."""
    minimum_ms: float
    maximum_ms: float


def dialect_of(iteration: re.Match[str] | re.Match[bytes]) -> LogDialect:
    """Return the dialect of a line of the kind ``ITERATION``."""
    if iteration["e2e"] is not None:
        return LogDialect.E2E
    return LogDialect.EXEC if iteration["device"] is None else LogDialect.SDK


def make_summary(line: re.Match[str] | re.Match[bytes]) -> Summary:
    """Return the values of a line of the kind ``SUMMARY``."""
    low, high = line["low"] or line["old_low"], line["high"] or line["old_high"]
    return Summary(
        total_ms=float(line["total"]),
        average_ms=float(line["average"]),
        deviation_ms=float(line["deviation"]),
        minimum_ms=float(low),
        maximum_ms=float(high),
    )
