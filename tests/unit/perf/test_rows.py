import json
from dataclasses import replace

import pytest

from megtrim.checks.check import Check
from megtrim.checks.statuses import CheckKind, CheckStatus, VerdictKind, exit_code
from megtrim.experiments.contest import PerformanceStatus
from megtrim.experiments.experiment import TimeStage
from megtrim.perf.rows import ChangePoint, check_status, status_of
from megtrim.perf.times import Answer, Reference
from megtrim.util.errors import InputError
from megtrim.verdict.join import join
from megtrim.verdict.model import Verdict, parse_verdict, to_json
from unit.verdict.examples import facts
from unit.verdict.performance_examples import (
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


def test_a_row_that_is_better_than_its_numbers_is_refused() -> None:
    for found in (since(1.05), since(1.0, exceeds=Answer.INCONCLUSIVE)):
        with pytest.raises(ValueError, match="its ratios say"):
            row(ratios=(found,))
    with pytest.raises(ValueError, match="its ratios say measured"):
        replace(REGRESSED, ratios=())
    with pytest.raises(ValueError, match="it has no times"):
        row(times=())
    with pytest.raises(ValueError, match="it has no reason"):
        row(status=PerformanceStatus.SKIPPED, times=())
    document = json.loads(to_json(timed()))
    document["performance"]["rows"][3]["status"] = "measured"
    with pytest.raises(InputError, match="its ratios say regressed"):
        parse_verdict(json.dumps(document), source="v.json")


def test_a_row_with_a_lost_comparison_is_open_whatever_its_numbers() -> None:
    lost = row(status=PerformanceStatus.INCONCLUSIVE, reason="not compared with 1a2b3c")

    assert lost.status is PerformanceStatus.INCONCLUSIVE
    with pytest.raises(ValueError, match="its ratios say measured"):
        row(status=PerformanceStatus.INCONCLUSIVE)
    with pytest.raises(ValueError, match="its ratios say regressed"):
        row(status=PerformanceStatus.INCONCLUSIVE, reason="lost", ratios=(since(1.05),))


def test_a_check_that_is_better_than_its_row_is_refused() -> None:
    """A verdict follows from its checks, so a green check of a red row would hide it."""
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


def test_intervals_dates_and_doubles_are_refused() -> None:
    with pytest.raises(ValueError, match="outside of its interval"):
        replace(time_of(TimeStage.PREPARE, 1.0), lower_ms=2.0, upper_ms=3.0)
    with pytest.raises(ValueError, match="date: found '20260304T00:00:00Z'"):
        ChangePoint(date="20260304", ratio=1.0)
    series = nights(3)
    with pytest.raises(ValueError, match="measured_at: found 'yesterday'"):
        replace(series.points[0], measured_at="yesterday")
    with pytest.raises(ValueError, match="each night once"):
        replace(series, points=series.points[::-1])
    with pytest.raises(ValueError, match="twice"):
        performance(rows=(row(), row()))
    with pytest.raises(ValueError, match="twice"):
        replace(TRIMMING, variants=TRIMMING.variants[:1] * 2)


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
    assert join(facts(performance=unable, artifacts=(), **nothing)).verdict is (
        VerdictKind.INCONCLUSIVE
    )


def test_a_search_in_each_process_is_no_reason_for_a_larger_budget() -> None:
    rows = (UNPROVEN, replace(UNPROVEN, experiment="full-run"))
    checks = latency(timed(rows=rows, trimming=(), history=()))

    assert "perf.budget" in checks["weight-preprocess"].hint
    assert "an experiment that searches once" in checks["full-run"].hint
