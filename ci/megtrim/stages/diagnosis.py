"""Explaining a bad end of the reduced build by difference with the profile build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from megtrim.errors import MegtrimError
from megtrim.functions.names import readable
from megtrim.loadrun.logs import error_message
from megtrim.loadrun.outcome import Ending, ProgramRun, ending
from megtrim.midout.keepset import KeepSet, missing
from megtrim.midout.region import Region
from megtrim.midout.trace import parse_trace
from megtrim.stages.runs import RunResult

_HOW_TO_NAME = "`megtrim verify` where the engine can be built names it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What a failed run was: ``trap`` (regions are missing) or ``engine-error``."""

    status: str
    text: str
    log: str
    missing: tuple[str, ...] = ()
    """Regions, in canonical spelling."""
    unexplained: bool = False
    """No profile build was at hand to say more."""
    lacking_operators: tuple[str, ...] = ()


def explain(
    reduced: ProgramRun,
    profile: RunResult,
    keep: KeepSet,
    *,
    lacking_operators: tuple[str, ...] = (),
) -> Diagnosis:
    """Name what the same run needs and the keep set lacks.

    A run that the profile build cannot do either is the engine's own error, whatever is missing.
    ``lacking_operators`` are those of the model that the keep set does not name.
    """
    how = _how(reduced)
    if ending(profile.run) is not Ending.PASSED:
        said = error_message(profile.run.stderr) or f"it ended with {profile.run.rc}"
        text = f"{how}, and the profile build fails too: {said}"
        return Diagnosis(status="engine-error", text=text, log=profile.run.stderr)
    lacking = _lacking(profile, keep)
    if lacking or lacking_operators:
        counts = [_count(lacking, "region"), _count(lacking_operators, "operator")]
        text = f"{how}: {' and '.join(c for c in counts if c)} it needs are not in the keep set"
        return Diagnosis(
            status="trap",
            text=text,
            log=profile.run.stderr,
            missing=tuple(str(region) for region in lacking),
            lacking_operators=lacking_operators,
        )
    if ending(reduced) is Ending.TRAP and keep.functions():
        text = f"{how}: a function that no scenario ran is not kept; no region is missing"
        return Diagnosis(status="trap", text=text, log=reduced.stderr)
    text = f"{how}; the profile build runs it, and nothing is missing from the keep set"
    return Diagnosis(status="engine-error", text=text, log=reduced.stderr)


def not_kept(reduced: ProgramRun, name: str) -> Diagnosis:
    """Name the function that was called and that no scenario had run."""
    text = f"{_how(reduced)}: the function {readable(name)} is not kept, for no scenario ran it"
    return Diagnosis(status="trap", text=text, log=reduced.stderr)


def unexplained(reduced: ProgramRun) -> Diagnosis:
    """Say how it ended where no profile build can be run to name what is missing."""
    trapped = ending(reduced) is Ending.TRAP
    text = f"{_how(reduced)}; no profile build is at hand to name what it needs: {_HOW_TO_NAME}"
    status = "trap" if trapped else "engine-error"
    return Diagnosis(status=status, text=text, log=reduced.stderr, unexplained=True)


def _count(things: Sequence[object], noun: str) -> str:
    return "" if not things else f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def _lacking(profile: RunResult, keep: KeepSet) -> tuple[Region, ...]:
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
