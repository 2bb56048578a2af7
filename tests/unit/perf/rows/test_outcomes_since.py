"""The comparison with an earlier program joins the row of its experiment."""

from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.checks.check import DeviceIdentity
from megtrim.experiments.contest import Contest, ContestResult, Criterion, PerformanceStatus
from megtrim.perf.results import PerfResult
from megtrim.perf.rows.model import PerformanceRow
from megtrim.perf.rows.rows import ContestOutcome, make_performance
from megtrim.perf.times import Reference
from megtrim.util.errors import InfrastructureFailure
from unit.experiments.test_contest import CONTEST
from unit.perf.rows.test_contest_times import make_result

DEVICE = DeviceIdentity(name="phone", kind="adb", facts={})
COMMIT = "1a2b3c4d5e6f"


def outcome(
    subject: str, measured: ContestResult | None, contest: Contest = CONTEST
) -> ContestOutcome:
    """Return what came of a contest; None: its device was lost."""
    result = PerfResult(
        scenario="m/s@any", subject=subject, device=DEVICE, contest=contest, measured=measured
    )
    return ContestOutcome(
        scenario="m/s@any",
        cpu_class="any",
        subject=subject,
        artifact="load_and_run",
        result=None if measured is None else result,
        failure=None if measured else InfrastructureFailure("phone went offline"),
        base=COMMIT,
    )


def make_row(*outcomes: ContestOutcome) -> PerformanceRow:
    """Return the only row."""
    found = make_performance(outcomes, criterion=Criterion(threshold=0.03), inconclusive="warn")
    (row,) = found.rows
    return row


@pytest.mark.parametrize(
    ("ratio", "status"),
    [
        (1.2, PerformanceStatus.REGRESSED),
        (0.8, PerformanceStatus.MEASURED),
        (1.0, PerformanceStatus.MEASURED),
    ],
)
def test_slower_than_the_base_is_a_regression(ratio: float, status: PerformanceStatus) -> None:
    """Whatever the experiment is to the baseline; the base is named."""
    own, since = outcome("nchw88", make_result(0.7)), outcome("since-nchw88", make_result(ratio))

    row = make_row(own, since)

    assert (row.experiment, row.status) == ("nchw88", status)
    assert [(each.against, each.name) for each in row.ratios] == [
        (Reference.BASELINE, ""),
        (Reference.BASE, COMMIT),
    ]
    assert row.ratios[1].ratio == pytest.approx(ratio, rel=0.01)


def test_the_baseline_is_compared_with_the_base_s_own() -> None:
    """It has no other comparison."""
    alone = outcome("baseline", make_result(1.0), replace(CONTEST, rival=None))

    row = make_row(alone, outcome("since-baseline", make_result(1.2)))

    assert row.status is PerformanceStatus.REGRESSED
    assert [each.against for each in row.ratios] == [Reference.BASE]


@pytest.mark.parametrize(
    ("measured", "reason"),
    [
        (None, "phone went offline"),
        (ContestResult(status=PerformanceStatus.FAILED, reason="it hung"), "it hung"),
        (ContestResult(status=PerformanceStatus.WRONG_OUTPUTS, reason="output 0"), "output 0"),
    ],
)
def test_a_comparison_that_was_lost_is_unproven(
    measured: ContestResult | None, reason: str
) -> None:
    """The row keeps its times, and is neither regressed nor a pass."""
    row = make_row(outcome("nchw88", make_result(0.7)), outcome("since-nchw88", measured))

    assert row.status is PerformanceStatus.INCONCLUSIVE
    assert [each.against for each in row.ratios] == [Reference.BASELINE]
    assert row.reason == f"not compared with {COMMIT}: {reason}"


def test_a_comparison_that_cannot_be_made_is_a_note() -> None:
    """The earlier program does not know the flag: its time is new, and no answer is open."""
    skipped = replace(
        outcome("since-nchw88", make_result(1.0)),
        result=PerfResult(scenario="m/s@any", subject="since-nchw88", skipped="no such flag"),
    )

    row = make_row(outcome("nchw88", make_result(0.7)), skipped)

    assert row.status is PerformanceStatus.MEASURED
    assert row.conditions == (f"not compared with {COMMIT}: no such flag",)


def test_a_row_that_was_lost_stays_lost() -> None:
    """A comparison of something else does not stand for it."""
    row = make_row(outcome("nchw88", None), outcome("since-nchw88", make_result(1.2)))

    assert (row.status, row.ratios) == (PerformanceStatus.INFRASTRUCTURE, ())


def test_unclear_is_unproven() -> None:
    """Too few pairs decide nothing."""
    row = make_row(
        outcome("nchw88", make_result(0.7)), outcome("since-nchw88", make_result(1.2, rounds=5))
    )

    assert row.status is PerformanceStatus.INCONCLUSIVE
