"""Whether the checks of a verdict agree with its scenarios and budgets. Pure.

The verdict follows from its checks alone, but reports show the rest, too: a document
with a trap but no failed check would be green.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeAlias

from megtrim.verdict.content import Contradiction, expect_consistent
from megtrim.verdict.statuses import CheckKind, CheckStatus, ScenarioStatus, decide

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
    found = {(check.kind, check.subject): check.status for check in verdict.checks}
    for row in verdict.budgets:
        subject = f"{row.artifact}/{row.variant} {row.measure}".rstrip()
        expect_budget_check(row, found.get((row.kind, subject)))


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


def expect_budget_check(row: BudgetRow, found: CheckStatus | None) -> None:
    """Raise Contradiction if a limit has no check, or one of another status.

    More than it allows, without a waiver, is a failure whatever the row says.
    """
    used, most = row.used_bytes, row.max_bytes
    exceeded = used is not None and most is not None and used > most and not row.waiver
    if found != row.status or (exceeded and row.status != CheckStatus.FAIL):
        shown = f"exceeded: {str(exceeded).lower()}, and its check is {found or 'none'}"
        msg = f"budget {row.kind}:{row.artifact}/{row.variant}: its status is {row.status}, {shown}"
        raise Contradiction(msg)
