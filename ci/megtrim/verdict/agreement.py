"""Whether the checks of a verdict agree with its scenarios and budgets. Pure.

The verdict follows from its checks alone, but reports show the rest, too: a document
with a trap but no failed check would be green.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

from megtrim.verdict.content import Contradiction, expect_consistent
from megtrim.verdict.statuses import (
    BudgetStatus,
    CheckKind,
    CheckStatus,
    ScenarioStatus,
    decide,
)

Verdict: TypeAlias = Any
BudgetRow: TypeAlias = Any
"""One of :mod:`~.model`, or its document with keys as attributes, which needs no schema."""

_UNKNOWN = (ScenarioStatus.INFRASTRUCTURE, ScenarioStatus.UNVERIFIED)


def expect_sound(verdict: Verdict) -> None:
    """Refuse what reports would show wrongly: an id twice, no line, another verdict."""
    for what, ids in (
        ("checks", [check.id for check in verdict.checks]),
        ("scenarios", [scenario.id for scenario in verdict.scenarios]),
    ):
        twice = Counter(ids).most_common(1)
        if twice and twice[0][1] > 1:
            msg = f"{what}: found id {twice[0][0][:60]!r} twice, expected each id once"
            raise ValueError(msg)
    for scenario in verdict.scenarios:
        expect_consistent(
            f"scenarios: {scenario.id}",
            scenario.status,
            outputs=scenario.outputs,
            missing_regions=scenario.missing_regions,
            crash=scenario.crash,
        )
    if any(check.line < 1 for check in verdict.checks):
        msg = "checks: found a line below 1, expected 1 or more"
        raise ValueError(msg)
    decided = decide(check.status for check in verdict.checks)
    if verdict.verdict != decided:
        msg = f"verdict: found {verdict.verdict}, expected what its checks add up to: {decided}"
        raise ValueError(msg)


def expect_agreement(verdict: Verdict) -> None:
    """Raise Contradiction for a scenario or budget that ended worse than its checks say."""
    by_subject: dict[str, dict[CheckKind, CheckStatus]] = {}
    for check in verdict.checks:
        by_subject.setdefault(check.subject, {})[check.kind] = check.status
    for scenario in verdict.scenarios:
        checks = by_subject.get(scenario.id, {})
        expect_scenario_checks(scenario.id, scenario.status, checks)
    for row in verdict.budgets:
        subject = name_subject(row.artifact, row.variant, row.measure)
        statuses = by_subject.get(subject, {}).values()
        expect_budget_checks(subject, row.status, statuses, exceeded=is_exceeded(row))


def name_subject(artifact: str, variant: str, measure: str) -> str:
    """Return what the checks of a budget are about; ``measure`` is empty for a file's size."""
    build = f"{artifact}/{variant}"
    return f"{build} {measure}" if measure else build


def is_oversize(row: BudgetRow) -> bool:
    """Tell whether it is larger than its limit, whatever a waiver says."""
    return bool(row.max_bytes is not None and row.size_bytes > row.max_bytes)


def is_overgrown(row: BudgetRow) -> bool:
    """Tell whether it grew more than its limit and what commits acknowledge, waiver or not."""
    if row.growth_max_bytes is None:
        return False
    acknowledged_bytes = row.acknowledged_bytes if row.acknowledged else 0
    return bool((row.growth_bytes or 0) > max(row.growth_max_bytes, acknowledged_bytes))


def is_exceeded(row: BudgetRow) -> bool:
    """Tell whether more was measured than is allowed, without a waiver."""
    return (is_oversize(row) or is_overgrown(row)) and not row.waiver


def expect_scenario_checks(
    scenario: str, status: ScenarioStatus, checks: Mapping[CheckKind, CheckStatus]
) -> None:
    """Raise Contradiction if the checks of a scenario ended better than the scenario."""
    for kind in (CheckKind.TRAP, CheckKind.PARITY):
        if kind not in checks:
            msg = f"scenario {scenario}: it has no check of kind {kind}"
            raise Contradiction(msg)
        if status in _UNKNOWN and checks[kind] == CheckStatus.PASS:
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
    broken = exceeded or status == BudgetStatus.FAIL
    if not checks or (broken and CheckStatus.FAIL not in checks):
        found = f"its status is {status}, exceeded: {str(exceeded).lower()}"
        msg = f"budget {budget}: {found}, and none of its checks failed"
        raise Contradiction(msg)
