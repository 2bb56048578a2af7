"""Change points in planted series; `benchmarks/change_points.py` prints the shares."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megtrim.core.timing.spec import PerformanceStatus
from megtrim.times.nights.change_points import (
    FEWEST_NIGHTS,
    Direction,
    Findings,
    Pattern,
    find_changes,
    make_series,
)
from megtrim.times.nights.history import HistoryRun
from support.history_entries import make_lost_row, make_row, make_run

NIGHTS = 120
Shape = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def find(shape: Shape, seed: int = 3) -> Findings:
    noise = np.random.default_rng(seed).standard_normal(len(shape))
    return find_changes([float(each) for each in 40 * (1 + 0.01 * (shape + noise))])


def step(at: int, size: float, nights: int = NIGHTS) -> Shape:
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
    every = [find(step(60, 3.0), seed).changes for seed in range(40)]
    assert sum(any(c.last_good < 60 <= c.first_bad for c in changes) for changes in every) >= 36


def test_a_repaired_regression_is_two_changes_and_one_without_noise_dated_exactly() -> None:
    found = find(step(40, 4.0) - step(70, 4.0))

    assert [each.direction for each in found.changes] == [Direction.SLOWER, Direction.FASTER]
    assert all(abs(each.first - at) <= 2 for each, at in zip(found.changes, (40, 70), strict=True))
    (change,) = find_changes([5.0] * 20 + [6.0] * 20).changes

    assert (change.last_good, change.first_bad, change.first) == (19, 20, 20)
    assert change.ratio == pytest.approx(1.2)


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
def test_the_first_nights_are_not_judged_and_all_after_them(nights: int) -> None:
    found = find(step(nights // 2, 50.0, nights))

    expected = Findings(pattern=Pattern.TOO_SHORT, nights=nights, missing=FEWEST_NIGHTS - nights)
    assert found == expected
    assert find(step(7, 10.0, FEWEST_NIGHTS)).pattern is Pattern.CHANGED


@pytest.mark.parametrize("nights", [FEWEST_NIGHTS, 15, 30, 365])
def test_times_that_never_vary_are_quiet(nights: int) -> None:
    assert find_changes([5.0] * nights).pattern is Pattern.QUIET


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


def nights(count: int, *, slower_from: int = 10_000, new_from: int = 10_000) -> list[HistoryRun]:
    """Return runs whose times grow by a tenth with one night, and whose device changes with one."""
    noise = 0.005 * np.random.default_rng(5).standard_normal(count)
    rows = [make_row(40 * (1 + noise[n] + 0.1 * (n >= slower_from))) for n in range(count)]
    devices = ["new" if n >= new_from else "old" for n in range(count)]
    return [make_run(n, [rows[n]], device=devices[n]) for n in range(count)]


def test_a_change_lies_between_two_commits() -> None:
    (series,) = make_series(nights(60, slower_from=30)[::-1])

    (change,) = series.changes
    assert int(change.last_good.commit, 16) == 29
    assert int(change.first_bad.commit, 16) == 30
    assert change.first_bad.measured_at == "2026-01-31T02:00:00Z"


@pytest.mark.parametrize(
    ("runs", "follows"),
    [
        (nights(60, slower_from=30, new_from=30), "a new device"),
        (
            [make_run(n, [make_row(40 + n // 20 * 10)], method=1 + n // 20) for n in range(40)],
            "a new way of measuring",
        ),
    ],
)
def test_a_new_device_or_method_begins_a_series(runs: list[HistoryRun], follows: str) -> None:
    old, new = sorted(make_series(runs), key=lambda series: series.points[0].run)

    assert {each.findings.pattern for each in (old, new)} == {Pattern.QUIET}
    assert (old.follows, new.follows) == ("", follows)


def test_nights_without_times_are_no_points_and_few_no_history() -> None:
    runs = nights(30)
    runs[10] = make_run(10, [make_lost_row(PerformanceStatus.FAILED, "device lost")])
    runs[11] = make_run(11, [])

    (series,) = make_series(runs)

    assert len(series.points) == 28
    assert series.findings.pattern is Pattern.QUIET
    (series,) = make_series(nights(7, slower_from=4))

    assert (series.findings.pattern, series.findings.missing) == (Pattern.TOO_SHORT, 7)
    assert series.changes == ()
