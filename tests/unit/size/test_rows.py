"""From the result of the stage that measures sizes to its checks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from megtrim.chain.graph import SIZE
from megtrim.checks.statuses import CheckStatus
from megtrim.config.load import load_config
from megtrim.size.budget_row import BudgetStatus
from megtrim.size.rows import budget_checks_of, size_result
from unit.trim.stages.built import finish
from unit.trim.stages.results import BUDGET
from unit.trim.stages.support import CONFIG, changed, open_session

BUDGETS = "budgets:\n- {artifact: other, max: 1 MiB}\n- {artifact: load_and_run, max: 400}\n"


def test_a_budget_is_checked_at_its_line(tmp_path: Path) -> None:
    """With the status that the stage gave it; the stage may have failed."""
    session, _ = open_session(tmp_path)
    text = f"{CONFIG}artifacts: [load_and_run, other]\n{BUDGETS}"
    (tmp_path / "megtrim.yaml").write_text(text, encoding="utf-8")
    session = changed(session, loaded=load_config(tmp_path / "megtrim.yaml"))
    assert list(budget_checks_of(session)) == []

    finish(session, SIZE, {}, budgets=(replace(BUDGET, status=BudgetStatus.FAIL, max_bytes=200),))

    [row] = size_result(session.results).budgets
    assert (row.status, row.used_bytes, row.max_bytes) == (BudgetStatus.FAIL, 300, 200)
    [check] = budget_checks_of(session)
    assert (check.status, check.line, check.file) == (CheckStatus.FAIL, 8, "megtrim.yaml")
