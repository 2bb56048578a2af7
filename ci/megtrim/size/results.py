"""Results of the stages that measure sizes. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from megtrim.chain.stage_result import StageResult
from megtrim.size.artifact_sizes import ArtifactSizes
from megtrim.size.budget_row import BudgetRow, BudgetStatus
from megtrim.size.growth.inputs import Cause, CauseNote
from megtrim.util.errors import EXIT_PASS, ProductFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeResult(StageResult):
    """Of the stage `size`: every artifact, and every budget that limits one."""

    artifacts: tuple[ArtifactSizes, ...]
    budgets: tuple[BudgetRow, ...]
    baseline: str
    """Where the baseline is from; empty: there is none."""
    causes: tuple[Cause, ...] = ()
    """What differs from what the baseline was made from."""
    notes: tuple[CauseNote, ...] = ()
    """More about each of them."""

    @property
    def exit_code(self) -> int:
        """1 where a budget is exceeded."""
        exceeded = any(each.status is BudgetStatus.FAIL for each in self.budgets)
        return ProductFailure.exit_code if exceeded else EXIT_PASS
