"""The times in the log of one process of ``load_and_run``, in the dialects of all releases.

Read at v1.0.0 to v1.6.0, v1.7.0 to v1.13.4; from 1.11 on lines have a prefix. Times are ms.
"""

import math
import re
from collections.abc import Mapping
from enum import StrEnum

from megtrim.libs.programs.timing_log import DamagedLog, TimingLog

_PREFIX = r"(?:\[\d+ \d+:\d+:\d+ [^\]\n]*\] ?)?"
_MS = r"\d{1,12}\.\d{3}"
_COUNT = r"\d{1,8}"
_SHOWN = 60
_ROUNDING_MS = 0.000501
"""Half of the last decimal; a little more, for numbers that are not exact in binary."""


class _Line(StrEnum):
    LOAD = "load model"
    TESTS = "=== going to run … testcases"
    PREPARE = "=== prepare"
    WARM_UP = "warm up"
    WARMUP = "warmup"
    CASE = "=== going to run test #…"
    INPUT = "=== going to run input"
    BARE = "=== going to run for … times"
    SDK = "iter … (exec=…,device=…)"
    EXEC = "iter … (exec=…)"
    E2E = "iter … e2e=…"
    BARE_RUN = "=== finished run"
    SUMMARY = "=== finished test"
    AVERAGE = "avg time"
    TOTAL = "=== total time"


_ITERATION = rf"iter (?P<number>{_COUNT})/(?P<count>{_COUNT}): "
_PATTERNS: Mapping[_Line, str] = {
    _Line.LOAD: rf"load model: {_MS}ms",
    _Line.TESTS: rf"=== going to run (?P<count>{_COUNT}) testcases; output vars: .*",
    _Line.PREPARE: rf"=== prepare: (?P<ms>{_MS})ms; going to warmup",
    _Line.WARM_UP: rf"warm up (?P<number>{_COUNT})  (?P<ms>{_MS})ms",
    _Line.WARMUP: rf"warmup (?P<number>{_COUNT}): (?P<ms>{_MS})ms",
    _Line.CASE: rf"=== going to run test #(?P<number>{_COUNT}) for (?P<count>{_COUNT}) times",
    _Line.INPUT: rf"=== going to run input for (?P<count>{_COUNT}) times",
    _Line.BARE: rf"=== going to run for (?P<count>{_COUNT}) times; output vars: .*",
    _Line.SDK: rf"{_ITERATION}(?P<ms>{_MS})ms \(exec={_MS},device={_MS}\)",
    _Line.EXEC: rf"{_ITERATION}(?P<ms>{_MS}) ?ms \(exec={_MS} ?ms\)",
    _Line.E2E: rf"{_ITERATION}e2e=(?P<ms>{_MS}) ms \(host={_MS} ms\)",
    _Line.BARE_RUN: rf"=== finished run #(?P<number>{_COUNT}): time=(?P<ms>{_MS})ms",
    _Line.SUMMARY: (
        rf"=== finished test #(?P<number>{_COUNT}): time=(?P<ms>{_MS}) ?ms "
        rf"avg_time={_MS} ?ms (?:standard_deviation|sd|sexec)=(?:{_MS}|-?nan|inf) ?ms "
        rf"(?:min={_MS} ?ms max={_MS} ?ms|minmax={_MS},{_MS})"
    ),
    _Line.AVERAGE: rf"avg time: {_MS}ms",
    _Line.TOTAL: rf"=== total time: (?P<ms>{_MS})ms",
}
_COMPILED = {line: re.compile(f"{_PREFIX}{text} *", re.ASCII) for line, text in _PATTERNS.items()}
_WITH_TIMES = re.compile(
    rf"{_PREFIX}(?:load model|=== |warm ?up\b|iter \d|avg time|config model time|run iter \d)",
    re.ASCII,
)
"""Also those of ``--fitting``; what begins so and is none of the lines above is damage."""
_OF_PROGRAM = re.compile(r"^(?:\[\d+ \d+:\d+:\d+ |(?:mgb load-and-run: )?using MegBrain)", re.M)

_RUNS = (_Line.SDK, _Line.EXEC, _Line.E2E, _Line.BARE_RUN)
_NEXT: Mapping[_Line | None, tuple[_Line, ...]] = {
    None: (_Line.LOAD,),
    _Line.LOAD: (_Line.TESTS, _Line.PREPARE, _Line.EXEC, _Line.E2E),
    _Line.TESTS: (_Line.PREPARE,),
    _Line.PREPARE: (_Line.WARM_UP, _Line.WARMUP, _Line.CASE, _Line.INPUT, _Line.BARE),
    _Line.WARM_UP: (_Line.PREPARE, _Line.EXEC, _Line.E2E),
    _Line.WARMUP: (_Line.WARMUP, _Line.CASE, _Line.INPUT, _Line.BARE),
    _Line.CASE: (_Line.SDK,),
    _Line.INPUT: (_Line.SDK,),
    _Line.BARE: (_Line.BARE_RUN,),
    _Line.SDK: (_Line.SDK, _Line.SUMMARY),
    _Line.EXEC: (_Line.EXEC, _Line.SUMMARY),
    _Line.E2E: (_Line.E2E, _Line.SUMMARY),
    _Line.BARE_RUN: (_Line.BARE_RUN, _Line.AVERAGE),
    _Line.SUMMARY: (_Line.CASE, _Line.EXEC, _Line.E2E, _Line.TOTAL),
    _Line.AVERAGE: (),
    _Line.TOTAL: (),
}
"""Which line may follow which. From 1.7 on each warm-up is prepared, up to 1.6 all are at once;
a single test with ``--input``, up to 1.6, ends with its summary, and a model without inputs with
an average."""


def read_timing_log(text: str, *, source: str, iterations: int, warmups: int) -> TimingLog | None:
    """``iterations`` (of each test) and ``warmups`` are the numbers that were asked for. None:
    the program printed nothing of its own, as a minimum-size build does from 1.7 on; whether it
    succeeded is for its exit status to say. Raises DamagedLog.
    """
    reader = _Reader(source, iterations, warmups)
    number = 0
    for number, line in enumerate(text.split("\n"), 1):
        reader.take(number, line.rstrip("\r"))
    if reader.previous is None and not _OF_PROGRAM.search(text):
        return None
    return reader.finish(number)


class _Reader:
    def __init__(self, source: str, iterations: int, warmups: int) -> None:
        self.previous: _Line | None = None
        self._source = source
        self._iterations = iterations
        self._warmups = warmups
        self._log = TimingLog()
        self._tests = 0
        self._announced: int | None = None
        self._of_test: list[float] = []
        self._ends_with_summary = False

    def take(self, number: int, text: str) -> None:
        if not _WITH_TIMES.match(text):
            return
        matches = ((line, pattern.fullmatch(text)) for line, pattern in _COMPILED.items())
        line, match = next((each for each in matches if each[1]), (None, None))
        if line is None or match is None:
            shown = f"the line {text[:_SHOWN]!r}"
            raise DamagedLog(self._source, number, shown, "times as load_and_run logs them")
        if line not in self._following() or not self._fits(line, match.groupdict()):
            raise DamagedLog(self._source, number, repr(text[:_SHOWN]), self._describe_next())
        self._add(line, match.groupdict())
        self.previous = line

    def finish(self, number: int) -> TimingLog:
        if self._following():
            raise DamagedLog(self._source, number, "the end of the log", self._describe_next())
        return self._log

    def _following(self) -> tuple[_Line, ...]:
        ends = self.previous is _Line.SUMMARY and self._ends_with_summary
        return () if ends else _NEXT[self.previous]

    def _fits(self, line: _Line, values: Mapping[str, str]) -> bool:
        number = int(values.get("number") or 0)
        count = int(values.get("count") or 0)
        done = len(self._of_test)
        complete = done == self._iterations
        asked = count == self._iterations and len(self._log.warmups_ms) == self._warmups
        match line:
            case _Line.WARM_UP | _Line.WARMUP:
                return number == len(self._log.warmups_ms)
            case _Line.CASE | _Line.INPUT | _Line.BARE:
                case = line is not _Line.CASE or number == self._tests
                # Only a model with test cases announces them.
                announced = (self._announced is not None) is (line is _Line.CASE)
                return case and announced and asked
            case _Line.BARE_RUN:
                return number == done and not complete
            case _Line.SDK | _Line.EXEC | _Line.E2E:
                return number == done and not complete and asked
            case _Line.SUMMARY:
                # The program's own sum is of unrounded times.
                allowed = _ROUNDING_MS * (done + 1)
                total = math.fsum(self._of_test)
                sum_ms = float(values["ms"])
                fits = math.isclose(sum_ms, total, abs_tol=allowed, rel_tol=1e-12)
                return complete and number == self._tests and fits
            case _Line.AVERAGE:
                return complete
            case _Line.TOTAL:
                return self._announced in (None, self._tests)
            case _:
                return True

    def _add(self, line: _Line, values: Mapping[str, str]) -> None:
        if line is _Line.TESTS:
            self._announced = int(values["count"])
        elif line is _Line.PREPARE:
            self._log.prepare_ms.append(float(values["ms"]))
        elif line in (_Line.WARM_UP, _Line.WARMUP):
            self._log.warmups_ms.append(float(values["ms"]))
        elif line is _Line.INPUT:
            self._ends_with_summary = True
        elif line in _RUNS:
            self._of_test.append(float(values["ms"]))
        elif line in (_Line.SUMMARY, _Line.AVERAGE):
            self._log.iterations_ms += self._of_test
            self._of_test = []
            self._tests += 1

    def _describe_next(self) -> str:
        counts = f"{self._warmups} warm-ups, {self._iterations} iterations"
        following = " or ".join(self._following()) or "no more times after the end"
        return f"{following} ({counts} in a test; {len(self._of_test)} so far)"
