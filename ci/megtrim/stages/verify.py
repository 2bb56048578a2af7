"""Stage `verify`: each scenario runs on the plain and on the reduced build.

Outputs are compared; a run that ends badly is explained by difference: the *profile* build
runs the same scenario, the keep set is subtracted, and what is missing is named. Where nothing
is missing it is no trimming fault but an engine error, told in the profile build's own words
(a minimum-size build traps on any error and prints nothing).
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from megtrim.config.scenarios import Scenario
from megtrim.devices import Lease
from megtrim.devices.retry import keep_first_failure, run_with_retries
from megtrim.evidence.bundle import binding
from megtrim.midout.keepset import read_keep_set
from megtrim.pipeline.building import programs
from megtrim.pipeline.filenames import CACHE_FILE, KEEP_SET_FILE
from megtrim.pipeline.running.execution import RunResult
from megtrim.pipeline.running.scenario_runs import (
    cache_of,
    expect_as_traced,
    make_run_spec,
    scenario_of,
)
from megtrim.pipeline.running.symbolizing_link import ensure_named_program
from megtrim.pipeline.running.verification import TrapBeforeFailure, VerificationCase, prove
from megtrim.pipeline.session import Context, scenario_inputs
from megtrim.plan.graph import (
    PLAIN,
    PROFILE,
    REDUCED,
    Task,
    keep_task,
    search_task,
    trims_functions,
)
from megtrim.store import StageFolder, code_digest


def inputs(task: Task, context: Context) -> dict[str, str]:
    """Name the two programs, the keep set, the tolerance, and all that binds the run.

    The profile build is none of them: it explains a bad end, it does not change one.
    """
    return named_inputs(scenario_of(task), context) | {
        # What is said of a trap: a committed list may lack what a scenario runs.
        "committed": str(context.committed),
    }


def named_inputs(scenario: Scenario, context: Context) -> dict[str, str]:
    """Name what a verification of a scenario rests on; see :func:`inputs`."""
    named = scenario_inputs(scenario, context)
    if scenario.searches:
        named["algorithm cache"] = context.done[search_task(scenario)].files[CACHE_FILE]
    return named | {
        **programs.digests(scenario, context, PLAIN, "plain"),
        **programs.digests(scenario, context, REDUCED, "reduced"),
        "keep set": _keep_set(context).files[KEEP_SET_FILE],
        "tolerance": repr(scenario.settings.allowed),
        # A proof of another version, which may have compared otherwise, proves nothing to this one.
        "megtrim": code_digest(),
    }


def work(task: Task, context: Context, folder: Path) -> dict[str, Any]:
    """Run, compare, explain. A product failure is a result; the verdict judges it."""
    scenario = scenario_of(task)
    keep = read_keep_set(_keep_set(context).file(KEEP_SET_FILE))
    expect_as_traced(scenario, context, keep)

    def note(build: str, seen: RunResult) -> None:
        _keep(folder, build, seen)

    trimmed = trims_functions(context.loaded.config)
    trial = VerificationCase(
        spec=make_run_spec(
            scenario,
            context,
            programs.program(scenario, context, context.done[PLAIN]),
            cache=cache_of(scenario, context),
        ),
        reduced=programs.program(scenario, context, context.done[REDUCED]),
        # Where functions are trimmed, what is missing is asked of the named link first.
        profile=None if trimmed else _profile(scenario, context.done.get(PROFILE), context),
        keep=keep,
        tolerance=scenario.settings.allowed,
        committed=context.committed,
    )

    def prove_case(trial: VerificationCase, seen: list[dict[str, Any]]) -> dict[str, Any]:
        def attempt(lease: Lease) -> dict[str, Any]:
            told = {"device": {"name": lease.name, "kind": lease.kind, "facts": lease.facts()}}
            try:
                return told | prove(trial, lease, note)
            except TrapBeforeFailure as trap:
                seen.append(told | trap.ended)
                raise

        again = partial(
            run_with_retries, context.device(scenario), attempt, say=context.console.say
        )
        return keep_first_failure(seen, again, good=_good)

    ended = prove_case(trial, [])
    # What explains is made while no phone waits for a compiler; then all of it is run anew on one
    # machine.
    if ended["unexplained"] and trimmed:
        at_hand = _profile(scenario, context.done.get(PROFILE), context)
        trial = replace(trial, named=ensure_named_program(scenario, context), profile=at_hand)
        ended = prove_case(trial, [ended])
    if ended["unexplained"] and (profile := _profile(scenario, context.obtain(PROFILE), context)):
        ended = prove_case(replace(trial, profile=profile), [ended])
    return {
        "scenario": scenario.id,
        "binding": binding(named_inputs(scenario, context)),
        "day": context.today.isoformat(),
        **ended,
    }


def _keep_set(context: Context) -> StageFolder:
    return context.done[keep_task(context.loaded.config)]


def _good(ended: dict[str, Any]) -> bool:
    return bool(ended["exit code"] == 0)


def _profile(scenario: Scenario, made: StageFolder | None, context: Context) -> Path | None:
    return programs.program(scenario, context, made) if made else None


def _keep(folder: Path, build: str, seen: RunResult) -> None:
    log = f"{seen.run.stdout}{seen.run.stderr}exit status {seen.run.rc}\n"
    (folder / f"{build}.log").write_text(log, encoding="utf-8")
    outputs = folder / build
    shutil.rmtree(outputs, ignore_errors=True)  # of an attempt whose machine failed
    outputs.mkdir()
    for output, data in seen.outputs.items():
        (outputs / output).write_bytes(data)
