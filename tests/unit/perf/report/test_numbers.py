"""The numbers that tables and pictures share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.experiments.contest import PerformanceStatus
from megtrim.perf.report.numbers import (
    direction,
    milliseconds,
    ratio_with_interval,
    time_with_interval,
    urgency,
)
from megtrim.perf.times import Answer
from unit.verdict.performance_examples import ratio, row, skipped, times


@pytest.mark.parametrize(
    ("time_ms", "shown"),
    [(0.0, "0.000"), (5.2131, "5.213"), (28.54, "28.54"), (120.06, "120.1"), (1821.5, "1,822")],
)
def test_four_digits_count(time_ms: float, shown: str) -> None:
    """Whatever the size of a time."""
    assert milliseconds(time_ms) == shown


def test_an_interval_may_have_no_upper_end() -> None:
    """Few pairs bound a time or a ratio from below alone."""
    time, change = times(4.0)[-1], ratio(0.5)

    assert time_with_interval(replace(time, upper_ms=None)).endswith(" or more)")
    assert ratio_with_interval(change) == "0.500 (0.480 to 0.520)"
    assert ratio_with_interval(replace(change, upper=None)) == "0.500 (0.480 or more)"


@pytest.mark.parametrize(
    ("different", "value", "word"),
    [
        (Answer.YES, 0.5, "faster"),
        (Answer.YES, 1.5, "slower"),
        (Answer.NO, 0.5, "no difference"),
        (Answer.INCONCLUSIVE, 0.5, "unproven"),
    ],
)
def test_only_a_difference_has_a_direction(different: Answer, value: float, word: str) -> None:
    """A ratio by itself is none."""
    assert direction(replace(ratio(value), different=different)) == word


def test_what_needs_a_person_comes_first() -> None:
    """All rows that are in order keep their places."""
    wrong = skipped("a", PerformanceStatus.WRONG_OUTPUTS, "other outputs")
    failed = skipped("b", PerformanceStatus.FAILED, "it crashed")
    absent = skipped("c", PerformanceStatus.SKIPPED, "needs a GPU")

    assert urgency(wrong) < urgency(failed) < urgency(absent) == urgency(row())
