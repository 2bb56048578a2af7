"""From the results of the stage neighbours to the rows and checks of a verdict."""

from __future__ import annotations

from pathlib import Path

from megtrim.errors import InfrastructureFailure
from megtrim.pipeline.summary.neighbours import neighbour_checks, neighbour_results
from megtrim.verdict.statuses import CheckStatus
from unit.stages.fake_device import GOOD, TRAPS
from unit.stages.neighbour_runs import opened, ran


def test_a_verdict_reports_them_and_holds_the_budget(tmp_path: Path) -> None:
    """With the line of its key, and what does not work."""
    session, task, _ = opened(tmp_path, "[iter-1, iter-3]", [GOOD, GOOD, GOOD, TRAPS])
    ran(session, task)
    rows = neighbour_results(session)
    [check] = neighbour_checks(session)

    assert [(row.scenario, row.name, row.works) for row in rows] == [
        *(("m/s@any", "iter-1", True), ("m/s@any", "iter-3", False)),
    ]
    assert (check.id, check.status, check.line) == ("neighbours:load_and_run", CheckStatus.FAIL, 7)
    assert check.text == "m/s@any: 1 of those asked for do not work: iter-3 trapped"
    assert "iter-3 (--iter 3): trapped: it trapped" in check.detail
    assert check.reproduce == "megtrim verify --config megtrim.yaml --neighbours"


def test_a_machine_that_failed_leaves_the_budget_open(tmp_path: Path) -> None:
    """Nothing is known of the product."""
    session, task, _ = opened(tmp_path, "2")
    session.results.failed[task.id] = InfrastructureFailure("the phone is gone\nfor good")
    [check] = neighbour_checks(session)

    assert neighbour_results(session) == ()
    assert (check.status, check.text) == (
        *(CheckStatus.INFRASTRUCTURE, "m/s@any: the phone is gone"),
    )
