"""The lines of a log that hold times, in each dialect."""

from __future__ import annotations

import re

import pytest

from megtrim.load_and_run.timing_logs.lines import (
    LINES,
    LineKind,
    LogDialect,
    dialect_of,
    make_summary,
)


@pytest.mark.parametrize(
    ("line", "dialect"),
    [
        ("iter 0/2: 10.000ms (exec=1.000,device=9.000)", LogDialect.SDK),
        ("iter 0/2: 10.000ms (exec=1.000ms)", LogDialect.EXEC),
        ("iter 0/2: e2e=10.000 ms (host=1.000 ms)", LogDialect.E2E),
    ],
)
def test_an_iteration_shows_its_dialect(line: str, dialect: LogDialect) -> None:
    """By the names of its times."""
    found = re.match(LINES[LineKind.ITERATION], line)

    assert found
    assert dialect_of(found) is dialect


def test_a_summary_has_five_values() -> None:
    """In the spelling of today's program."""
    line = (
        "=== finished test #0: time=22.000 ms avg_time=11.000 ms "
        "standard_deviation=1.414 ms min=10.000 ms max=12.000 ms"
    )
    found = re.match(LINES[LineKind.SUMMARY], line)

    assert found
    summary = make_summary(found)
    assert (summary.total_ms, summary.average_ms, summary.deviation_ms) == (22.0, 11.0, 1.414)
    assert (summary.minimum_ms, summary.maximum_ms) == (10.0, 12.0)
