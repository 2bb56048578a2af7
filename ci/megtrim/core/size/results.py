"""The result of the stage `size`, and how the verdict and the verbs read it."""

from collections.abc import Iterator, Mapping

from megtrim.core.chain.graph import SIZE
from megtrim.core.chain.session import Session, TaskResults, TrimRequest
from megtrim.core.chain.stage_result import StageResult
from megtrim.core.checks.check import Check
from megtrim.core.checks.statuses import CheckKind, CheckStatus
from megtrim.core.config.problems import Place, listing
from megtrim.core.config.units import PEAK, WORK
from megtrim.core.size.growth.causes import Cause, CauseNote
from megtrim.core.size.rows import ArtifactSizes, BudgetRow, budget_checks, name_subject
from megtrim.libs.util.errors import EXIT_PASS, InfrastructureFailure, ProductFailure
from megtrim.libs.util.wording import count


class SizeResult(StageResult):
    artifacts: tuple[ArtifactSizes, ...]
    budgets: tuple[BudgetRow, ...]
    baseline: str
    """Where the baseline is from; empty: there is none."""
    causes: tuple[Cause, ...] = ()
    notes: tuple[CauseNote, ...] = ()

    @property
    def exit_code(self) -> int:
        statuses = {budget.status for budget in self.budgets}
        if CheckStatus.FAIL in statuses:
            return ProductFailure.exit_code
        lost = CheckStatus.INFRASTRUCTURE in statuses
        return InfrastructureFailure.exit_code if lost else EXIT_PASS


_MOST_NAMED = 3
NO_BASELINE = "none: "
"""What stands before the reason why there are no sizes to compare with."""


def warn_of_growth(found: SizeResult) -> tuple[str, ...]:
    """Return a line if growth is limited, and what it is limited against is missing.

    A limit that fails, or is inconclusive, says so itself.
    """
    unchecked = [
        row
        for row in found.budgets
        if row.kind is CheckKind.GROWTH
        and row.status is CheckStatus.SKIPPED
        and row.limit is not None
        and row.used is None
    ]
    if not unchecked or not found.baseline:
        return ()
    limits = count(len(unchecked), "limit")
    if found.baseline.startswith(NO_BASELINE):
        why = found.baseline.removeprefix(NO_BASELINE)
        return (f"{limits} of growth not checked: {why}; --require-baseline refuses that",)
    lacking = listing([row.name for row in unchecked[:_MOST_NAMED]])
    if len(unchecked) > _MOST_NAMED:
        lacking += f" and {len(unchecked) - _MOST_NAMED} more"
    return (f"{limits} of growth not checked: {found.baseline} has no figure of {lacking}",)


_NOTHING = SizeResult(artifacts=(), budgets=(), baseline="")


def size_result(results: TaskResults) -> SizeResult:
    return results.done[SIZE].result_as(SizeResult) if SIZE in results.done else _NOTHING


def budget_places(request: TrimRequest) -> Mapping[str, Place]:
    loaded = request.loaded
    places = {
        name_subject(each.artifact, each.variant, each.measure): loaded.place("budgets", i)
        for i, each in enumerate(loaded.config.budgets)
    }
    return places | {PEAK: loaded.place("memory"), WORK: loaded.place("work")}


def budget_checks_of(session: Session) -> Iterator[Check]:
    return budget_checks(
        size_result(session.results).budgets,
        invocation=session.request.invocation,
        places=budget_places(session.request),
        start=session.request.loaded.place("budgets"),
    )
