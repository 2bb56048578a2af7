"""The program's summary against its iterations: every correct one passes, others are named."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.load_and_run.timing_logs.agreement import find_disagreement, is_average, is_total
from megtrim.load_and_run.timing_logs.lines import Summary


def summarise(times: list[float], denominator: int | None = None) -> Summary:
    """Return what the program prints, by its own formulas."""
    count, total, squares = len(times), 0.0, 0.0
    for each in times:
        total += each
        squares += each * each
    above = squares * count - total * total
    below = count * (count - 1) if denominator is None else denominator
    deviation = math.sqrt(above / below) if below and above / below >= 0 else math.nan
    values = total, total / count, deviation, min(times), max(times)
    printed = [float(f"{each:.3f}") for each in values]
    return Summary(
        total_ms=printed[0],
        average_ms=printed[1],
        deviation_ms=printed[2],
        minimum_ms=printed[3],
        maximum_ms=printed[4],
    )


def microseconds(times: list[float]) -> np.ndarray:
    return np.array([round(float(f"{each:.3f}") * 1000) for each in times])


@given(st.lists(st.floats(0.0005, 1e6), min_size=1, max_size=200))
def test_every_correct_summary_agrees(times: list[float]) -> None:
    """Whatever the times are: rounding is no disagreement."""
    assert find_disagreement(microseconds(times), summarise(times)) is None


@given(st.floats(0.0005, 1e6), st.integers(2, 3000))
def test_equal_times_may_have_no_deviation(time: float, count: int) -> None:
    """What is left of the difference can be negative, or more than nothing."""
    assert find_disagreement(microseconds([time] * count), summarise([time] * count)) is None


@pytest.mark.parametrize("kept", [lambda low: low, lambda low: low - 2**32])
def test_a_denominator_of_32_bits(kept: Callable[[int], int]) -> None:
    """It wraps in 32-bit programs; the deviation is then that of the wrapped one."""
    times = [10.0, 12.0] * 50_000
    low = 100_000 * 99_999 % 2**32

    assert find_disagreement(microseconds(times), summarise(times, kept(low))) is None


def test_a_deviation_without_a_reason() -> None:
    """Times that clearly differ have one."""
    times = [10.0, 12.0, 14.0]
    right = summarise(times)
    for wrong in (math.nan, math.inf, 0.0, 1.99, 2.01):
        changed = Summary(
            total_ms=right.total_ms,
            average_ms=right.average_ms,
            deviation_ms=wrong,
            minimum_ms=right.minimum_ms,
            maximum_ms=right.maximum_ms,
        )
        assert "a standard deviation" in (find_disagreement(microseconds(times), changed) or "")


def test_average_with_printing() -> None:
    """It may be more than that of the runs, never less."""
    assert is_average(12.0, microseconds([11.0, 12.0]))
    assert not is_average(11.49, microseconds([11.0, 12.0]))


def test_total_of_several_tests() -> None:
    """The sum of their times, within rounding."""
    both = [summarise([1.0004, 2.0004]), summarise([3.0004])]
    assert is_total(6.001, both)
    assert not is_total(6.004, both)
