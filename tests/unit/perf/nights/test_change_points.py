"""Change points in planted series; `benchmarks/change_points.py` prints the shares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megtrim.perf.nights.change_points import (
    FEWEST_NIGHTS,
    Direction,
    Findings,
    Pattern,
    find_changes,
)

NIGHTS = 120


def find(shape: np.ndarray[tuple[int, ...], np.dtype[np.float64]], seed: int = 3) -> Findings:
    noise = np.random.default_rng(seed).standard_normal(len(shape))
    return find_changes([float(each) for each in 40 * (1 + 0.01 * (shape + noise))])


def step(
    at: int, size: float, nights: int = NIGHTS
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.where(np.arange(nights) >= at, size, 0.0)


@pytest.mark.parametrize("at", [10, 60, 110])
@pytest.mark.parametrize("size", [4.0, -4.0])
def test_a_step_is_dated(at: int, size: float) -> None:
    found = find(step(at, size))

    (change,) = found.changes
    assert found.pattern is Pattern.CHANGED
    assert abs(change.first - at) <= 2
    assert change.direction is (Direction.SLOWER if size > 0 else Direction.FASTER)
    assert change.lower < 1 + 0.01 * size < change.upper


def test_the_range_holds_the_change_nearly_always() -> None:
    held = 0
    for seed in range(40):
        found = find(step(60, 3.0), seed)
        held += any(each.last_good < 60 <= each.first_bad for each in found.changes)

    assert held >= 36


def test_a_regression_that_is_repaired_is_two_changes() -> None:
    found = find(step(40, 4.0) - step(70, 4.0))

    assert [each.direction for each in found.changes] == [Direction.SLOWER, Direction.FASTER]
    assert all(abs(each.first - at) <= 2 for each, at in zip(found.changes, (40, 70), strict=True))


@pytest.mark.parametrize("seed", range(10))
def test_quiet_nights_are_quiet(seed: int) -> None:
    assert find(np.zeros(NIGHTS), seed) == Findings(pattern=Pattern.QUIET, nights=NIGHTS)


@pytest.mark.parametrize("at", [0, 1, 30, 60, 117, 118, 119])
@pytest.mark.parametrize("nights", [1, 2])
def test_one_or_two_bad_nights_are_not_flagged(at: int, nights: int) -> None:
    shape = np.zeros(NIGHTS)
    shape[at : at + nights] = 20.0

    assert find(shape).pattern is Pattern.QUIET


@pytest.mark.parametrize("size", [6.0, -6.0])
def test_a_drift_has_no_date(size: float) -> None:
    found = find(np.linspace(0.0, size, NIGHTS))

    assert (found.pattern, found.changes) == (Pattern.DRIFT, ())
    assert found.drift is (Direction.SLOWER if size > 0 else Direction.FASTER)
    assert found.drift_ratio == pytest.approx(1 + 0.01 * size, abs=0.015)


@pytest.mark.parametrize("nights", [0, 1, 7, FEWEST_NIGHTS - 1])
def test_the_first_nights_are_not_judged(nights: int) -> None:
    found = find(step(nights // 2, 50.0, nights))

    expected = Findings(pattern=Pattern.TOO_SHORT, nights=nights, missing=FEWEST_NIGHTS - nights)
    assert found == expected


def test_enough_history_is_judged() -> None:
    assert find(step(7, 10.0, FEWEST_NIGHTS)).pattern is Pattern.CHANGED


@pytest.mark.parametrize("nights", [FEWEST_NIGHTS, 15, 30, 365])
def test_times_that_never_vary_are_quiet(nights: int) -> None:
    assert find_changes([5.0] * nights).pattern is Pattern.QUIET


def test_a_step_without_noise_is_dated_exactly() -> None:
    (change,) = find_changes([5.0] * 20 + [6.0] * 20).changes

    assert (change.last_good, change.first_bad, change.first) == (19, 20, 20)
    assert change.ratio == pytest.approx(1.2)


@settings(max_examples=60)
@given(st.lists(st.floats(1e-3, 1e9), max_size=60))
def test_any_series_is_judged(times_ms: list[float]) -> None:
    found = find_changes(times_ms)

    places = [each.first for each in found.changes]
    assert places == sorted(set(places))
    for each in found.changes:
        assert 0 <= each.last_good < each.first <= each.first_bad < len(times_ms)
        assert each.lower <= each.ratio <= each.upper
    assert found == find_changes(times_ms)
