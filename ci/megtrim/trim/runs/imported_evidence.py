"""What device jobs brought, as the stages use it: whose it is, and whether it fits what is here."""

from __future__ import annotations

from collections.abc import Mapping

from megtrim.checks.statuses import ScenarioStatus
from megtrim.config.scenarios import Scenario
from megtrim.evidence.imported import ImportedEvidence
from megtrim.util.errors import InfrastructureFailure, InputError, ProductFailure

ANOTHER = "give what the device jobs of this build brought"


def of(
    scenario: Scenario, every: Mapping[str, ImportedEvidence], what: str
) -> ImportedEvidence | None:
    """Return what was brought for a scenario; None: nothing was for any, so it is made here.

    ``what``: "trace", for messages. Raises InfrastructureFailure where others have theirs: what
    is made here would be another device's.
    """
    given = every.get(scenario.id)
    if given is None and every:
        msg = f"{scenario.id}: no device job brought a {what} of it"
        raise InfrastructureFailure(msg, hint="look at the device jobs, and run them again")
    return given


def expect_fitting(given: ImportedEvidence, bound_to: str, what: str) -> None:
    """Refuse what is bound to another build or other files, and what did not come about."""
    if given.binding != bound_to:
        found = f"the {what} in {given.folder}"
        msg = f"{given.scenario}: {found} is of another program, model or input"
        raise InputError(msg, hint=ANOTHER)
    msg = f"{given.scenario}: {given.device.name}: {given.text}"
    match given.status:
        case ScenarioStatus.PASS:
            return
        case ScenarioStatus.INFRASTRUCTURE | ScenarioStatus.UNVERIFIED:
            raise InfrastructureFailure(msg, hint="run the device job again")
        case _:
            raise ProductFailure(msg)
