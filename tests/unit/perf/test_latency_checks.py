from __future__ import annotations

from dataclasses import replace

from megtrim.checks.check import Check
from megtrim.checks.statuses import CheckKind, CheckStatus, VerdictKind, exit_code
from megtrim.experiments.contest import PerformanceStatus
from megtrim.verdict.join import join
from megtrim.verdict.model import Verdict
from unit.verdict.examples import facts
from unit.verdict.performance_examples import (
    NO_CHANGE,
    ROWS,
    UNPROVEN,
    performance,
    row,
    skipped,
    timed,
)


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
