from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.chain.session import Session
from megtrim.checks.check import DeviceIdentity
from megtrim.checks.invocation import Invocation
from megtrim.experiments.contest import Contest, ContestResult, Criterion, Mark, PerformanceStatus
from megtrim.perf.outcomes import (
    ContestOutcome,
    list_measuring_devices,
    make_performance,
    show_again,
    summarize_performance,
)
from megtrim.perf.plan import PerfResult, perf_tasks
from megtrim.perf.rows import Performance
from megtrim.perf.times import Reference
from megtrim.util.errors import InfrastructureFailure, MegtrimError, ProductFailure
from unit.evidence.support import SCENARIO, contest, contest_result, samples
from unit.experiments.test_contest import CONTEST
from unit.perf.measuring.test_contest_plan import CONFIG, open_session
from unit.perf.test_comparison import make_result
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

    assert (found.threshold, found.floor_ms, found.inconclusive) == (0.03, 0.0, "fail")
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

    assert [*list_measuring_devices([BASELINE, ROW, "build/plain"], session)] == [DEVICE]


SIZES = {"plain": 3000, "region": 400, "reduced": 200}
WRONG = contest_result(
    status=PerformanceStatus.WRONG_OUTPUTS, reason="output 0 differs", samples=()
)
HUNG = contest_result(status=PerformanceStatus.FAILED, reason="it hung", samples=())
LOST = InfrastructureFailure("adb: the phone is gone\nsecond line")
FASTER = contest_result(samples=tuple(samples(0.5)))
EQUAL = contest_result(samples=tuple(samples(1.001)))
SLOWER = contest_result(samples=tuple(samples(2.0)))
FEW = contest_result(samples=tuple(samples(2.0))[:10])
HOT = contest_result(samples=samples(marks=(Mark.THROTTLED,)))
BOTH = ["baseline ", "base main"]


def outcome(
    subject: str, came: ContestResult | MegtrimError | str | None, **changes: Any
) -> ContestOutcome:
    result = None
    if isinstance(came, ContestResult):
        result = PerfResult(scenario=SCENARIO, subject=subject, contest=contest(), measured=came)
    elif isinstance(came, str):
        result = PerfResult(scenario=SCENARIO, subject=subject, skipped=came)
    values: dict[str, Any] = {
        "scenario": SCENARIO,
        "cpu_class": "any",
        "subject": subject,
        "artifact": "load_and_run",
        "result": result,
        "failure": came if isinstance(came, MegtrimError) else None,
        "sizes": SIZES,
    }
    return ContestOutcome(**{**values, **changes})


def make(*outcomes: ContestOutcome) -> Performance:
    return make_performance(outcomes, criterion=Criterion(threshold=0.05), inconclusive="warn")


def test_rows_come_in_the_order_of_the_contests() -> None:
    made = make(
        outcome("nchw88", FASTER),
        outcome("trimming-reduced", FASTER),
        outcome("fast-run", "needs a GPU"),
    )

    assert [row.experiment for row in made.rows] == ["nchw88", "fast-run"]
    assert [row.artifact for row in made.trimming] == ["load_and_run"]
    assert (made.threshold, made.floor_ms, made.inconclusive) == (0.05, 0.0, "warn")


@pytest.mark.parametrize(
    ("came", "status", "reason"),
    [
        (FASTER, PerformanceStatus.MEASURED, ""),
        (WRONG, PerformanceStatus.WRONG_OUTPUTS, "output 0 differs"),
        (HUNG, PerformanceStatus.FAILED, "it hung"),
        (FEW, PerformanceStatus.INCONCLUSIVE, ""),
        (
            *(HOT, PerformanceStatus.INFRASTRUCTURE),
            "none of its samples count: the machine was throttled in 24 of 24 processes",
        ),
        ("needs a GPU", PerformanceStatus.SKIPPED, "needs a GPU"),
        (LOST, PerformanceStatus.INFRASTRUCTURE, "adb: the phone is gone"),
        (ProductFailure("no build"), PerformanceStatus.FAILED, "no build"),
        (None, PerformanceStatus.FAILED, "a task before it did not succeed"),
    ],
)
def test_a_row_ends_as_its_contest(came: Any, status: PerformanceStatus, reason: str) -> None:
    (row,) = make(outcome("nchw88", came)).rows

    assert (row.status, row.reason) == (status, reason)


@pytest.mark.parametrize(
    ("own", "since", "status", "ratios", "reason"),
    [
        # Whatever the experiment is to the baseline, slower than the base is a regression.
        (FASTER, SLOWER, PerformanceStatus.REGRESSED, BOTH, ""),
        (FASTER, FASTER, PerformanceStatus.MEASURED, BOTH, ""),
        (FASTER, EQUAL, PerformanceStatus.MEASURED, BOTH, ""),
        (FASTER, FEW, PerformanceStatus.INCONCLUSIVE, BOTH, ""),
        # A comparison that was lost leaves the answer open: neither regressed nor a pass.
        (FASTER, LOST, PerformanceStatus.INCONCLUSIVE, BOTH[:1], "adb: the phone is gone"),
        (FASTER, HUNG, PerformanceStatus.INCONCLUSIVE, BOTH[:1], "it hung"),
        (FASTER, WRONG, PerformanceStatus.INCONCLUSIVE, BOTH[:1], "output 0 differs"),
        # One that cannot be made is a note: the earlier program does not know the flag.
        (FASTER, "no such flag", PerformanceStatus.MEASURED, BOTH[:1], "no such flag"),
        # A comparison of something else does not stand for a row that was lost.
        (LOST, SLOWER, PerformanceStatus.INFRASTRUCTURE, [], ""),
    ],
)
def test_a_row_is_compared_with_the_base(
    own: Any, since: Any, status: PerformanceStatus, ratios: list[str], reason: str
) -> None:
    (row,) = make(outcome("nchw88", own), outcome("since-nchw88", since, base="main")).rows

    assert (row.experiment, row.status) == ("nchw88", status)
    assert [f"{each.against} {each.name}" for each in row.ratios] == ratios
    if reason:
        note = f"not compared with main: {reason}"
        assert note in (row.reason, *row.conditions)
        assert (row.reason == "") is (status is PerformanceStatus.MEASURED)


def test_the_baseline_is_compared_with_the_base_s_own() -> None:
    alone = replace(contest(), rival=None)
    result = PerfResult(scenario=SCENARIO, subject="baseline", contest=alone, measured=EQUAL)
    base = outcome("since-baseline", SLOWER, base="main")
    (row,) = make(outcome("baseline", EQUAL, result=result), base).rows

    assert row.status is PerformanceStatus.REGRESSED
    assert [each.against for each in row.ratios] == [Reference.BASE]


def test_an_answer_that_stayed_open_says_what_left_samples_out() -> None:
    """On a machine that is always busy, nothing would ever be decided, and no one would know."""
    busy = samples(marks=(Mark.BUSY,))
    few = contest_result(samples=(*busy[:18], *samples()[18:]))
    (row,) = make(outcome("nchw88", few)).rows
    (since,) = make(outcome("nchw88", FASTER), outcome("since-nchw88", few, base="main")).rows

    assert row.status is since.status is PerformanceStatus.INCONCLUSIVE
    assert row.reason == since.reason == "the machine was busy in 18 of 24 processes"
    (compared,) = make(outcome("nchw88", few), outcome("since-nchw88", SLOWER, base="main")).rows
    assert (compared.status, compared.reason) == (PerformanceStatus.REGRESSED, "")


@pytest.mark.parametrize(
    ("region", "reduced", "status"),
    [
        (FASTER, FASTER, PerformanceStatus.MEASURED),
        (FASTER, LOST, PerformanceStatus.INFRASTRUCTURE),
        (LOST, WRONG, PerformanceStatus.WRONG_OUTPUTS),
        (WRONG, LOST, PerformanceStatus.WRONG_OUTPUTS),
        (LOST, SLOWER, PerformanceStatus.REGRESSED),
        (SLOWER, LOST, PerformanceStatus.REGRESSED),
        (LOST, ProductFailure("no build"), PerformanceStatus.FAILED),
        ("cannot run", LOST, PerformanceStatus.INFRASTRUCTURE),
    ],
)
def test_a_lost_program_hides_no_failure_of_another(
    region: Any, reduced: Any, status: PerformanceStatus
) -> None:
    made = make(outcome("trimming-region", region), outcome("trimming-reduced", reduced))
    (row,) = made.trimming

    assert row.status is status
    assert [each.variant for each in row.variants] == ["plain", "region", "reduced"]


def test_what_was_not_built_has_no_size() -> None:
    (row,) = make(outcome("trimming-reduced", LOST, sizes={"plain": 3000})).trimming

    assert [(each.variant, each.size_bytes) for each in row.variants] == [("plain", 3000)]


def test_a_command_measures_it_again() -> None:
    place = Invocation(config="c.yaml", committed=True)

    assert show_again(place, SCENARIO, "nchw88") == (
        "megtrim perf run --config c.yaml --committed --experiment nchw88 "
        f"--scenario {SCENARIO} --again"
    )
    assert "--experiment trimming " in show_again(place, SCENARIO, "trimming-reduced")
