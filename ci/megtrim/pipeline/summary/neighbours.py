"""From the results of the stage `neighbours` to what a verdict shows of them, and its checks."""

from __future__ import annotations

from collections.abc import Iterator

from megtrim.config.model import Budget
from megtrim.config.scenarios import Scenario, all_scenarios
from megtrim.pipeline.results import NeighboursResult
from megtrim.pipeline.running import neighbour_plan
from megtrim.pipeline.session import Context
from megtrim.plan.graph import neighbours_task
from megtrim.plan.neighbours import select_scenarios
from megtrim.verdict.model import Check
from megtrim.verdict.neighbour_checks import Demand, demand_check
from megtrim.verdict.neighbours import NeighbourResult


def neighbour_results(context: Context) -> tuple[NeighbourResult, ...]:
    """Return the neighbours of all scenarios; nothing where none were tried."""
    every = all_scenarios(context.loaded.config)
    return tuple(row for each in every for row in _of(each, context))


def neighbour_checks(context: Context) -> Iterator[Check]:
    """Yield a check for each budget that asks for neighbours."""
    for index, budget in enumerate(context.loaded.config.budgets):
        if budget.neighbours is not None:
            yield demand_check(_demand(index, budget, context))


def _demand(index: int, budget: Budget, context: Context) -> Demand:
    loaded = context.loaded
    mine = [
        each
        for each in select_scenarios(loaded.config, asked=False)
        if neighbour_plan.budget_of(each, context) == budget
    ]
    return Demand(
        artifact=budget.artifact,
        asked=neighbour_plan.asked_of(budget),
        found={each.id: _of(each, context) for each in mine if _is_done(each, context)},
        lost={each.id: _why(each, context) for each in mine if not _is_done(each, context)},
        file=loaded.path.name,
        line=loaded.line("budgets", index, "neighbours"),
        invocation=context.invocation,
    )


def _of(scenario: Scenario, context: Context) -> tuple[NeighbourResult, ...]:
    if not _is_done(scenario, context):
        return ()
    return context.done[neighbours_task(scenario)].result_as(NeighboursResult).neighbours


def _is_done(scenario: Scenario, context: Context) -> bool:
    return neighbours_task(scenario) in context.done


def _why(scenario: Scenario, context: Context) -> str:
    failure = context.failed.get(neighbours_task(scenario))
    if failure is None:
        return "its neighbours were not tried: a stage before did not succeed"
    return failure.message.splitlines()[0]
