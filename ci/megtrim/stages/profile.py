"""Stage `profile`: each scenario runs on the profile build and leaves its trace.

A scenario with ``fast_run`` first lets the *plain* build search for algorithms (its timings are
true), then is traced with the cache that the search left. The search is timing and cannot be
repeated: its cache is a recorded input, and everything after it is a function of it.

A trace that a device job brought is used as it is, if it is bound to what is built here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from megtrim.config.scenarios import Scenario
from megtrim.devices import Lease
from megtrim.devices.retry import run_with_retries
from megtrim.errors import InputError
from megtrim.evidence.bundle import binding, deviceless
from megtrim.evidence.imported import ImportedEvidence
from megtrim.load_and_run.exit_status import ProgramRun
from megtrim.midout.trace import parse_trace
from megtrim.pipeline.building import programs
from megtrim.pipeline.filenames import CACHE_FILE, TRACE_FILE
from megtrim.pipeline.running import imported_evidence, tracing
from megtrim.pipeline.running.execution import RunResult
from megtrim.pipeline.running.scenario_runs import cache_of, make_run_spec, scenario_of
from megtrim.pipeline.session import Context, scenario_inputs
from megtrim.plan.graph import PLAIN, PROFILE, SEARCH_SUFFIX, Task, search_task

_TRACE = "trace"


def inputs(task: Task, context: Context) -> dict[str, str]:
    """Name the program and all that binds the run, or the trace that was taken elsewhere."""
    scenario = scenario_of(task)
    is_search = task.name.endswith(SEARCH_SUFFIX)
    given = imported_evidence.of(scenario, context.traced, _TRACE)
    if given is not None:
        named = named_inputs(scenario, context)
        digest = given.cache_sha256 if is_search else given.trace_sha256
        return named | {"taken elsewhere": digest or "", "by": given.device.name}
    named = scenario_inputs(scenario, context)
    if is_search:
        return named | programs.digests(scenario, context, PLAIN, "program")
    if scenario.searches:
        named["algorithm cache"] = context.done[search_task(scenario)].files[CACHE_FILE]
    return named | programs.digests(scenario, context, PROFILE, "program")


def named_inputs(scenario: Scenario, context: Context) -> dict[str, str]:
    """Name what a trace taken elsewhere rests on: all but the device, and what it searches for."""
    named = deviceless(scenario_inputs(scenario, context))
    if scenario.searches:
        named |= programs.digests(scenario, context, PLAIN, "searching program")
    return named | programs.digests(scenario, context, PROFILE, "program")


def work(task: Task, context: Context, folder: Path) -> dict[str, Any]:
    """Search or trace, or take what a device job brought."""
    scenario = scenario_of(task)
    is_search = task.name.endswith(SEARCH_SUFFIX)
    given = imported_evidence.of(scenario, context.traced, _TRACE)
    if given is not None:
        imported_evidence.expect_fitting(given, binding(named_inputs(scenario, context)), _TRACE)
        take = _take_cache if is_search else _take_trace
        return take(given, folder)
    return (_search if is_search else _trace)(scenario, context, folder)


def _take_cache(given: ImportedEvidence, folder: Path) -> dict[str, Any]:
    cache = given.load_cache()
    if not cache:
        msg = f"{given.scenario}: the device job brought no algorithm cache"
        raise InputError(msg, hint=imported_evidence.ANOTHER)
    (folder / CACHE_FILE).write_bytes(cache)
    return {"time_s": given.time_s}


def _take_trace(given: ImportedEvidence, folder: Path) -> dict[str, Any]:
    data = given.load_trace() or b""
    trace = parse_trace(data, source=str(given.trace))
    (folder / TRACE_FILE).write_bytes(data)
    device = {"name": given.device.name, "facts": dict(given.device.facts)}
    return _summarize_trace(len(trace.regions), trace.sha256, device, given.time_s)


def _search(scenario: Scenario, context: Context, folder: Path) -> dict[str, Any]:
    program = programs.program(scenario, context, context.done[PLAIN])
    spec = make_run_spec(scenario, context, program, cache=None, search=True)

    def attempt(lease: Lease) -> tuple[bytes, ProgramRun]:
        return tracing.search(scenario.id, spec, lease, lambda seen: _write_log(folder, seen))

    cache, run = run_with_retries(context.device(scenario), attempt, say=context.console.say)
    (folder / CACHE_FILE).write_bytes(cache)
    return {"time_s": run.wall_s}


def _trace(scenario: Scenario, context: Context, folder: Path) -> dict[str, Any]:
    program = programs.program(scenario, context, context.done[PROFILE])
    spec = make_run_spec(scenario, context, program, cache=cache_of(scenario, context))

    def attempt(lease: Lease) -> dict[str, Any]:
        told = {"name": lease.name, "facts": lease.facts()}
        trace, data, run = tracing.trace(
            scenario.id, spec, lease, lambda seen: _write_log(folder, seen)
        )
        (folder / TRACE_FILE).write_bytes(data)
        return _summarize_trace(len(trace.regions), trace.sha256, told, run.wall_s)

    return run_with_retries(context.device(scenario), attempt, say=context.console.say)


def _summarize_trace(
    regions: int, sha256: str, device: dict[str, Any], time_s: float
) -> dict[str, Any]:
    return {"regions": regions, "trace": sha256, "device": device, "time_s": time_s}


def _write_log(folder: Path, seen: RunResult) -> None:
    run: ProgramRun = seen.run
    text = f"$ {' '.join(run.argv)}\n{run.stdout}{run.stderr}exit status {run.rc}\n"
    (folder / "run.log").write_text(text, encoding="utf-8")
