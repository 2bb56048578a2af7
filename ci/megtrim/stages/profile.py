"""Stage `profile`: each scenario runs on the profile build and leaves its trace.

A scenario with ``fast_run`` first lets the *plain* build search for algorithms (its timings are
true), then is traced with the cache that the search left. The search is timing and cannot be
repeated: its cache is a recorded input, and everything after it is a function of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from megtrim.config.scenarios import Scenario
from megtrim.errors import ProductFailure
from megtrim.loadrun.logs import error_message
from megtrim.loadrun.outcome import Ending, ProgramRun, ending
from megtrim.midout.trace import check_trace, promised_items
from megtrim.plan.graph import PLAIN, PROFILE, SEARCH_SUFFIX, Task, search_task
from megtrim.stages import runs
from megtrim.stages.context import Context, binary, binary_digest, scenario_inputs
from megtrim.stages.files import CACHE_FILE, TRACE_FILE
from megtrim.stages.scenarios import cache_of, order_for, scenario_of


def inputs(task: Task, context: Context) -> dict[str, str]:
    """Name the program and all that binds the run."""
    scenario = scenario_of(task)
    named = scenario_inputs(scenario, context)
    if task.name.endswith(SEARCH_SUFFIX):
        return named | {"program": binary_digest(context.done[PLAIN], context.target())}
    if scenario.searches:
        named["algorithm cache"] = context.done[search_task(scenario)].files[CACHE_FILE]
    return named | {"program": binary_digest(context.done[PROFILE], context.target())}


def work(task: Task, context: Context, folder: Path) -> dict[str, Any]:
    """Search or trace."""
    if task.name.endswith(SEARCH_SUFFIX):
        return _search(scenario_of(task), context, folder)
    return _trace(scenario_of(task), context, folder)


def _search(scenario: Scenario, context: Context, folder: Path) -> dict[str, Any]:
    program = binary(context.done[PLAIN], context.target())
    order = order_for(scenario, context, program, cache=None, search=True)
    evidence = runs.run_on(context.device(scenario), order)
    _write_log(folder, evidence.run)
    _expect_success(scenario, evidence.run, "plain")
    if not evidence.cache:
        msg = f"{scenario.id}: the search ended well and left no algorithm cache"
        raise ProductFailure(msg, hint="does the model hold an operator with several algorithms?")
    (folder / CACHE_FILE).write_bytes(evidence.cache)
    return {"time_s": evidence.run.wall_s}


def _trace(scenario: Scenario, context: Context, folder: Path) -> dict[str, Any]:
    program = binary(context.done[PROFILE], context.target())
    order = order_for(scenario, context, program, cache=cache_of(scenario, context))
    evidence = runs.run_on(context.device(scenario), order)
    _write_log(folder, evidence.run)
    _expect_success(scenario, evidence.run, "profile")
    promised = promised_items(evidence.run.stderr)
    trace = check_trace(evidence.trace, promised=promised, source=f"trace of {scenario.id}")
    (folder / TRACE_FILE).write_bytes(evidence.trace or b"")
    return {
        "regions": len(trace.regions),
        "trace": trace.sha256,
        "device": {
            "name": context.device(scenario).name,
            "facts": context.device(scenario).facts(),
        },
        "time_s": evidence.run.wall_s,
    }


def _expect_success(scenario: Scenario, run: ProgramRun, variant: str) -> None:
    how = ending(run)
    if how is Ending.PASSED:
        return
    said = error_message(run.stderr) or "it said nothing"
    msg = f"{scenario.id}: the {variant} build ended with {run.rc} ({how}): {said}"
    raise ProductFailure(msg, hint="the model, its arguments or its inputs do not work untrimmed")


def _write_log(folder: Path, run: ProgramRun) -> None:
    text = f"$ {' '.join(run.argv)}\n{run.stdout}{run.stderr}exit status {run.rc}\n"
    (folder / "run.log").write_text(text, encoding="utf-8")
