"""What the results of stages exit with, and that each is read back as it was written."""

from dataclasses import replace
from typing import Any

import pytest

from megtrim.chain.stage_result import StageResult, dump_result, parse_result
from megtrim.checks.statuses import ScenarioStatus, VerdictKind
from megtrim.proof.neighbours.model import NeighboursResult
from megtrim.proof.results import VerifyResult
from megtrim.size.results import SizeResult
from megtrim.size.rows import BudgetStatus
from megtrim.verdict.model import VerdictResult
from unit.trim.stages.results import BUDGET, OUTCOME, SAMPLES, sample


@pytest.mark.parametrize("kind", SAMPLES, ids=lambda each: each.__name__)
def test_a_result_is_read_back_as_it_was_written(kind: type[StageResult]) -> None:
    result = SAMPLES[kind]

    assert parse_result(kind, dump_result(result)) == result


@pytest.mark.parametrize(
    ("kind", "changes", "status"),
    [
        (VerifyResult, {}, 0),
        (VerifyResult, {"outcome": replace(OUTCOME, status=ScenarioStatus.TRAP)}, 1),
        (VerifyResult, {"outcome": replace(OUTCOME, status=ScenarioStatus.PARITY)}, 1),
        (NeighboursResult, {}, 0),
        (SizeResult, {}, 0),
        (SizeResult, {"budgets": ()}, 0),
        (SizeResult, {"budgets": (BUDGET, replace(BUDGET, status=BudgetStatus.FAIL))}, 1),
        (VerdictResult, {}, 0),
        (VerdictResult, {"verdict": VerdictKind.FAIL}, 1),
    ],
)
def test_a_result_that_is_a_product_failure_exits_with_1(
    kind: type[StageResult], changes: dict[str, Any], status: int
) -> None:
    assert sample(kind, **changes).exit_code == status
