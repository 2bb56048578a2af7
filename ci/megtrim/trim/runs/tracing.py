"""Tracing a scenario on a device: search for algorithms if wanted, run the profile build, check.

It needs programs and a device, and no configuration: the stage ``profile`` and a device job,
which has nothing but a bundle, share it.
"""

from __future__ import annotations

from collections.abc import Callable

from megtrim.build_spec import Variant
from megtrim.devices import Lease
from megtrim.load_and_run.exit_status import ProgramRun, RunOutcome, ending, error_message
from megtrim.regions.trace import Trace, check_trace, parse_announced_count
from megtrim.trim.runs import execution
from megtrim.trim.runs.execution import RunResult, RunSpec
from megtrim.util.errors import ProductFailure

Note = Callable[[RunResult], None]
"""Called with each run that was made, before it is judged."""


def search(scenario: str, spec: RunSpec, lease: Lease, note: Note) -> tuple[bytes, ProgramRun]:
    """Return the algorithm cache that the plain build's search left.

    Raises ProductFailure where the run fails or leaves none.
    """
    found = execution.run_on(lease, spec)
    note(found)
    _expect_success(scenario, found.run, Variant.PLAIN)
    if not found.cache:
        msg = f"{scenario}: the search ended well and left no algorithm cache"
        raise ProductFailure(msg, hint="does the model hold an operator with several algorithms?")
    return found.cache, found.run


def trace(
    scenario: str, spec: RunSpec, lease: Lease, note: Note
) -> tuple[Trace, bytes, ProgramRun]:
    """Return the trace of a run of the profile build, parsed and as it was written.

    Raises ProductFailure where the run fails, TraceFailure where the trace cannot be used.
    """
    found = execution.run_on(lease, spec)
    note(found)
    _expect_success(scenario, found.run, Variant.PROFILE)
    announced = parse_announced_count(found.run.stderr)
    parsed = check_trace(found.trace, announced=announced, source=f"trace of {scenario}")
    return parsed, found.trace or b"", found.run


def _expect_success(scenario: str, run: ProgramRun, variant: Variant) -> None:
    how = ending(run)
    if how is RunOutcome.PASSED:
        return
    said = error_message(run.stderr) or "it said nothing"
    msg = f"{scenario}: the {variant} build ended with {run.rc} ({how}): {said}"
    raise ProductFailure(msg, hint="the model, its arguments or its inputs do not work untrimmed")
