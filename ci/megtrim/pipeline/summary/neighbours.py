"""From the results of the stage `neighbours` to what a verdict shows of them, and its checks."""

from __future__ import annotations

from collections.abc import Iterator

from megtrim.config.model import Budget
from megtrim.config.scenarios import Scenario, all_scenarios
from megtrim.pipeline.results import NeighboursResult
from megtrim.pipeline.running import neighbour_plan
from megtrim.pipeline.session import Session, TaskResults
from megtrim.plan.graph import neighbours_task
from megtrim.plan.neighbours import select_scenarios
from megtrim.verdict.model import Check
from megtrim.verdict.neighbour_checks import Demand, demand_check
from megtrim.verdict.neighbours import NeighbourResult


def neighbour_results(session: Session) -> tuple[NeighbourResult, ...]:
    """Return the neighbours of all scenarios; nothing where none were tried."""
    every = all_scenarios(session.request.config)
    return tuple(row for each in every for row in _of(each, session.results))


def neighbour_checks(session: Session) -> Iterator[Check]:
    """Yield a check for each budget that asks for neighbours."""
    for index, budget in enumerate(session.request.config.budgets):
        if budget.neighbours is not None:
            yield demand_check(_demand(index, budget, session))


def _demand(index: int, budget: Budget, session: Session) -> Demand:
    loaded = session.request.loaded
    mine = [
        each
        for each in select_scenarios(loaded.config, asked=False)
        if neighbour_plan.budget_of(each, session.request) == budget
    ]
    return Demand(
        artifact=budget.artifact,
        asked=neighbour_plan.asked_of(budget),
        found={
            each.id: _of(each, session.results) for each in mine if _is_done(each, session.results)
        },
        lost={
            each.id: _why(each, session.results)
            for each in mine
            if not _is_done(each, session.results)
        },
        file=loaded.path.name,
        line=loaded.line("budgets", index, "neighbours"),
        invocation=session.request.invocation,
    )


def _of(scenario: Scenario, results: TaskResults) -> tuple[NeighbourResult, ...]:
    if not _is_done(scenario, results):
        return ()
    return results.done[neighbours_task(scenario)].result_as(NeighboursResult).neighbours


def _is_done(scenario: Scenario, results: TaskResults) -> bool:
    return neighbours_task(scenario) in results.done


def _why(scenario: Scenario, results: TaskResults) -> str:
    failure = results.failed.get(neighbours_task(scenario))
    if failure is None:
        return "its neighbours were not tried: a stage before did not succeed"
    return failure.title
