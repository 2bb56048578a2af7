"""What a whole log says of the times of one process. Pure values; times are in milliseconds."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from megtrim.errors import InputError
from megtrim.load_and_run.timing_logs.lines import LogDialect, Summary


class DamagedLog(InputError):
    """A log that is cut, mixed with another, or damaged: none of its times count."""

    def __init__(self, source: str, line: int, found: str, expected: str) -> None:
        super().__init__(
            f"{source}:{line}: found {found}, expected {expected}",
            hint="the log is cut, mixed or damaged: leave its times out",
        )


@dataclass(frozen=True, slots=True)
class NoTimes:
    """The program printed nothing, as a minimum-size build does from 1.7 on.

    Whether it succeeded is for its exit status to say.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedTest:
    """The iterations of one test, in the order of the log; arrays, for there can be millions."""

    whole_ms: array[float]
    """End to end, at least one."""
    host_ms: array[float]
    """Until the host had submitted all work (``host``, in older dialects ``exec``); empty for a
    model without inputs up to 1.6."""
    device_ms: array[float]
    """Time on the device; empty from 1.7 on."""
    average_ms: float
    """The program's own. Up to 1.6 that of a model without inputs includes its printing."""
    summary: Summary | None
    """The program's own; None for a model without inputs up to 1.6."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingLog:
    """All times of one process, which agree with the program's own summary."""

    dialect: LogDialect
    engine_version: str
    """Empty if the log does not name it."""
    load_ms: float
    prepare_ms: tuple[float, ...]
    """Up to 1.6 one; from 1.7 on one before each warm-up."""
    warmup_ms: tuple[float, ...]
    tests: tuple[TimedTest, ...]
    """At least one."""
    total_ms: float | None
    """Of all tests; up to 1.6 only models with test cases have it."""
