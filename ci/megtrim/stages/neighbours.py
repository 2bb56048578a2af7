"""Stage `neighbours`: runs near each scenario, on plain and on every trimmed build.

It measures what trimming costs: what the plain build can do with a neighbour is what is expected of
the others. Each neighbour is a result of its own, keyed by what it rests on: a run that was cut
off goes on where it was, and a new neighbour runs alone. Nothing fails here unless a budget asks.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from megtrim.config.scenarios import Scenario
from megtrim.devices.retry import run_with_retries
from megtrim.pipeline.building import programs
from megtrim.pipeline.filenames import CACHE_FILE, KEEP_SET_FILE
from megtrim.pipeline.running import neighbour_plan, neighbour_traps
from megtrim.pipeline.running.execution import RunResult
from megtrim.pipeline.running.neighbour_runs import Attempt, Build, RunObservation, attempt
from megtrim.pipeline.running.scenario_runs import scenario_of
from megtrim.pipeline.running.symbolizing_link import ensure_named_program
from megtrim.pipeline.session import Context, scenario_inputs
from megtrim.plan.graph import (
    PLAIN,
    REDUCED,
    REGION,
    Stage,
    Task,
    keep_task,
    search_task,
    trims_functions,
    trims_plain_build,
)
from megtrim.plan.neighbours import Neighbour
from megtrim.store import sha256_file
from megtrim.verdict.codec import decode, encode
from megtrim.verdict.neighbours import NeighbourResult, unmet, working


def inputs(task: Task, context: Context) -> dict[str, str]:
    """Name the programs, the neighbours that are tried, what a budget asks, and all of a run."""
    scenario = scenario_of(task)
    budget = neighbour_plan.budget_of(scenario, context)
    tried = neighbour_plan.near(scenario, context)
    return _run_inputs(scenario, context) | {
        **{f"neighbour {each.name}": repr(each) for each in tried},
        "other dumps": " ".join(sha256_file(context.path(p)) for p in scenario.model.also),
        "asked": str(neighbour_plan.asked_of(budget)) if budget else "",
    }


def work(task: Task, context: Context, folder: Path) -> dict[str, Any]:
    """Try every neighbour; a budget that is not kept makes the exit status."""
    scenario = scenario_of(task)
    rows = tuple(
        _evaluate_neighbour(each, scenario, context)
        for each in neighbour_plan.near(scenario, context)
    )
    context.console.say(f"  {scenario.id}: {working(rows)}")
    budget = neighbour_plan.budget_of(scenario, context)
    short = unmet(neighbour_plan.asked_of(budget), rows) if budget else ""
    return {
        "scenario": scenario.id,
        "neighbours": encode(rows),
        "unmet": short,
        "exit code": 1 if short else 0,
    }


def _run_inputs(scenario: Scenario, context: Context) -> dict[str, str]:
    named_ = scenario_inputs(scenario, context)
    if scenario.searches:
        named_["algorithm cache"] = context.done[search_task(scenario)].files[CACHE_FILE]
    for label, task in (("plain", PLAIN), *_levels(context)):
        named_ |= programs.digests(scenario, context, task, label)
    return named_ | {
        # What a run that trapped lacked is told by it.
        "keep set": context.done[keep_task(context.loaded.config)].files[KEEP_SET_FILE],
        "tolerance": repr(scenario.settings.allowed),
    }


def _evaluate_neighbour(
    neighbour: Neighbour, scenario: Scenario, context: Context
) -> NeighbourResult:
    """Return what came of one neighbour, from the store where up to date."""
    rests_on = _run_inputs(scenario, context) | _binding(neighbour, context)

    def produce(folder: Path) -> dict[str, Any]:
        seen = _run(neighbour, scenario, context, folder)
        row = NeighbourResult(
            scenario=scenario.id,
            name=neighbour.name,
            kind=neighbour.kind,
            what=neighbour.what,
            text=seen.text,
            levels=seen.levels,
        )
        context.console.say(f"    near  {neighbour.name}: {_line(row)}")
        return {"neighbour": encode(row)}

    name = f"{scenario.id}#{neighbour.name}"
    folder, _ = context.store.ensure(Stage.NEIGHBOURS, name, rests_on, produce)
    found: NeighbourResult = decode(NeighbourResult, folder.result["neighbour"], "neighbour")
    return found


def _binding(neighbour: Neighbour, context: Context) -> dict[str, str]:
    model = "" if neighbour.model is None else sha256_file(context.path(neighbour.model))
    return {"neighbour": repr(neighbour), "neighbour model": model}


def _line(row: NeighbourResult) -> str:
    if not row.levels:
        return f"does not apply, on plain: {row.text}"
    return ", ".join(f"{each.level} {each.outcome}" for each in row.levels)


def _run(
    neighbour: Neighbour, scenario: Scenario, context: Context, folder: Path
) -> RunObservation:
    plain = programs.program(scenario, context, context.done[PLAIN])
    wanted = Attempt(
        spec=neighbour_plan.order_of(neighbour, scenario, context, plain, folder / "inputs"),
        builds=tuple(_builds(scenario, context)),
        complains=neighbour_plan.complains(neighbour),
        searches=neighbour.searches,
        tolerance=scenario.settings.allowed,
    )

    def note(build: str, seen: RunResult) -> None:
        log = f"{seen.run.stdout}{seen.run.stderr}exit status {seen.run.rc}\n"
        (folder / f"{build}.log").write_text(log, encoding="utf-8")

    seen = run_with_retries(
        context.device(scenario),
        lambda lease: attempt(wanted, lease, note),
        say=context.console.say,
    )
    shutil.rmtree(folder / "inputs", ignore_errors=True)  # made again whenever they are needed
    return seen


def _levels(context: Context) -> Iterator[tuple[str, str]]:
    """Yield each level of trimming and the task that built it, the shipped one last."""
    config = context.loaded.config
    if trims_functions(config) and not trims_plain_build(config):
        yield "region", REGION
    yield ("function" if trims_functions(config) else "region"), REDUCED


def _builds(scenario: Scenario, context: Context) -> Iterator[Build]:
    for level, task in _levels(context):
        link = ensure_named_program(scenario, context) if level == "function" else None
        program = programs.program(scenario, context, context.done[task])
        needs = neighbour_traps.needs_of(scenario, context, link)
        yield Build(level=level, program=program, needs=needs)
