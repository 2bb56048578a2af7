"""From the results of the stages that measure sizes to what a verdict shows of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from megtrim.chain.graph import SIZE
from megtrim.chain.session import Session
from megtrim.checks.statuses import CheckStatus
from megtrim.config.load import load_config
from megtrim.size.budget_row import BudgetStatus
from megtrim.size.results import ArtifactSize, SizeResult
from megtrim.size.rows import (
    artifact_sizes,
    baseline_text,
    budget_checks_of,
    budget_rows,
)
from unit.trim.stages.built import finish
from unit.trim.stages.results import BUDGET, sample
from unit.trim.stages.support import CONFIG, changed, open_session

BUDGETS = "budgets:\n- {artifact: other, max: 1 MiB}\n- {artifact: load_and_run, max: 400}\n"


def opened(folder: Path, more: str = "") -> Session:
    session, _ = open_session(folder)
    (folder / "megtrim.yaml").write_text(CONFIG + more, encoding="utf-8")
    return changed(session, loaded=load_config(folder / "megtrim.yaml"))


def size(variant: str, size_bytes: int, growth_bytes: int | None = None) -> ArtifactSize:
    return ArtifactSize(
        artifact="load_and_run",
        variant=variant,
        size_bytes=size_bytes,
        growth_bytes=growth_bytes,
        groups=(("code", size_bytes),),
    )


def test_without_results_there_is_nothing_to_show(tmp_path: Path) -> None:
    """The stage may have failed."""
    session = opened(tmp_path)

    assert artifact_sizes(session) == ()
    assert budget_rows(session.results) == ()
    assert list(budget_checks_of(session)) == []
    assert baseline_text(session.results) == ""


def test_shares_are_of_the_plain_build(tmp_path: Path) -> None:
    """Whatever was measured first."""
    session = opened(tmp_path)
    rows = (size("reduced", 300, growth_bytes=7), size("plain", 900), size("profile", 1200))
    finish(session, SIZE, {}, artifacts=rows)

    [artifact] = artifact_sizes(session)
    assert artifact.name == "load_and_run"
    assert [(each.variant, each.share, each.growth_bytes) for each in artifact.sizes] == [
        ("reduced", 300 / 900, 7),
        ("plain", 1.0, None),
        ("profile", 1200 / 900, None),
    ]
    assert artifact.sizes[0].sections == (("code", 300),)
    assert baseline_text(session.results) == sample(SizeResult).baseline


def test_a_budget_is_checked_at_its_line(tmp_path: Path) -> None:
    """With the status that the stage gave it."""
    session = opened(tmp_path, "artifacts: [load_and_run, other]\n" + BUDGETS)
    finish(session, SIZE, {}, budgets=(replace(BUDGET, status=BudgetStatus.FAIL, max_bytes=200),))

    [row] = budget_rows(session.results)
    assert (row.status, row.used_bytes, row.max_bytes) == (BudgetStatus.FAIL, 300, 200)
    [check] = budget_checks_of(session)
    assert (check.status, check.line, check.file) == (CheckStatus.FAIL, 8, "megtrim.yaml")
