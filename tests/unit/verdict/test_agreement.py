"""A scenario or a budget never ended worse than its checks say."""

from __future__ import annotations

import pytest

from megtrim.size.budget_row import BudgetRow, BudgetStatus
from megtrim.verdict.agreement import expect_budget_check, expect_scenario_checks
from megtrim.verdict.content import Contradiction
from megtrim.verdict.statuses import CheckKind, CheckStatus, ScenarioStatus
from unit.verdict.examples import budget

PASS, FAIL, SKIPPED = CheckStatus.PASS, CheckStatus.FAIL, CheckStatus.SKIPPED
BOTH = {CheckKind.TRAP: PASS, CheckKind.PARITY: PASS}
TRAPPED = {CheckKind.TRAP: FAIL, CheckKind.PARITY: SKIPPED}
UNKNOWN = {CheckKind.TRAP: SKIPPED, CheckKind.PARITY: SKIPPED}


@pytest.mark.parametrize(
    ("status", "checks"),
    [
        (ScenarioStatus.PASS, BOTH),
        (ScenarioStatus.TRAP, TRAPPED),
        (ScenarioStatus.ENGINE_ERROR, {**UNKNOWN, CheckKind.ENGINE: FAIL}),
        (ScenarioStatus.INFRASTRUCTURE, {**UNKNOWN, CheckKind.DEVICE: PASS}),
        (ScenarioStatus.UNVERIFIED, {**UNKNOWN, CheckKind.COVERAGE: FAIL}),
    ],
)
def test_what_agrees_is_taken(status: ScenarioStatus, checks: dict[CheckKind, CheckStatus]) -> None:
    """A device may know what the build's stand-in for it does not."""
    expect_scenario_checks("m/s@c", status, checks)


@pytest.mark.parametrize(
    ("status", "checks", "said"),
    [
        (ScenarioStatus.TRAP, BOTH, "its status is trap, and none of its checks failed"),
        (ScenarioStatus.PARITY, UNKNOWN, "its status is parity, and none of its checks failed"),
        (ScenarioStatus.UNVERIFIED, BOTH, "its status is unverified, and its trap check passed"),
        (ScenarioStatus.TRAP, {CheckKind.TRAP: FAIL}, "it has no check of kind parity"),
        (ScenarioStatus.PASS, {}, "it has no check of kind trap"),
    ],
)
def test_a_scenario_that_ended_worse_is_refused(
    status: ScenarioStatus, checks: dict[CheckKind, CheckStatus], said: str
) -> None:
    """It is named, with what it says of itself."""
    with pytest.raises(Contradiction) as caught:
        expect_scenario_checks("m/s@c", status, checks)

    assert caught.value.message == f"scenario m/s@c: {said}"


OVER = 2_883_585
"""One byte more than the budget allows."""


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (budget(), PASS),
        (budget(status=BudgetStatus.SKIPPED), SKIPPED),
        (budget(used_bytes=OVER, status=BudgetStatus.FAIL), FAIL),
        (budget(used_bytes=OVER, waiver="new model"), PASS),
    ],
)
def test_a_budget_that_agrees_is_taken(row: BudgetRow, found: CheckStatus) -> None:
    """With its check, and with its numbers."""
    expect_budget_check(row, found)


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (budget(status=BudgetStatus.FAIL), PASS),
        (budget(used_bytes=OVER), PASS),
        (budget(used_bytes=OVER), FAIL),
        (budget(), None),
    ],
)
def test_a_budget_that_ended_worse_is_refused(row: BudgetRow, found: CheckStatus | None) -> None:
    """By its status, or by its numbers."""
    with pytest.raises(Contradiction, match="budget size:load_and_run/reduced: its status is "):
        expect_budget_check(row, found)
