from __future__ import annotations

import json
from dataclasses import replace

import pytest

from megtrim.checks.statuses import CheckStatus
from megtrim.experiments.contest import PerformanceStatus
from megtrim.experiments.experiment import TimeStage
from megtrim.perf.rows import ChangePoint, check_status, status_of
from megtrim.perf.times import Answer, Reference
from megtrim.util.errors import InputError
from megtrim.verdict.join import join
from megtrim.verdict.model import parse_verdict, to_json
from unit.verdict.examples import facts
from unit.verdict.performance_examples import (
    REGRESSED,
    TRIMMING,
    hostile_performance,
    many,
    nights,
    performance,
    ratio,
    row,
    since,
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
