"""Tracing a scenario on a device: search for algorithms if wanted, run the profile build, check.

It needs programs and a device, and no configuration: the stage ``profile`` and a device job,
which has nothing but a bundle, share it.
"""

from __future__ import annotations

from collections.abc import Callable

from megtrim.devices import Seat
from megtrim.errors import InfrastructureFailure, ProductFailure
from megtrim.functions import probes
from megtrim.loadrun.logs import error_message
from megtrim.loadrun.outcome import Ending, ProgramRun, ending
from megtrim.midout.trace import Trace, check_trace, promised_items
from megtrim.recipe import Variant
from megtrim.stages import runs
from megtrim.stages.runs import RunOrder, RunResult

Note = Callable[[RunResult], None]
"""Called with each run that was made, before it is judged."""


def search(scenario: str, order: RunOrder, seat: Seat, note: Note) -> tuple[bytes, ProgramRun]:
    """Return the algorithm cache that the plain build's search left.

    Raises ProductFailure where the run fails or leaves none.
    """
    found = runs.run_on(seat, order)
    note(found)
    _expect_success(scenario, found.run, Variant.PLAIN)
    if not found.cache:
        msg = f"{scenario}: the search ended well and left no algorithm cache"
        raise ProductFailure(msg, hint="does the model hold an operator with several algorithms?")
    return found.cache, found.run


def trace(
    scenario: str, order: RunOrder, seat: Seat, note: Note
) -> tuple[Trace, bytes, ProgramRun]:
    """Return the trace of a run of the profile build, parsed and as it was written.

    Raises ProductFailure where the run fails, TraceFailure where the trace cannot be used.
    """
    found = runs.run_on(seat, order)
    note(found)
    _expect_success(scenario, found.run, Variant.PROFILE)
    promised = promised_items(found.run.stderr)
    parsed = check_trace(found.trace, promised=promised, source=f"trace of {scenario}")
    return parsed, found.trace or b"", found.run


def functions(scenario: str, order: RunOrder, seat: Seat) -> tuple[bytes, ProgramRun]:
    """Return what a run left that tells which functions ran.

    Raises ProductFailure where the run fails, InfrastructureFailure where nothing was recorded.
    """
    found = _recorded(scenario, order, seat)
    how = ending(found.run)
    if how is not Ending.PASSED:
        said = error_message(found.run.stderr) or "it said nothing"
        ended = f"ended with {found.run.rc} ({how}): {said}"
        msg = f"{scenario}: the link that tells its functions {ended}"
        raise ProductFailure(msg, hint="does the scenario run on the plain build?")
    return _record_of(scenario, found, order, seat), found.run


def record(scenario: str, order: RunOrder, seat: Seat) -> bytes:
    """Return the same of a run that is to end badly."""
    return _record_of(scenario, _recorded(scenario, order, seat), order, seat)


def _recorded(scenario: str, order: RunOrder, seat: Seat) -> RunResult:
    found = runs.run_on(seat, order)
    if refused := probes.refusal(found.run.stderr):
        msg = f"{scenario}: {seat.name}: {refused}"
        raise InfrastructureFailure(msg, hint="record the functions on an emulator: a class of it")
    return found


def _record_of(scenario: str, found: RunResult, order: RunOrder, seat: Seat) -> bytes:
    if not found.recorded:
        msg = f"{scenario}: {seat.name} left no {order.recorded}, so its functions are not known"
        raise InfrastructureFailure(msg, hint="run it again, or on another device")
    return found.recorded


def _expect_success(scenario: str, run: ProgramRun, variant: Variant) -> None:
    how = ending(run)
    if how is Ending.PASSED:
        return
    said = error_message(run.stderr) or "it said nothing"
    msg = f"{scenario}: the {variant} build ended with {run.rc} ({how}): {said}"
    raise ProductFailure(msg, hint="the model, its arguments or its inputs do not work untrimmed")
