"""The sign and the word by which Markdown says how something ended; never the sign alone.

Pure; part of the report room.
"""

from __future__ import annotations

from megtrim.verdict.statuses import BudgetStatus, CheckStatus, VerdictKind

VERDICT_SIGNS = {
    VerdictKind.PASS: "✅",
    VerdictKind.FAIL: "❌",
    VerdictKind.UNVERIFIED: "⚠️",
    VerdictKind.INCONCLUSIVE: "❔",
}
CHECK_SIGNS = {
    CheckStatus.PASS: "✅ pass",
    CheckStatus.FAIL: "❌ fail",
    CheckStatus.INFRASTRUCTURE: "⚠️ infrastructure",
    CheckStatus.UNVERIFIED: "⚠️ unverified",
    CheckStatus.INCONCLUSIVE: "❔ inconclusive",
    CheckStatus.SKIPPED: "◽ skipped",
}
BUDGET_SIGNS = {
    BudgetStatus.PASS: CHECK_SIGNS[CheckStatus.PASS],
    BudgetStatus.FAIL: CHECK_SIGNS[CheckStatus.FAIL],
    BudgetStatus.SKIPPED: CHECK_SIGNS[CheckStatus.SKIPPED],
}
