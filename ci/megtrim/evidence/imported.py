"""What device jobs brought: traces and lists of functions, used instead of a run here. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from megtrim.checks.statuses import ScenarioStatus
from megtrim.evidence.bundle import JobPurpose
from megtrim.evidence.evidence import (
    DeviceResult,
    expect_evidence_of,
    list_results,
    read_evidence,
    read_folders,
)
from megtrim.util.errors import InfrastructureFailure, InputError, ProductFailure

ANOTHER = "give what the device jobs of this build brought"
_HINT = "give the folders of one run of the device jobs"
_WHAT = {JobPurpose.TRACE: "traces of it", JobPurpose.RECORD: "lists of its functions"}


def read_brought(
    folders: Sequence[Path], *, config: str
) -> dict[JobPurpose, Mapping[str, DeviceResult]]:
    """Return what device jobs brought, by what they were for and by scenario id, sorted.

    A scenario that was brought twice is refused unless both are equal: chance would decide which
    one counts. So is what was brought for another configuration than ``config``.
    """
    found: dict[JobPurpose, dict[str, DeviceResult]] = {purpose: {} for purpose in _WHAT}
    places = read_folders(folders)
    if not places:
        named = ", ".join(str(folder) for folder in folders)
        msg = f"{named}: found no evidence.json there or one folder below"
        raise InputError(msg, hint=_HINT)
    for folder in places:
        entries = read_evidence(folder)
        expect_evidence_of(config, f"{folder}: the evidence", entries)
        for evidence in entries:
            purpose = evidence.purpose
            if purpose not in _WHAT:
                msg = f"{folder}: found evidence of a verification, expected traces or functions"
                raise InputError(msg, hint=_HINT)
            for given in list_results(evidence, folder):
                scenario = given.result.scenario
                before = found[purpose].setdefault(scenario, given)
                if _identify(before) != _identify(given):
                    differing = f"{before.folder} and {folder} bring different {_WHAT[purpose]}"
                    msg = f"{scenario}: {differing}"
                    raise InputError(msg, hint=_HINT)
    return {purpose: dict(sorted(every.items())) for purpose, every in found.items()}


def _identify(given: DeviceResult) -> tuple[object, ...]:
    result = given.result
    return (result.binding, result.status, result.trace, result.cache, result.functions)


def find_brought(
    scenario: str, every: Mapping[str, DeviceResult], what: str
) -> DeviceResult | None:
    """Return what was brought for a scenario; None: nothing was for any, so it is made here.

    ``what``: "trace", for messages. Raises InfrastructureFailure where others have theirs: what
    is made here would be another device's.
    """
    given = every.get(scenario)
    if given is None and every:
        msg = f"{scenario}: no device job brought a {what} of it"
        raise InfrastructureFailure(msg, hint="look at the device jobs, and run them again")
    return given


def expect_fitting(given: DeviceResult, bound_to: str, what: str) -> None:
    """Refuse what is bound to another build or other files, and what did not come about."""
    result = given.result
    if result.binding != bound_to:
        found = f"the {what} in {given.folder}"
        msg = f"{result.scenario}: {found} is of another program, model or input"
        raise InputError(msg, hint=ANOTHER)
    msg = f"{result.scenario}: {given.device.name}: {result.text}"
    match result.status:
        case ScenarioStatus.PASS:
            return
        case ScenarioStatus.INFRASTRUCTURE | ScenarioStatus.UNVERIFIED:
            raise InfrastructureFailure(msg, hint="run the device job again")
        case _:
            raise ProductFailure(msg)
