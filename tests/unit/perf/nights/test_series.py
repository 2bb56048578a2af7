from __future__ import annotations

import numpy as np

from megtrim.experiments.contest import PerformanceStatus
from megtrim.perf.nights.change_points import Pattern, make_series
from megtrim.perf.nights.history import HistoryRun
from support.history_entries import SCENARIO, make_lost_row, make_row, make_run


def nights(count: int, *, slower_from: int = 10_000, new_from: int = 10_000) -> list[HistoryRun]:
    """Return runs whose times grow by a tenth with one night, and whose device or method changes
    with another.
    """
    noise = 0.005 * np.random.default_rng(5).standard_normal(count)
    return [
        make_run(
            night,
            [make_row(40 * (1 + noise[night] + 0.1 * (night >= slower_from)))],
            device="new" if night >= new_from else "old",
        )
        for night in range(count)
    ]


def test_a_change_lies_between_two_commits() -> None:
    (series,) = make_series(nights(60, slower_from=30)[::-1])

    (change,) = series.changes
    assert int(change.last_good.commit, 16) == 29
    assert int(change.first_bad.commit, 16) == 30
    assert change.first_bad.measured_at == "2026-01-31T02:00:00Z"


def test_a_new_device_begins_a_series() -> None:
    old, new = sorted(
        make_series(nights(60, slower_from=30, new_from=30)), key=lambda each: each.points[0].run
    )

    assert [each.findings.pattern for each in (old, new)] == [Pattern.QUIET, Pattern.QUIET]
    assert (old.follows, new.follows) == ("", "a new device")


def test_a_new_way_of_measuring_begins_a_series() -> None:
    runs = [
        make_run(night, [make_row(40.0 if night < 20 else 50.0)], method=1 + (night >= 20))
        for night in range(40)
    ]

    old, new = make_series(runs)

    assert {each.findings.pattern for each in (old, new)} == {Pattern.QUIET}
    assert new.follows == "a new way of measuring"


def test_nights_without_times_are_no_points() -> None:
    runs = nights(30)
    runs[10] = make_run(10, [make_lost_row(PerformanceStatus.FAILED, "device lost")])
    runs[11] = make_run(11, [])

    (series,) = make_series(runs)

    assert len(series.points) == 28
    assert series.findings.pattern is Pattern.QUIET


def test_one_scenario_can_be_asked_for() -> None:
    run = make_run(0, [make_row(), make_row(scenario="other/one@x")])

    assert [each.key.scenario for each in make_series([run], scenario=SCENARIO)] == [SCENARIO]
    assert len(make_series([run])) == 2


def test_too_few_nights_are_no_history() -> None:
    (series,) = make_series(nights(7, slower_from=4))

    assert (series.findings.pattern, series.findings.missing) == (Pattern.TOO_SHORT, 7)
    assert series.changes == ()
