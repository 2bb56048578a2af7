"""Series of nights, and the changes that their comparisons decided."""

from dataclasses import replace

import pytest

from megtrim.core.timing.spec import PerformanceStatus, TimeStage
from megtrim.core.timing.times import Answer, RatioResult, Reference
from megtrim.core.verdict.performance import status_of
from megtrim.times.nights.history import HistoryRun
from megtrim.times.nights.series import Direction, Series, make_series
from support.history_entries import make_lost_row, make_row, make_run

NO = Answer.NO
YES = Answer.YES
OPEN = Answer.INCONCLUSIVE


def ratio(value: float, base: int, exceeds: Answer = YES) -> RatioResult:
    return RatioResult(
        against=Reference.BASE,
        name=f"main at {base:012x}",
        stage=TimeStage.INFERENCE,
        ratio=value,
        lower=value * 0.99,
        upper=value * 1.01,
        pairs=40,
        different=exceeds,
        exceeds=exceeds,
    )


def compare(night: int, *ratios: RatioResult) -> HistoryRun:
    row = replace(make_row(), ratios=ratios, status=status_of(ratios))
    return make_run(night, [row])


def only(*runs: HistoryRun) -> Series:
    (series,) = make_series(runs)
    return series


@pytest.mark.parametrize(
    ("comparisons", "compared", "changed"),
    [
        ([], 0, []),
        ([None, (1.0, 0, NO), (1.01, 1, OPEN)], 1, []),
        ([None, (1.0, 0, NO), (1.1, 1, YES), (1.0, 2, NO)], 3, [(2, "slower")]),
        ([None, (0.9, 0, YES), (1.0, 1, NO)], 2, [(1, "faster")]),
        # While an issue is open, the base stays, and each night says the same.
        ([None, (1.1, 0, YES), (1.1, 0, YES), (1.1, 0, OPEN), (1.1, 0, YES)], 3, [(1, "slower")]),
        # It was repaired, and broke again.
        (
            [None, (1.1, 0, YES), (1.0, 0, NO), (1.1, 0, YES)],
            3,
            [(1, "slower"), (3, "slower")],
        ),
        # Every second night is compared with another commit, when nothing is learned.
        ([None, (1.1, 0, YES), (1.0, 1, NO), (1.1, 0, YES)], 3, [(1, "slower")]),
        ([None, (1.1, 0, YES), (1.1, 1, YES)], 2, [(1, "slower"), (2, "slower")]),
    ],
)
def test_a_change_is_what_a_comparison_decided(
    comparisons: list[tuple[float, int, Answer] | None],
    compared: int,
    changed: list[tuple[int, str]],
) -> None:
    runs = []
    for night, each in enumerate(comparisons):
        ratios = [ratio(*each)] if each else []
        runs.append(compare(night, *ratios))
    if not runs:
        assert make_series(runs) == ()
        return
    series = only(*runs[::-1])
    assert series.compared == compared
    found = [(int(each.point.commit, 16), str(each.direction)) for each in series.changes]
    assert found == changed


def test_times_alone_are_no_change() -> None:
    """An update of the system raises them too; so does an old battery."""
    series = only(*(make_run(night, [make_row(40.0 + 20 * (night // 20))]) for night in range(40)))
    assert (len(series.points), series.compared, series.changes) == (40, 0, ())


@pytest.mark.parametrize(
    "other",
    [
        replace(ratio(1.3, 0), against=Reference.BASELINE),
        replace(ratio(1.3, 0), stage=TimeStage.PREPARE),
    ],
)
def test_another_comparison_or_stage_says_nothing_about_it(other: RatioResult) -> None:
    assert only(compare(1, other)).changes == ()


def test_a_change_has_its_night_and_what_it_was_compared_with() -> None:
    (change,) = only(compare(29), compare(30, ratio(1.1, 29))).changes
    assert change.point.date == "2026-01-31"
    assert change.ratio.name == f"main at {29:012x}"
    assert change.direction is Direction.SLOWER


@pytest.mark.parametrize(
    ("device", "method", "follows"),
    [
        ("new", 1, "a new device"),
        ("old", 2, "a new way of measuring"),
        ("new", 2, "a new device and a new way of measuring"),
    ],
)
def test_a_new_device_or_method_begins_a_series(device: str, method: int, follows: str) -> None:
    runs = [make_run(night, device="old") for night in range(3)]
    runs += [make_run(night, device=device, method=method) for night in range(3, 6)]
    old, new = sorted(make_series(runs), key=lambda series: series.points[0].run)
    assert (len(old.points), len(new.points)) == (3, 3)
    assert (old.follows, new.follows) == ("", follows)


def test_nights_without_times_are_no_points() -> None:
    runs = [make_run(night) for night in range(5)]
    runs[2] = make_run(2, [make_lost_row(PerformanceStatus.FAILED, "device lost")])
    runs[3] = make_run(3, [])
    assert len(only(*runs).points) == 3
