"""Whether the checks of a verdict agree with its scenarios, budgets and times. Pure.

The verdict follows from its checks alone, but reports show the rest, too: a document
with a trap but no failed check would be green.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from megtrim.verdict.content import Contradiction
from megtrim.verdict.performance import Performance, check_status
from megtrim.verdict.statuses import BudgetStatus, CheckKind, CheckStatus, ScenarioStatus

_UNKNOWN = (ScenarioStatus.INFRASTRUCTURE, ScenarioStatus.UNVERIFIED)


def expect_scenario_checks(
    scenario: str, status: ScenarioStatus, checks: Mapping[CheckKind, CheckStatus]
) -> None:
    """Raise Contradiction if the checks of a scenario ended better than the scenario."""
    for kind in (CheckKind.TRAP, CheckKind.PARITY):
        if kind not in checks:
            msg = f"scenario {scenario}: it has no check of kind {kind}"
            raise Contradiction(msg)
        if status in _UNKNOWN and checks[kind] is CheckStatus.PASS:
            msg = f"scenario {scenario}: its status is {status}, and its {kind} check passed"
            raise Contradiction(msg)
    failed = status not in (ScenarioStatus.PASS, *_UNKNOWN)
    if failed and CheckStatus.FAIL not in checks.values():
        msg = f"scenario {scenario}: its status is {status}, and none of its checks failed"
        raise Contradiction(msg)


def expect_budget_checks(
    budget: str, status: BudgetStatus, checks: Collection[CheckStatus], *, exceeded: bool
) -> None:
    """Raise Contradiction if a budget is exceeded or has no check, and none of its checks failed.

    ``exceeded``: more was measured than it allows, and there is no waiver.
    """
    broken = exceeded or status is BudgetStatus.FAIL
    if not checks or (broken and CheckStatus.FAIL not in checks):
        found = f"its status is {status}, exceeded: {str(exceeded).lower()}"
        msg = f"budget {budget}: {found}, and none of its checks failed"
        raise Contradiction(msg)


def expect_latency_checks(performance: Performance, statuses: Mapping[str, CheckStatus]) -> None:
    """Raise Contradiction if a row has no latency check, or one of another status.

    ``statuses``: of the latency checks, by subject.
    """
    for row in performance.all_rows:
        expected = check_status(row.status, performance.inconclusive)
        found = statuses.get(row.subject)
        if found is not expected:
            seen = "none" if found is None else str(found)
            msg = f"performance: {row.subject}: found a check of status {seen}, expected {expected}"
            raise Contradiction(msg)
