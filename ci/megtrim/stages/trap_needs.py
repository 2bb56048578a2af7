"""What a run that trapped on a trimmed build lacked: regions by difference, a function by name."""

from __future__ import annotations

from megtrim.config.scenarios import Scenario
from megtrim.devices import Seat
from megtrim.functions.names import readable
from megtrim.loadrun.outcome import ProgramRun
from megtrim.midout.keepset import read_keep_set
from megtrim.plan.graph import HEADER, PROFILE
from megtrim.stages import programs
from megtrim.stages.context import Context
from megtrim.stages.diagnosis import explain
from megtrim.stages.files import KEEP_SET_FILE
from megtrim.stages.naming import named
from megtrim.stages.nearby import Needs
from megtrim.stages.runs import RunOrder, run_on


def nothing(seat: Seat, order: RunOrder, trapped: ProgramRun) -> tuple[str, ...]:
    """Name nothing: nobody can tell."""
    return ()


def regions(scenario: Scenario, context: Context) -> Needs:
    """Return who names missing regions: the profile build, where there is one already."""
    made = context.done.get(PROFILE)
    if made is None or HEADER not in context.done:
        return nothing
    program = programs.program(scenario, context, made)
    keep = read_keep_set(context.done[HEADER].file(KEEP_SET_FILE))

    def needs(seat: Seat, order: RunOrder, trapped: ProgramRun) -> tuple[str, ...]:
        return explain(trapped, run_on(seat, order.with_program(program)), keep).missing

    return needs


def function(scenario: Scenario, context: Context) -> Needs:
    """Return who names the missing function: the link in which each says its number.

    A trap that was no function's is a region's.
    """
    link, of_regions = named(scenario, context), regions(scenario, context)
    if link is None:
        return of_regions

    def needs(seat: Seat, order: RunOrder, trapped: ProgramRun) -> tuple[str, ...]:
        name = link.missing(run_on(seat, order.with_program(link.program)).run)
        return of_regions(seat, order, trapped) if name is None else (readable(name),)

    return needs
