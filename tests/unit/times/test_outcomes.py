import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.chain.session import Session
from megtrim.core.checks.check import Check, DeviceIdentity
from megtrim.core.checks.invocation import Invocation
from megtrim.core.checks.statuses import CheckKind, CheckStatus, VerdictKind, exit_code
from megtrim.core.timing.spec import Criterion, PerformanceStatus, TimeStage
from megtrim.core.timing.times import Answer, Reference
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import Verdict, parse_verdict, to_json
from megtrim.core.verdict.performance import ChangePoint, Performance, check_status, status_of
from megtrim.libs.util.errors import InfrastructureFailure, InputError, MegtrimError, ProductFailure
from megtrim.times.experiments.contest import ContestResult, Mark
from megtrim.times.outcomes import (
    ContestOutcome,
    list_measuring_devices,
    make_performance,
    show_again,
    summarize_performance,
)
from megtrim.times.plan import PerfResult, perf_tasks
from unit.core.trim.stages.built import finish
from unit.core.verdict.examples import facts
from unit.core.verdict.performance_examples import (
    NO_CHANGE,
    REGRESSED,
    ROWS,
    TRIMMING,
    UNPROVEN,
    hostile_performance,
    many,
    nights,
    performance,
    ratio,
    row,
    since,
    skipped,
    time_of,
    timed,
)
from unit.lab.evidence.support import SCENARIO, contest, contest_result, samples
from unit.times.experiments.test_contest import CONTEST
from unit.times.measuring.test_timing_runs import CONFIG, open_session
from unit.times.test_comparison import make_result

SMALL = CONFIG.replace(
    "perf: {trimming: true,", "perf: {trimming: true, experiments: [record-1], scenarios: [m/s],"
)
ROW = "perf/m/s@any#record-1"
BASELINE = "perf/m/s@any#baseline"
TRIMMED = "perf/m/s@any#trimming-reduced"
DEVICE = DeviceIdentity(name="phone", kind="adb", facts={})


def leave(session: Session, task: str, measured: ContestResult | None, **changes: Any) -> None:
    fields = {"device": DEVICE, "contest": CONTEST, "measured": measured, **changes}
    result = PerfResult(scenario="m/s@any", subject=task.partition("#")[2], **fields)
    session.done[task] = replace(finish(session, task, {}), result=result)


def summarize(session: Session) -> Performance:
    wants = [task.id for task in perf_tasks(session.config)]
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
    ("where", "failure", "status"),
    [
        (ROW, InfrastructureFailure("it is gone"), PerformanceStatus.INFRASTRUCTURE),
        ("build/plain", ProductFailure("it is gone\nx.cpp"), PerformanceStatus.FAILED),
    ],
)
def test_what_was_not_reached_says_what_failed_before_it(
    session: Session, where: str, failure: MegtrimError, status: PerformanceStatus
) -> None:
    del session.done[ROW]
    session.results.failed[where] = failure
    row = summarize(session).rows[1]

    assert (row.status, row.reason, row.times) == (status, "it is gone", ())


def test_machines_that_measured_are_named_and_a_trim_has_no_times(session: Session) -> None:
    assert summarize_performance(["build/plain", "verify/m/s@any"], session) is None
    leave(session, ROW, None, skipped="needs an NVIDIA GPU", device=None, contest=None)

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
    values: dict[str, Any] = {"scenario": SCENARIO, "cpu_class": "any", "subject": subject}
    failure = came if isinstance(came, MegtrimError) else None
    values |= {"artifact": "load_and_run", "result": result, "failure": failure, "sizes": SIZES}
    return ContestOutcome(**{**values, **changes})


def make(*outcomes: ContestOutcome) -> Performance:
    return make_performance(outcomes, criterion=Criterion(threshold=0.05), inconclusive="warn")


def test_rows_come_in_the_order_of_the_contests() -> None:
    own = outcome("nchw88", FASTER)
    other = outcome("fast-run", "needs a GPU")
    made = make(own, outcome("trimming-reduced", FASTER), other)

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
            HOT,
            PerformanceStatus.INFRASTRUCTURE,
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
def test_a_lost_program_hides_no_other(
    region: Any, reduced: Any, status: PerformanceStatus
) -> None:
    made = make(outcome("trimming-region", region), outcome("trimming-reduced", reduced))
    (row,) = made.trimming

    assert row.status is status
    assert [each.variant for each in row.variants] == ["plain", "region", "reduced"]
    # What was not built has no size.
    (row,) = make(outcome("trimming-reduced", LOST, sizes={"plain": 3000})).trimming
    assert [(each.variant, each.size_bytes) for each in row.variants] == [("plain", 3000)]


def test_a_command_measures_it_again() -> None:
    place = Invocation(config="c.yaml", committed=True)

    assert show_again(place, SCENARIO, "nchw88") == (
        "megtrim perf run --config c.yaml --committed --experiment nchw88 "
        f"--scenario {SCENARIO} --again"
    )
    assert "--experiment trimming " in show_again(place, SCENARIO, "trimming-reduced")


@pytest.mark.parametrize("what", [performance(), performance(rows=(), trimming=(), history=()),
                                  many(1), many(500), hostile_performance()])  # fmt: skip
def test_a_verdict_keeps_them(what: object) -> None:
    verdict = join(facts(performance=what))

    assert parse_verdict(to_json(verdict), source="verdict.json") == verdict


def test_a_time_below_zero_or_without_a_key_is_refused() -> None:
    document = json.loads(to_json(timed()))
    time = document["performance"]["rows"][0]["times"][0]
    time["lower_ms"] = -1
    with pytest.raises(InputError, match=r"performance\.rows\[0\]\.times\[0\]\.lower_ms: found -1"):
        parse_verdict(json.dumps(document), source="v.json")
    del time["lower_ms"]
    with pytest.raises(InputError, match="expected this key"):
        parse_verdict(json.dumps(document), source="v.json")


NIGHTS = nights(3)
OPEN = row(status=PerformanceStatus.INCONCLUSIVE, reason="not compared with 1a2b3c")


@pytest.mark.parametrize(
    ("make_bad", "message"),
    [
        *(
            (lambda ratio=found: row(ratios=(ratio,)), "its ratios say")
            for found in (since(1.05), since(1.0, exceeds=Answer.INCONCLUSIVE))
        ),
        (lambda: replace(REGRESSED, ratios=()), "its ratios say measured"),
        (lambda: row(times=()), "it has no times"),
        (lambda: row(status=PerformanceStatus.SKIPPED, times=()), "it has no reason"),
        (lambda: row(status=PerformanceStatus.INCONCLUSIVE), "its ratios say measured"),
        (lambda: replace(OPEN, reason="lost", ratios=(since(1.05),)), "its ratios say regressed"),
        # Intervals, dates, and what comes twice.
        (
            lambda: replace(time_of(TimeStage.PREPARE, 1.0), lower_ms=2.0, upper_ms=3.0),
            "outside of its interval",
        ),
        (lambda: ChangePoint(date="20260304", ratio=1.0), "date: found '20260304T00:00:00Z'"),
        (lambda: replace(NIGHTS.points[0], measured_at="yesterday"), "measured_at: found 'yest"),
        (lambda: replace(NIGHTS, points=NIGHTS.points[::-1]), "each night once"),
        (lambda: performance(rows=(row(), row())), "twice"),
        (lambda: replace(TRIMMING, variants=TRIMMING.variants[:1] * 2), "twice"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(
    make_bad: Callable[[], object], message: str
) -> None:
    """Where a comparison was lost, the answer is open whatever the numbers say."""
    with pytest.raises(ValueError, match=message):
        make_bad()


def test_a_check_that_is_better_than_its_row_is_refused() -> None:
    """A verdict follows from its checks, so a green check of a red row would hide it."""
    document = json.loads(to_json(timed()))
    document["performance"]["rows"][3]["status"] = "measured"
    with pytest.raises(InputError, match="its ratios say regressed"):
        parse_verdict(json.dumps(document), source="v.json")
    document = json.loads(to_json(timed(inconclusive="fail")))
    for check in document["checks"]:
        if check["id"].startswith("latency:") and "weight-preprocess" in check["id"]:
            check["status"] = "pass"
    with pytest.raises(InputError, match="found a check of status pass, expected fail"):
        parse_verdict(json.dumps(document), source="v.json")
    document["checks"] = [c for c in document["checks"] if "weight" not in c["id"]]
    with pytest.raises(InputError, match="found a check of status none"):
        parse_verdict(json.dumps(document), source="v.json")


def test_what_a_ratio_decides() -> None:
    assert status_of(()) is PerformanceStatus.MEASURED
    assert status_of((ratio(1.5),)) is PerformanceStatus.MEASURED
    assert status_of((since(0.9),)) is PerformanceStatus.MEASURED
    assert status_of((ratio(1.5, against=Reference.PLAIN),)) is PerformanceStatus.REGRESSED
    unproven = ratio(1.0, exceeds=Answer.INCONCLUSIVE)
    assert status_of((unproven,)) is PerformanceStatus.INCONCLUSIVE
    assert status_of((unproven, since(1.05))) is PerformanceStatus.REGRESSED


def test_an_open_answer_is_never_a_pass() -> None:
    for setting in ("fail", "warn"):
        passed = [each for each in PerformanceStatus
                  if check_status(each, setting) is CheckStatus.PASS]  # fmt: skip
        assert passed == [PerformanceStatus.MEASURED]


def latency(verdict: Verdict) -> dict[str, Check]:
    found = (check for check in verdict.checks if check.kind is CheckKind.LATENCY)
    return {check.subject.partition(" ")[2]: check for check in found if "tuned" not in check.id}


def test_each_row_has_one() -> None:
    checks = latency(timed())

    assert {name: (str(check.status), check.text) for name, check in checks.items()} == {
        "baseline": (
            "pass",
            "inference 5.2 ms, ratio to main at 2981d114c5d7 1.001 (0.981 to 1.021)",
        ),
        "fast-run": ("pass", "inference 3.9 ms, ratio to baseline 0.750 (0.730 to 0.770)"),
        "full-run": ("pass", "inference 3.8 ms, ratio to baseline 0.731 (0.711 to 0.751)"),
        "nchw44": (
            "fail",
            ("slower by more than the threshold: inference 4.9 ms, ratio to main at 2981d114c5d7 "
            "1.051 (1.031 to 1.071), ratio to baseline 0.942 (0.922 to 0.962)"),
        ),
        "nchw88": ("pass", "inference 21 ms, ratio to baseline 4.040 (4.020 to 4.060)"),
        "weight-preprocess": (
            "inconclusive",
            ("unproven: 20 minutes were not enough; inference 5.1 ms, ratio to main at "
            "2981d114c5d7 1.012 (0.992 to 1.032), ratio to baseline 0.980 (0.930 to 1.030)"),
        ),
        "nchw44-dot": ("skipped", "the device has no dot product"),
        "layout-transform": ("fail", "it hung: ended after 60 s"),
        "fuse": ("fail", "wrong outputs, so its times do not count: 1 output differs by 0.5"),
        "load_and_run trimming": (
            "pass",
            ("plain 5.2 ms, region 5.24 ms, reduced 5.18 ms, ratio to plain (region) 1.008 "
            "(0.988 to 1.028), ratio to plain (reduced) 0.996 (0.976 to 1.016)"),
        ),
    }  # fmt: skip
    assert "left out: 3 samples, throttled" in checks["nchw44"].detail
    assert checks["nchw44"].hint and checks["nchw44"].line == 21
    assert checks["baseline"].detail == ""


def test_what_an_open_answer_makes_of_a_verdict() -> None:
    good = row(ratios=(NO_CHANGE,))
    for setting, expected, status in (
        ("fail", VerdictKind.FAIL, 1),
        ("warn", VerdictKind.INCONCLUSIVE, 0),
    ):
        what = performance(rows=(good, UNPROVEN), inconclusive=setting)
        verdict = join(facts(performance=what)).verdict
        assert verdict is expected
        assert exit_code(verdict) == status
    assert join(facts(performance=performance(rows=(good,)))).verdict is VerdictKind.PASS


def test_a_lost_device_costs_its_own_rows() -> None:
    lost = skipped("nchw88", PerformanceStatus.INFRASTRUCTURE, "pixel-6 went offline")
    verdict = join(facts(performance=performance(rows=(ROWS[0], lost))))

    assert verdict.verdict is VerdictKind.UNVERIFIED
    assert latency(verdict)["baseline"].status is CheckStatus.PASS
    assert latency(verdict)["nchw88"].status is CheckStatus.INFRASTRUCTURE


def test_a_run_that_only_takes_times_needs_no_scenario_verified() -> None:
    """Unless it ships a program, which only scenarios can prove; all skipped is no pass."""
    only = performance(rows=(row(),), trimming=())
    nothing = {"scenarios": (), "budgets": (), "checks": ()}

    assert join(facts(performance=only, artifacts=(), **nothing)).verdict is VerdictKind.PASS
    assert join(facts(performance=only, **nothing)).verdict is VerdictKind.INCONCLUSIVE
    unable = replace(only, rows=(skipped("a", PerformanceStatus.SKIPPED, "no CUDA here"),))
    verdict = join(facts(performance=unable, artifacts=(), **nothing)).verdict
    assert verdict is VerdictKind.INCONCLUSIVE


def test_a_search_in_each_process_is_no_reason_for_a_larger_budget() -> None:
    rows = (UNPROVEN, replace(UNPROVEN, experiment="full-run"))
    checks = latency(timed(rows=rows, trimming=(), history=()))

    assert "perf.budget" in checks["weight-preprocess"].hint
    assert "an experiment that searches once" in checks["full-run"].hint
