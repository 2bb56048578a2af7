"""Stage `verify`: each scenario runs on the plain and on the reduced build.

Outputs are compared; a run that ends badly is explained by difference: the *profile* build
runs the same scenario, the keep set is subtracted, and what is missing is named. Where nothing
is missing it is no trimming fault but an engine error, told in the profile build's own words
(a minimum-size build traps on any error and prints nothing).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from megtrim.config.scenarios import Scenario
from megtrim.evidence.bundle import binding
from megtrim.midout.keepset import read_keep_set
from megtrim.plan.graph import HEADER, PLAIN, PROFILE, REDUCED, Task, search_task
from megtrim.recipe import Variant
from megtrim.stages.context import Context, binary, binary_digest, scenario_inputs
from megtrim.stages.files import CACHE_FILE, KEEP_SET_FILE
from megtrim.stages.proving import Trial, prove
from megtrim.stages.runs import RunResult
from megtrim.stages.scenarios import cache_of, expect_as_traced, order_for, scenario_of


def inputs(task: Task, context: Context) -> dict[str, str]:
    """Name the two programs, the keep set, the tolerance, and all that binds the run.

    The profile build is none of them: it explains a bad end, it does not change one.
    """
    return named_inputs(scenario_of(task), context)


def named_inputs(scenario: Scenario, context: Context) -> dict[str, str]:
    """Name what a verification of a scenario rests on; see :func:`inputs`."""
    named = scenario_inputs(scenario, context)
    if scenario.searches:
        named["algorithm cache"] = context.done[search_task(scenario)].files[CACHE_FILE]
    target = context.target()
    return named | {
        "plain": binary_digest(context.done[PLAIN], target),
        "reduced": binary_digest(context.done[REDUCED], target),
        "keep set": context.done[HEADER].files[KEEP_SET_FILE],
        "tolerance": str(context.loaded.config.verify.tolerance),
    }


def work(task: Task, context: Context, folder: Path) -> dict[str, Any]:
    """Run, compare, explain. A product failure is a result; the verdict judges it."""
    scenario = scenario_of(task)
    keep = read_keep_set(context.done[HEADER].file(KEEP_SET_FILE))
    expect_as_traced(scenario, context, keep)
    device = context.device(scenario)
    target = context.target()

    def profile() -> Path | None:
        made = context.obtain(PROFILE)
        return binary(made, target) if made else None

    def note(variant: Variant, seen: RunResult) -> None:
        _keep(folder, variant, seen)

    trial = Trial(
        order=order_for(
            scenario,
            context,
            binary(context.done[PLAIN], target),
            cache=cache_of(scenario, context),
        ),
        reduced=binary(context.done[REDUCED], target),
        profile=profile,
        keep=keep,
        tolerance=context.loaded.config.verify.tolerance,
    )
    ended = prove(trial, device, note)
    return {
        "scenario": scenario.id,
        "binding": binding(inputs(task, context)),
        "device": {"name": device.name, "kind": device.kind, "facts": device.facts()},
        "day": context.today.isoformat(),
        **ended,
    }


def _keep(folder: Path, variant: Variant, seen: RunResult) -> None:
    log = f"{seen.run.stdout}{seen.run.stderr}exit status {seen.run.rc}\n"
    (folder / f"{variant}.log").write_text(log, encoding="utf-8")
    outputs = folder / variant
    outputs.mkdir()
    for output, data in seen.outputs.items():
        (outputs / output).write_bytes(data)
