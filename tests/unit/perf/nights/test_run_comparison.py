"""Two runs of the history, row by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.experiments.contest import PerformanceStatus
from megtrim.experiments.experiment import TimeStage
from megtrim.perf.nights.history import combine, compare_runs
from megtrim.perf.times import StageTime
from support.history_entries import make_lost_row, make_row, make_run


def make_times(lower_ms: float, median_ms: float, upper_ms: float) -> StageTime:
    """Return the figures of a row."""
    return StageTime(
        stage=TimeStage.INFERENCE,
        processes=9,
        lower_ms=lower_ms,
        median_ms=median_ms,
        upper_ms=upper_ms,
        spread=0.0,
    )


def test_the_ratio_is_the_second_over_the_first() -> None:
    """Its interval is wider than either, and a row that differs says so."""
    (found,) = compare_runs([make_run(0, [make_row(40)])], [make_run(1, [make_row(42)])]).ratios

    assert found.ratio == pytest.approx(1.05)
    assert found.lower == pytest.approx(1.05 * (1 - 0.01 * 2**0.5), rel=1e-3)
    assert found.upper == pytest.approx(1.05 * (1 + 0.01 * 2**0.5), rel=1e-3)
    assert found.differs


def test_the_interval_holds_the_true_ratio_as_often_as_those_of_the_runs() -> None:
    """19 of 20, for intervals of 95 % of medians that are normal on the logarithmic scale."""
    draw = np.random.default_rng(8)
    held = 0
    for _ in range(2000):
        sigmas = (0.01, 0.03)
        centres = [float(np.exp(sigma * draw.standard_normal())) for sigma in sigmas]
        before, after = (
            make_times(c * np.exp(-1.96 * s), c, c * np.exp(1.96 * s))
            for c, s in zip(centres, sigmas, strict=True)
        )
        low, _, high = combine(before, after)
        held += low <= 1 <= high
    assert 0.935 <= held / 2000 <= 0.965


def test_a_lopsided_interval_leans_the_same_way() -> None:
    """Where only the second can be slower than it seems, only a higher ratio is likely."""
    low, ratio, high = combine(make_times(10, 10, 10), make_times(10, 10, 13))

    assert (low, ratio, high) == pytest.approx((1.0, 1.0, 1.3))


@given(*[st.floats(0.1, 1e6)] * 2, *[st.floats(0.0, 0.9)] * 4)
def test_the_other_way_round_is_the_reciprocal(
    first: float, second: float, a: float, b: float, c: float, d: float
) -> None:
    """No side is special."""
    before = make_times(first * (1 - a), first, first * (1 + b))
    after = make_times(second * (1 - c), second, second * (1 + d))

    low, ratio, high = combine(before, after)

    assert low <= ratio * (1 + 1e-9)
    assert ratio <= high * (1 + 1e-9)
    back = combine(after, before)
    assert back == pytest.approx((1 / high, 1 / ratio, 1 / low))


def test_rows_of_two_devices_are_not_compared() -> None:
    """Each is listed with the side that has it."""
    found = compare_runs([make_run(0, device="a")], [make_run(1, device="b")])

    assert found.ratios == ()
    assert [each.rpartition(": ")[2] for each in found.unpaired] == [
        "only in the first",
        "only in the second",
    ]


def test_two_ways_of_measuring_are_not_compared() -> None:
    """The ratio would be that of the methods."""
    found = compare_runs([make_run(0)], [make_run(1, method=2)])

    assert found.ratios == ()
    assert "measured in two ways" in found.unpaired[0]


def test_a_row_that_failed_is_listed_with_its_reason() -> None:
    """It is not silently absent."""
    lost = make_run(1, [make_lost_row(PerformanceStatus.FAILED, "device lost")])

    assert compare_runs([make_run(0)], [lost]).unpaired == (
        "mobilenet/plain-run@armv82 reduced inference on pixel-6: failed: device lost",
    )


def test_the_newest_run_of_a_side_counts() -> None:
    """Whatever the order in which they are given."""
    side = [make_run(5, [make_row(50)]), make_run(2, [make_row(20)])]

    (found,) = compare_runs([make_run(0, [make_row(25)])], side).ratios

    assert found.ratio == pytest.approx(2.0)


def test_another_engine_is_noted() -> None:
    """It may be the reason for a difference."""
    (found,) = compare_runs([make_run(0)], [make_run(1, engine="f")]).ratios

    assert found.note == "another engine"
