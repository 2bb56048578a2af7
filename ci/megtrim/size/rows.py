"""What the stage `size` found, as the verdict and the verbs show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from megtrim.chain.graph import SIZE
from megtrim.chain.session import Session, TaskResults, TrimRequest
from megtrim.checks.check import Check
from megtrim.config.yaml.problems import Place
from megtrim.size.budget_row import budget_checks, name_subject
from megtrim.size.results import SizeResult

_NOTHING = SizeResult(artifacts=(), budgets=(), baseline="")


def size_result(results: TaskResults) -> SizeResult:
    """Return what was measured; nothing where the stage did not end."""
    return results.done[SIZE].result_as(SizeResult) if SIZE in results.done else _NOTHING


def budget_places(request: TrimRequest) -> Mapping[str, Place]:
    """Return where the budgets of each subject are configured."""
    loaded = request.loaded
    return {
        name_subject(each.artifact, each.variant, each.measure): loaded.place("budgets", i)
        for i, each in enumerate(loaded.config.budgets)
    }


def budget_checks_of(session: Session) -> Iterator[Check]:
    """Yield the checks of all budgets."""
    return budget_checks(
        size_result(session.results).budgets,
        invocation=session.request.invocation,
        places=budget_places(session.request),
        start=session.request.loaded.place("budgets"),
    )
