"""From a task's scenario to a run of it: which files, which algorithm cache."""

from __future__ import annotations

from pathlib import Path

from megtrim.config.scenarios import Scenario
from megtrim.plan.graph import Task, search_task
from megtrim.stages.context import Context
from megtrim.stages.runs import CACHE, RunOrder


def scenario_of(task: Task) -> Scenario:
    """Return the scenario of a task that has one by construction."""
    if task.scenario is None:
        msg = f"{task.id} has no scenario"
        raise TypeError(msg)
    return task.scenario


def cache_of(scenario: Scenario, context: Context) -> Path | None:
    """Return the algorithm cache a scenario runs with: recorded by the team, or searched."""
    if scenario.settings.algo_cache is not None:
        return context.path(scenario.settings.algo_cache)
    if scenario.searches:
        return context.done[search_task(scenario)].file(CACHE)
    return None


def order_for(
    scenario: Scenario,
    context: Context,
    program: Path,
    *,
    cache: Path | None,
    search: bool = False,
) -> RunOrder:
    """Return the run of a scenario with one of the built programs."""
    settings = scenario.settings
    return RunOrder(
        program=program,
        model=context.path(scenario.model.file),
        arguments=settings.args,
        inputs={name: context.path(path) for name, path in settings.inputs.items()},
        threads=settings.threads,
        timeout_s=settings.timeout_s,
        cache=cache,
        search=search,
    )
