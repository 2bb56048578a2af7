"""Which line may follow which in the log of one process, and what its times add up to.

    from 1.7 on   load, then for each warm-up: prepare, warm-up; then for each test: its
                  iterations, summary; total
    up to 1.6     load, tests announced, prepare, warm-ups, then for each test: announced, its
                  iterations, summary; total. With --input: no announcement of tests, one test, no
                  total. A model without inputs: one test of its own kind, which ends with an
                  average.

Pure.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from megtrim.load_and_run.timing_logs import agreement
from megtrim.load_and_run.timing_logs.iterations import Integers, IterationRun
from megtrim.load_and_run.timing_logs.lines import LineKind, LogDialect, Summary, make_summary
from megtrim.load_and_run.timing_logs.timing_log import DamagedLog, TimedTest, TimingLog

_MOST_ITERATIONS = 20_000_000
"""Of all tests: their times are kept in memory."""
ONE_PROCESS = "the log of one process"


@dataclass(slots=True, kw_only=True)
class _Test:
    """A test that is being read."""

    count: int
    bare: bool = False
    """It is of a model without inputs, up to 1.6."""
    taken: int = 0
    whole_us: list[Integers] = field(default_factory=list)
    host_us: list[Integers] = field(default_factory=list)
    device_us: list[Integers] = field(default_factory=list)


class LogOrder:
    """Takes the lines of a log one after another. Raises DamagedLog for one that cannot follow."""

    def __init__(self, source: str, *, iterations: int | None, warmups: int | None) -> None:
        self._source = source
        self._iterations = iterations
        self._warmups = warmups
        self._line = 0
        self._version = ""
        self._old: bool | None = None
        """Whether the program is one up to 1.6; None: nothing has shown it yet."""
        self._dialect: LogDialect | None = None
        self._load_ms: float | None = None
        self._announced: int | None = None
        self._prepare_ms: list[float] = []
        self._warmup_ms: list[float] = []
        self._tests: list[TimedTest] = []
        self._test: _Test | None = None
        self._with_total = True
        self._total_ms: float | None = None
        self._ended = False

    def take(self, kind: LineKind, match: re.Match[bytes], line: int) -> None:
        """Take any line but an iteration."""
        self._line = line
        match kind:
            case LineKind.VERSION:
                self._take_version(match)
            case LineKind.LOAD:
                self._take_load(match)
            case LineKind.TESTS:
                self._take_announcement(match)
            case LineKind.PREPARE:
                self._take_preparation(match)
            case LineKind.WARMUP:
                self._take_warmup(match)
            case LineKind.TEST | LineKind.BARE:
                self._take_test(match, bare=kind is LineKind.BARE)
            case LineKind.RUN:
                self._take_bare_run(match)
            case LineKind.SUMMARY:
                self._take_summary(match)
            case LineKind.AVERAGE:
                self._take_average(match)
            case _:
                self._take_total(match)

    def take_run(self, run: IterationRun, lines: Integers) -> None:
        """Take iterations; ``lines`` are their numbers in the log."""
        self._line = int(lines[0])
        found = f"iter {run.numbers[0]}/{run.count}"
        if self._test is None:
            self._open_new_test(found, run.count, run.dialect)
        test = self._test
        old = run.dialect is LogDialect.SDK
        # The dialect of a model without inputs is not that of its iterations.
        if test is None or test.bare or old is not self._old:
            self._refuse(found)
        self._expect_dialect(run.dialect, found)
        right = test.taken + np.arange(len(run))
        wrong = np.flatnonzero(
            (run.numbers != right) | (right >= test.count) | (run.count != test.count)
        )
        fitting = int(wrong[0]) if len(wrong) else len(run)
        self._take_times(test, run, fitting)
        if fitting < len(run):
            self._line = int(lines[fitting])
            self._refuse(f"iter {run.numbers[fitting]}/{run.count}")

    def finish(self, line: int) -> TimingLog:
        """Return the times; ``line`` is the last one. Raises DamagedLog for a log that is cut."""
        self._line = line
        if not self._ended or self._dialect is None or self._load_ms is None:
            self._refuse("the end of the log")
        return TimingLog(
            dialect=self._dialect,
            engine_version=self._version,
            load_ms=self._load_ms,
            prepare_ms=tuple(self._prepare_ms),
            warmup_ms=tuple(self._warmup_ms),
            tests=tuple(self._tests),
            total_ms=self._total_ms,
        )

    def _take_version(self, match: re.Match[bytes]) -> None:
        if self._version:
            self._refuse("a second version of the engine", ONE_PROCESS)
        self._version = match["version"].decode()

    def _take_load(self, match: re.Match[bytes]) -> None:
        if self._load_ms is not None:
            self._refuse("a second load model", ONE_PROCESS)
        self._load_ms = float(match["ms"])

    def _take_announcement(self, match: re.Match[bytes]) -> None:
        at_its_place = self._load_ms is not None and not self._prepare_ms
        if self._announced is not None or not at_its_place:
            self._refuse("=== going to run … testcases")
        self._announced, self._old = int(match["count"]), True

    def _take_preparation(self, match: re.Match[bytes]) -> None:
        even = len(self._prepare_ms) == len(self._warmup_ms)
        later = bool(self._prepare_ms) and self._old is not False
        if self._load_ms is None or not even or later or not self._before_tests:
            self._refuse("=== prepare")
        self._prepare_ms.append(float(match["ms"]))

    def _take_warmup(self, match: re.Match[bytes]) -> None:
        number, old = int(match["number"]), match["space"] is None
        found = f"{'warmup' if old else 'warm up'} {number}"
        prepared = len(self._prepare_ms) == (1 if old else number + 1)
        if self._old is not None and self._old is not old:
            self._refuse(found)
        if number != len(self._warmup_ms) or not prepared or not self._before_tests:
            self._refuse(found)
        self._old = old
        self._warmup_ms.append(float(match["ms"]))

    def _take_test(self, match: re.Match[bytes], *, bare: bool) -> None:
        """Take the line that announces one test, up to 1.6."""
        name = None if bare else match["number"]
        cased = self._announced is not None
        found = "=== going to run … times"
        ready = bool(self._prepare_ms) and self._test is None and not self._ended
        if not ready or self._old is False or cased is not (name is not None):
            self._refuse(found)
        if name is not None and not int(name) == len(self._tests) < (self._announced or 0):
            self._refuse(f"=== going to run test #{int(name)}")
        self._old, self._with_total = True, cased
        self._open(int(match["count"]), found, bare=bare)

    def _open_new_test(self, found: str, count: int, dialect: LogDialect) -> None:
        """Begin a test that nothing announces, as from 1.7 on."""
        unpaired = len(self._prepare_ms) != len(self._warmup_ms)
        old = dialect is LogDialect.SDK or self._old is True
        if self._load_ms is None or old or unpaired or self._ended:
            self._refuse(found)
        self._old = False
        self._open(count, found)

    def _open(self, count: int, found: str, *, bare: bool = False) -> None:
        if self._warmups not in (None, len(self._warmup_ms)):
            asked = f"{self._warmups} warm-ups in front, not {len(self._warmup_ms)}"
            self._refuse(found, asked)
        if self._iterations not in (None, count) or not 0 < count <= _MOST_ITERATIONS:
            wanted = self._iterations or f"1 to {_MOST_ITERATIONS}"
            self._refuse(f"{count} iterations", f"{wanted}")
        self._test = _Test(count=count, bare=bare)

    def _take_times(self, test: _Test, run: IterationRun, count: int) -> None:
        test.taken += count
        test.whole_us.append(run.whole_us[:count])
        test.host_us.append(run.host_us[:count])
        if run.device_us is not None:
            test.device_us.append(run.device_us[:count])

    def _take_bare_run(self, match: re.Match[bytes]) -> None:
        number, test = int(match["number"]), self._test
        if test is None or not test.bare or number != test.taken or number >= test.count:
            self._refuse(f"=== finished run #{number}")
        test.taken += 1
        test.whole_us.append(np.array([_microseconds(match["ms"])]))

    def _take_summary(self, match: re.Match[bytes]) -> None:
        number, test = int(match["number"]), self._test
        complete = test is not None and not test.bare and test.taken == test.count
        if test is None or not complete or number != len(self._tests):
            self._refuse(f"=== finished test #{number}")
        summary, whole_us = make_summary(match), np.concatenate(test.whole_us)
        if other := agreement.find_disagreement(whole_us, summary):
            self._refuse(other, "a summary that agrees")
        self._close(test, whole_us, summary.average_ms, summary)
        self._ended = not self._with_total

    def _take_average(self, match: re.Match[bytes]) -> None:
        test = self._test
        if test is None or not test.bare or test.taken != test.count:
            self._refuse("avg time")
        whole_us, average_ms = np.concatenate(test.whole_us), float(match["ms"])
        if not agreement.is_average(average_ms, whole_us):
            found = f"avg time: {average_ms:.3f}ms"
            self._refuse(found, f"at least the {whole_us.mean() / 1000:.3f} of the runs")
        self._expect_dialect(LogDialect.SDK, "avg time")
        self._close(test, whole_us, average_ms, None)
        self._ended = True

    def _close(
        self, test: _Test, whole_us: Integers, average_ms: float, summary: Summary | None
    ) -> None:
        timed = TimedTest(
            whole_ms=_milliseconds([whole_us]),
            host_ms=_milliseconds(test.host_us),
            device_ms=_milliseconds(test.device_us),
            average_ms=average_ms,
            summary=summary,
        )
        self._tests.append(timed)
        self._test = None

    def _take_total(self, match: re.Match[bytes]) -> None:
        summaries = [each.summary for each in self._tests if each.summary is not None]
        complete = self._announced in (None, len(self._tests)) and bool(summaries)
        if self._test is not None or not complete or self._ended:
            self._refuse("=== total time")
        self._total_ms = float(match["ms"])
        if not agreement.is_total(self._total_ms, summaries):
            self._refuse(f"a total time of {self._total_ms:.3f} ms", "the sum of all tests")
        self._ended = True

    @property
    def _before_tests(self) -> bool:
        return self._test is None and not self._tests

    def _expect_dialect(self, dialect: LogDialect, found: str) -> None:
        if self._dialect not in (None, dialect):
            self._refuse(f"{found} as {dialect} writes it", f"lines as {self._dialect}")
        self._dialect = dialect

    def _refuse(self, found: str, expected: str = "") -> NoReturn:
        raise DamagedLog(self._source, self._line, found, expected or self._describe_next())

    def _describe_next(self) -> str:
        """Return the line that should come next."""
        if self._ended:
            return "no more times after the end"
        if self._load_ms is None:
            return "load model"
        if self._test is not None:
            return self._describe_next_in(self._test)
        if self._tests:
            more = self._old and self._announced != len(self._tests)
            return f"=== going to run test #{len(self._tests)}" if more else "=== total time"
        warmups = len(self._warmup_ms)
        if not self._prepare_ms or (self._old is False and len(self._prepare_ms) == warmups):
            return "=== prepare, or iter 0" if self._prepare_ms else "=== prepare"
        if self._old:
            return f"warmup {warmups}, or === going to run … times"
        return f"warm up {warmups}"

    def _describe_next_in(self, test: _Test) -> str:
        if test.taken < test.count:
            name = "=== finished run #" if test.bare else "iter "
            return f"{name}{test.taken}" + ("" if test.bare else f"/{test.count}")
        return "avg time" if test.bare else f"=== finished test #{len(self._tests)}"


def _microseconds(text: bytes) -> int:
    return int(text.replace(b".", b""))


def _milliseconds(times_us: list[Integers]) -> array[float]:
    found = array("d")
    for each in times_us:
        found.frombytes((each / 1000).data.cast("B"))
    return found
