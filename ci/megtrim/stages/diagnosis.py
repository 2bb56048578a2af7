"""Explaining a bad end of the reduced build by difference with the profile build."""

from __future__ import annotations

from dataclasses import dataclass

from megtrim.errors import MegtrimError
from megtrim.loadrun.logs import error_message
from megtrim.loadrun.outcome import Ending, ProgramRun, ending
from megtrim.midout.keepset import KeepSet, missing
from megtrim.midout.region import Region
from megtrim.midout.trace import parse_trace
from megtrim.stages.runs import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What a failed run was: ``trap`` (regions are missing) or ``engine-error``."""

    status: str
    text: str
    log: str
    missing: tuple[Region, ...] = ()


def explain(reduced: ProgramRun, profile: Evidence, keep: KeepSet) -> Diagnosis:
    """Name the regions that the same run needs and the keep set lacks."""
    lacking = _lacking(profile, keep)
    how = _how(reduced)
    if lacking:
        count = "1 region" if len(lacking) == 1 else f"{len(lacking)} regions"
        text = f"{how}: {count} it needs are not in the keep set"
        return Diagnosis(status="trap", text=text, log=profile.run.stderr, missing=lacking)
    profile_end = ending(profile.run)
    if profile_end is Ending.PASSED:
        text = f"{how}; the profile build runs it, and no region is missing"
        return Diagnosis(status="engine-error", text=text, log=reduced.stderr)
    said = error_message(profile.run.stderr) or f"it ended with {profile.run.rc}"
    text = f"{how}; no region is missing, and the profile build fails too: {said}"
    return Diagnosis(status="engine-error", text=text, log=profile.run.stderr)


def _lacking(profile: Evidence, keep: KeepSet) -> tuple[Region, ...]:
    # A profile build that crashed leaves no trace, or half of one: then nothing can be subtracted.
    if profile.trace is None:
        return ()
    try:
        trace = parse_trace(profile.trace, source="trace of the failing run")
    except MegtrimError:
        return ()
    return missing(keep, trace.regions)


def _how(run: ProgramRun) -> str:
    match ending(run):
        case Ending.TRAP:
            return "it trapped"
        case Ending.TIMEOUT:
            return f"it did not end within {run.wall_s:.0f} s"
        case _:
            return f"it ended with {run.rc}"
