from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.chain.session import Session
from megtrim.checks.check import DeviceIdentity
from megtrim.experiments.contest import Contest, ContestResult, PerformanceStatus
from megtrim.perf.outcomes import list_measuring_devices, summarize_performance
from megtrim.perf.plan import PerfResult, perf_tasks
from megtrim.perf.rows import Performance
from megtrim.perf.times import Reference
from megtrim.util.errors import InfrastructureFailure, MegtrimError, ProductFailure
from unit.experiments.test_contest import CONTEST
from unit.perf.measuring.test_contest_plan import CONFIG, open_session
from unit.perf.test_contest_times import make_result
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
    wants = [task.id for task in perf_tasks(session.request.config)]
    found = summarize_performance(wants, session)
    assert found is not None
    return found


@pytest.fixture
def session(tmp_path: Path) -> Session:
    made = open_session(tmp_path, SMALL)
    leave(made, BASELINE, make_result(1.0), contest=replace(CONTEST, rival=None))
    leave(made, ROW, make_result(1.2))
    leave(made, TRIMMED, make_result(1.2))
    return made


def test_an_experiment_that_is_slower_is_a_finding_about_it(session: Session) -> None:
    found = summarize(session)

    assert [row.experiment for row in found.rows] == ["baseline", "record-1"]
    assert {row.status for row in found.rows} == {PerformanceStatus.MEASURED}
    assert (found.rows[0].ratios, found.rows[1].ratios[0].against) == ((), Reference.BASELINE)
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
    found = summarize(session)

    assert (found.threshold, found.floor_ms, found.inconclusive) == (0.03, 0.0, "fail")


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
    del session.results.done[ROW]
    session.results.failed[where] = failure
    row = summarize(session).rows[1]

    assert (row.status, row.reason, row.times) == (status, reason, ())


def test_a_verdict_on_a_trim_has_no_times(session: Session) -> None:
    assert summarize_performance(["build/plain", "verify/m/s@any"], session) is None


def test_machines_that_measured_are_named(session: Session) -> None:
    leave(session, ROW, None, skipped="needs an NVIDIA GPU")

    found = list(list_measuring_devices([BASELINE, ROW, "build/plain"], session))

    assert found == [DEVICE]
