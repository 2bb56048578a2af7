"""Stage `verify`: each scenario runs on the plain and on the reduced build.

Outputs are compared; a run that ends badly is explained by difference: the *profile* build
runs the same scenario, the keep set is subtracted, and what is missing is named. Where nothing
is missing it is no trimming fault but an engine error, told in the profile build's own words
(a minimum-size build traps on any error and prints nothing).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from megtrim.config.scenarios import Scenario
from megtrim.errors import InputError
from megtrim.loadrun.dump import Comparison, compare, parse_dump, refusal
from megtrim.loadrun.outcome import Ending, ending
from megtrim.midout.keepset import read_keep_set
from megtrim.plan.graph import HEADER, PLAIN, PROFILE, REDUCED, Task, search_task
from megtrim.stages.context import Context, binary, binary_digest, scenario_inputs
from megtrim.stages.diagnosis import Diagnosis, explain
from megtrim.stages.files import KEEP_SET_FILE
from megtrim.stages.runs import CACHE, Evidence, run_on
from megtrim.stages.scenarios import cache_of, expect_as_traced, order_for, scenario_of

_TAIL_LINES = 30


def inputs(task: Task, context: Context) -> dict[str, str]:
    """Name the three programs, the keep set, the tolerance, and all that binds the run."""
    scenario = scenario_of(task)
    named = scenario_inputs(scenario, context)
    if scenario.searches:
        named["algorithm cache"] = context.done[search_task(scenario)].files[CACHE]
    target = context.target()
    return named | {
        "plain": binary_digest(context.done[PLAIN], target),
        "profile": binary_digest(context.done[PROFILE], target),
        "reduced": binary_digest(context.done[REDUCED], target),
        "keep set": context.done[HEADER].files[KEEP_SET_FILE],
        "tolerance": str(context.loaded.config.verify.tolerance),
    }


def work(task: Task, context: Context, folder: Path) -> dict[str, Any]:
    """Run, compare, explain. A product failure is a result; the verdict judges it."""
    scenario = scenario_of(task)
    expect_as_traced(scenario, context, read_keep_set(context.done[HEADER].file(KEEP_SET_FILE)))
    plain = _run(scenario, context, PLAIN, folder)
    reduced = _run(scenario, context, REDUCED, folder)
    device = context.device(scenario)
    result: dict[str, Any] = {
        "scenario": scenario.id,
        "device": {"name": device.name, "kind": device.kind, "facts": device.facts()},
        "time_s": reduced.run.wall_s,
        "day": context.today.isoformat(),
        "outputs": [],
        "missing regions": [],
        "log tail": "",
    }
    if ending(plain.run) is not Ending.PASSED:
        text = f"the plain build ended with {plain.run.rc} ({ending(plain.run)})"
        return _failed(result, Diagnosis(status="engine-error", text=text, log=plain.run.stderr))
    if ending(reduced.run) is not Ending.PASSED:
        return _failed(result, _diagnose(scenario, context, reduced))
    return result | _compared(plain, reduced, context.loaded.config.verify.tolerance)


def _run(scenario: Scenario, context: Context, build: str, folder: Path) -> Evidence:
    program = binary(context.done[build], context.target())
    order = order_for(scenario, context, program, cache=cache_of(scenario, context))
    evidence = run_on(context.device(scenario), order)
    name = build.rsplit("/", 1)[1]
    log = f"{evidence.run.stdout}{evidence.run.stderr}exit status {evidence.run.rc}\n"
    (folder / f"{name}.log").write_text(log, encoding="utf-8")
    outputs = folder / name
    outputs.mkdir()
    for output, data in evidence.outputs.items():
        (outputs / output).write_bytes(data)
    return evidence


def _diagnose(scenario: Scenario, context: Context, reduced: Evidence) -> Diagnosis:
    program = binary(context.done[PROFILE], context.target())
    order = order_for(scenario, context, program, cache=cache_of(scenario, context))
    keep = read_keep_set(context.done[HEADER].file(KEEP_SET_FILE))
    return explain(reduced.run, run_on(context.device(scenario), order), keep)


def _failed(result: dict[str, Any], diagnosis: Diagnosis) -> dict[str, Any]:
    tail = "\n".join(diagnosis.log.splitlines()[-_TAIL_LINES:])
    return result | {
        "status": diagnosis.status,
        "text": diagnosis.text,
        "missing regions": list(diagnosis.missing),
        "log tail": tail,
        "exit code": 1,
    }


def _compared(plain: Evidence, reduced: Evidence, tolerance: float) -> dict[str, Any]:
    """Compare every output of the plain build with the reduced build's of that name."""
    problems = []
    if not plain.outputs:
        problems.append("the plain build dumped no output")
    names = sorted({*plain.outputs, *reduced.outputs})
    rows = []
    for name in names:
        if name not in plain.outputs or name not in reduced.outputs:
            where = "plain" if name in plain.outputs else "reduced"
            problems.append(f"output {name} came from the {where} build alone")
            continue
        try:
            expected = parse_dump(plain.outputs[name], name=name, source=f"plain output {name}")
            actual = parse_dump(reduced.outputs[name], name=name, source=f"reduced output {name}")
        except InputError as error:
            problems.append(error.message)
            continue
        found = compare(expected, actual, tolerance)
        rows.append(_row(name, len(expected.data), found))
        unfit = refusal(expected)
        if unfit:
            problems.append(f"{unfit}: that proves nothing")
        elif not found.equal:
            problems.append(f"output {name}: {found.text}")
    total = sum(row["size_bytes"] for row in rows)
    exact = "equal to the last bit" if tolerance == 0 else f"equal within {tolerance:g}"
    tensors = "1 tensor" if len(rows) == 1 else f"{len(rows)} tensors"
    return {
        "status": "parity" if problems else "pass",
        "text": "; ".join(problems) or f"outputs {exact} ({tensors}, {total:,} bytes)",
        "outputs": rows,
        "exit code": 1 if problems else 0,
    }


def _row(name: str, size_bytes: int, found: Comparison) -> dict[str, Any]:
    difference = found.largest_difference
    return {
        "name": name,
        "size_bytes": size_bytes,
        "equal": found.equal,
        "largest_difference": difference if math.isfinite(difference) else None,
    }
