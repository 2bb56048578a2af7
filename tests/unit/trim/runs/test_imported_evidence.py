"""What device jobs brought, used in place of a run here, if it fits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.checks.check import DeviceIdentity
from megtrim.checks.statuses import ScenarioStatus
from megtrim.evidence.imported import ImportedEvidence
from megtrim.trim.runs import imported_evidence
from megtrim.util.errors import InfrastructureFailure, InputError, MegtrimError, ProductFailure
from unit.trim.stages.support import only_scenario, open_session

BROUGHT = ImportedEvidence(
    scenario="m/s@any",
    binding="b",
    status=ScenarioStatus.PASS,
    text="no space left",
    device=DeviceIdentity(name="board", kind="ssh", facts={}),
    time_s=1.0,
    folder=Path("evidence"),
    trace_sha256=None,
    cache_sha256=None,
    functions_sha256=None,
)


def test_a_scenario_has_its_own_or_none_has_any(tmp_path: Path) -> None:
    """What is made here would be another device's than that of the others."""
    scenario = only_scenario(open_session(tmp_path)[0])

    assert imported_evidence.of(scenario, {"m/s@any": BROUGHT}, "trace") is BROUGHT
    assert imported_evidence.of(scenario, {}, "trace") is None
    with pytest.raises(InfrastructureFailure, match="m/s@any: no device job brought a trace of it"):
        imported_evidence.of(scenario, {"m/other@any": BROUGHT}, "trace")


def test_what_fits_is_used() -> None:
    """Nothing is said about it."""
    imported_evidence.expect_fitting(BROUGHT, "b", "trace")


@pytest.mark.parametrize("status", list(ScenarioStatus))
def test_what_is_of_another_build_is_bad_input(status: ScenarioStatus) -> None:
    """However it ended."""
    with pytest.raises(InputError) as caught:
        imported_evidence.expect_fitting(replace(BROUGHT, status=status), "other", "trace")

    assert caught.value.message == (
        "m/s@any: the trace in evidence is of another program, model or input"
    )
    assert caught.value.hint == imported_evidence.ANOTHER


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (ScenarioStatus.INFRASTRUCTURE, InfrastructureFailure),
        (ScenarioStatus.UNVERIFIED, InfrastructureFailure),
        (ScenarioStatus.TRAP, ProductFailure),
        (ScenarioStatus.ENGINE_ERROR, ProductFailure),
    ],
)
def test_a_job_that_failed_fails_here_in_the_same_way(
    status: ScenarioStatus, error: type[MegtrimError]
) -> None:
    """In the device's words."""
    with pytest.raises(error, match="m/s@any: board: no space left"):
        imported_evidence.expect_fitting(replace(BROUGHT, status=status), "b", "trace")
