"""Rows of times from values alone: the worst of several contests is what a row says."""

from __future__ import annotations

from typing import Any

import pytest

from megtrim.checks.invocation import Invocation
from megtrim.experiments.contest import ContestResult, Criterion, Mark, PerformanceStatus
from megtrim.perf.results import PerfResult
from megtrim.perf.rows.model import Performance
from megtrim.perf.rows.rows import (
    ContestOutcome,
    make_performance,
    show_again,
    status_of_failure,
)
from megtrim.util.errors import InfrastructureFailure, MegtrimError, ProductFailure
from unit.evidence.support import SCENARIO, contest, contest_result, samples

SIZES = {"plain": 3000, "region": 400, "reduced": 200}
WRONG = contest_result(
    status=PerformanceStatus.WRONG_OUTPUTS, reason="output 0 differs", samples=()
)
LOST = InfrastructureFailure("adb: the phone is gone\nsecond line")
FASTER = contest_result(samples=tuple(samples(0.5)))
SLOWER = contest_result(samples=tuple(samples(2.0)))


def outcome(
    subject: str, came: ContestResult | MegtrimError | str | None, **changes: Any
) -> ContestOutcome:
    """Return what came of a contest: a result, a failure, a reason to skip it, or nothing."""
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
    """Those of trimmed programs after the others, with the settings that decided."""
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
        ("needs a GPU", PerformanceStatus.SKIPPED, "needs a GPU"),
        (LOST, PerformanceStatus.INFRASTRUCTURE, "adb: the phone is gone"),
        (ProductFailure("no build"), PerformanceStatus.FAILED, "no build"),
        (None, PerformanceStatus.FAILED, "a task before it did not succeed"),
    ],
)
def test_a_row_ends_as_its_contest(came: Any, status: PerformanceStatus, reason: str) -> None:
    """With the reason in one line."""
    (row,) = make(outcome("nchw88", came)).rows

    assert (row.status, row.reason) == (status, reason)


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
    """They share the row of their scenario."""
    made = make(outcome("trimming-region", region), outcome("trimming-reduced", reduced))
    (row,) = made.trimming

    assert row.status is status
    assert [each.variant for each in row.variants] == ["plain", "region", "reduced"]


def test_what_was_not_built_has_no_size() -> None:
    """Nor a place in the picture."""
    (row,) = make(outcome("trimming-reduced", LOST, sizes={"plain": 3000})).trimming

    assert [(each.variant, each.size_bytes) for each in row.variants] == [("plain", 3000)]


def test_a_command_measures_it_again() -> None:
    """All trimmed programs together, because a person asks for them by one word."""
    place = Invocation(config="c.yaml", committed=True)

    assert show_again(place, SCENARIO, "nchw88") == (
        "megtrim perf run --config c.yaml --committed --experiment nchw88 "
        f"--scenario {SCENARIO} --again"
    )
    assert "--experiment trimming " in show_again(place, SCENARIO, "trimming-reduced")


def test_only_a_machine_that_failed_is_infrastructure() -> None:
    """Whatever is not known to be one is a failure."""
    assert status_of_failure(LOST) is PerformanceStatus.INFRASTRUCTURE
    assert status_of_failure(ProductFailure("x")) is PerformanceStatus.FAILED
    assert status_of_failure(None) is PerformanceStatus.FAILED
