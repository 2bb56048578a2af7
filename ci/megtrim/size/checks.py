"""The check of a budget. Pure."""

from __future__ import annotations

from megtrim.checks.check import Check
from megtrim.checks.invocation import (
    Invocation,
    suggest_for_budget,
)
from megtrim.checks.statuses import (
    CheckKind,
    CheckStatus,
)
from megtrim.size.budget_row import BudgetRow, BudgetStatus


def budget_check(row: BudgetRow, *, invocation: Invocation, file: str, line: int) -> Check:
    """Return the check of one limit, as it was judged."""
    failed = row.status is BudgetStatus.FAIL
    return Check(
        id=row.check_id,
        kind=CheckKind(row.kind),
        subject=row.subject,
        status=CheckStatus(row.status),
        text=row.text,
        hint=suggest_for_budget(lapsed=bool(row.lapsed), owner=row.owner) if failed else "",
        file=file,
        line=line,
        reproduce=invocation.again("size") if failed else "",
    )
