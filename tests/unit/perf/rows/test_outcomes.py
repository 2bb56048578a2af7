"""From results of the stage `perf` to the rows of a verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.chain.session import Session
from megtrim.checks.check import DeviceIdentity
from megtrim.experiments.contest import Contest, ContestResult, Criterion, Mark, PerformanceStatus
from megtrim.perf.plan import perf_tasks
from megtrim.perf.results import PerfResult
from megtrim.perf.rows.model import Performance, PerformanceRow
from megtrim.perf.rows.outcomes import list_measuring_devices, summarize_performance
from megtrim.perf.rows.rows import ContestOutcome, make_performance
from megtrim.perf.times import Reference
from megtrim.util.errors import InfrastructureFailure, MegtrimError, ProductFailure
from unit.experiments.test_contest import CONTEST
from unit.perf.measuring.test_contest_plan import CONFIG, open_session
from unit.perf.rows.test_contest_times import make_result
from unit.trim.stages.built import finish

SMALL = CONFIG.replace(
    "perf: {trimming: true,", "perf: {trimming: true, experiments: [record-1], scenarios: [m/s],"
)
ROW, BASELINE = "perf/m/s@any#record-1", "perf/m/s@any#baseline"
TRIMMED = "perf/m/s@any#trimming-reduced"
DEVICE = DeviceIdentity(name="phone", kind="adb", facts={})


def leave(
    session: Session,
    task: str,
    measured: ContestResult | None,
    *,
    contest: Contest = CONTEST,
    skipped: str = "",
) -> None:
    """Let a task have left a result."""
    result = PerfResult(
        scenario="m/s@any",
        subject=task.partition("#")[2],
        skipped=skipped,
        device=None if skipped else DEVICE,
        contest=None if skipped else contest,
        measured=measured,
    )
    session.results.done[task] = replace(finish(session, task, {}), result=result)


def summarize(session: Session) -> Performance:
    """Return what a verdict on all tasks holds."""
    wants = [task.id for task in perf_tasks(session.request.config)]
    found = summarize_performance(wants, session)
    assert found is not None
    return found


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A session in which all contests of a scenario were measured."""
    made = open_session(tmp_path, SMALL)
    leave(made, BASELINE, make_result(1.0), contest=replace(CONTEST, rival=None))
    leave(made, ROW, make_result(1.2))
    leave(made, TRIMMED, make_result(1.2))
    return made


def test_an_experiment_that_is_slower_is_a_finding_about_it(session: Session) -> None:
    """Not a regression; a trimmed program that is slower is one."""
    found = summarize(session)

    assert [row.experiment for row in found.rows] == ["baseline", "record-1"]
    assert {row.status for row in found.rows} == {PerformanceStatus.MEASURED}
    assert found.rows[0].ratios == ()
    assert found.rows[1].ratios[0].against is Reference.BASELINE
    assert found.rows[1].device == "phone"
    assert "perf run --config" in found.rows[1].reproduce
    assert "--experiment record-1 --scenario m/s@any --again" in found.rows[1].reproduce
    (row,) = found.trimming
    assert row.status is PerformanceStatus.REGRESSED
    assert [each.variant for each in row.variants] == ["plain", "reduced"]
    assert row.variants[0].time is not None
    assert row.variants[1].ratio is not None
    assert "--experiment trimming" in row.reproduce


def test_settings_are_part_of_it(session: Session) -> None:
    """A reader must know what a change is."""
    found = summarize(session)

    assert (found.threshold, found.floor_ms, found.inconclusive) == (0.03, 0.0, "fail")


@pytest.mark.parametrize(
    ("measured", "status", "reason"),
    [
        (
            ContestResult(status=PerformanceStatus.FAILED, reason="it hung"),
            PerformanceStatus.FAILED,
            "it hung",
        ),
        (
            ContestResult(status=PerformanceStatus.WRONG_OUTPUTS, reason="output 0: largest"),
            PerformanceStatus.WRONG_OUTPUTS,
            "output 0: largest",
        ),
        (make_result(1.2, rounds=5), PerformanceStatus.INCONCLUSIVE, ""),
        (
            replace(
                make_result(1.2),
                samples=tuple(
                    replace(each, marks=(Mark.THROTTLED,)) for each in make_result(1.2).samples
                ),
            ),
            PerformanceStatus.INFRASTRUCTURE,
            "none of its samples count: the machine was throttled in 80 of 80 processes",
        ),
    ],
)
def test_a_bad_end_is_the_row_s_own(
    session: Session, measured: ContestResult, status: PerformanceStatus, reason: str
) -> None:
    """All others stay as they are."""
    leave(session, ROW, measured)
    baseline, row = summarize(session).rows

    assert baseline.status is PerformanceStatus.MEASURED
    assert (row.status, row.reason) == (status, reason)


def test_what_cannot_run_is_skipped(session: Session) -> None:
    """With the reason, and without a device."""
    leave(session, ROW, None, skipped="needs an NVIDIA GPU")
    row = summarize(session).rows[1]

    assert (row.status, row.reason) == (PerformanceStatus.SKIPPED, "needs an NVIDIA GPU")
    assert row.device == ""


@pytest.mark.parametrize(
    ("where", "failure", "status", "reason"),
    [
        (
            ROW,
            InfrastructureFailure("the phone is gone"),
            PerformanceStatus.INFRASTRUCTURE,
            "the phone is gone",
        ),
        (
            "build/plain",
            ProductFailure("it does not compile\nx.cpp"),
            PerformanceStatus.FAILED,
            "it does not compile",
        ),
    ],
)
def test_what_was_not_reached_says_what_failed_before_it(
    session: Session, where: str, failure: MegtrimError, status: PerformanceStatus, reason: str
) -> None:
    """A lost phone is no fault of the program."""
    del session.results.done[ROW]
    session.results.failed[where] = failure
    row = summarize(session).rows[1]

    assert (row.status, row.reason, row.times) == (status, reason, ())


def test_a_verdict_on_a_trim_has_no_times(session: Session) -> None:
    """It wants none."""
    assert summarize_performance(["build/plain", "verify/m/s@any"], session) is None


def test_machines_that_measured_are_named(session: Session) -> None:
    """Once for each task."""
    leave(session, ROW, None, skipped="needs an NVIDIA GPU")

    found = list(list_measuring_devices([BASELINE, ROW, "build/plain"], session))

    assert found == [DEVICE]


SINCE_DEVICE = DeviceIdentity(name="phone", kind="adb", facts={})
COMMIT = "1a2b3c4d5e6f"


def outcome(
    subject: str, measured: ContestResult | None, contest: Contest = CONTEST
) -> ContestOutcome:
    """Return what came of a contest; None: its device was lost."""
    result = PerfResult(
        scenario="m/s@any",
        subject=subject,
        device=SINCE_DEVICE,
        contest=contest,
        measured=measured,
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
