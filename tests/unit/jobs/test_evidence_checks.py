"""What is known of one scenario from devices: current evidence, an earlier proof, or nothing."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from megtrim.checks.check import DeviceIdentity
from megtrim.checks.content import Contradiction
from megtrim.checks.invocation import Invocation, suggest_for_scenario
from megtrim.checks.statuses import CheckKind, CheckStatus, ScenarioStatus
from megtrim.evidence.bundle import JobPurpose
from megtrim.evidence.evidence import Evidence
from megtrim.jobs.evidence_checks import Devices, PendingReason, ScenarioCheck
from megtrim.load_and_run.parity import Tolerance
from unit.evidence.support import (
    OTHER_BINDING,
    SCENARIO,
    bundle,
    device,
    evidence,
    output,
    proofs,
    proven,
    result,
    scenario,
)
from unit.verdict import examples

TODAY = date(2027, 1, 31)
PASS = evidence(result())
TRAP = evidence(result(status=ScenarioStatus.TRAP, text="it trapped"))
LOST = evidence(result(status=ScenarioStatus.INFRASTRUCTURE, text="no phone", outputs=()))


def devices(*found: Evidence, before: tuple[Evidence, ...] = (), **changes: Any) -> Devices:
    """Return what device jobs brought, and the proofs of earlier runs."""
    values: dict[str, Any] = {
        "bundle": bundle(),
        "invocation": Invocation(committed=True),
        "pending": None,
        "today": TODAY,
    }
    values |= changes
    return Devices(evidence=found, proofs=proofs(*before), **values)


def tell(known: Devices, **changes: Any) -> ScenarioCheck:
    """Return the check of the only scenario, as the build saw it."""
    return known.tell(examples.scenario(SCENARIO, **changes))


def test_a_pass_is_one_with_the_devices_name() -> None:
    """And with how long it took."""
    check = tell(devices(PASS))

    assert (check.status, check.time_s, check.hint) == (CheckStatus.PASS, 1.5, "")
    assert check.text.startswith("pixel-6: outputs equal to the last bit")


def test_a_failure_names_the_configured_device() -> None:
    """Whose name may be another than the machine's own."""
    named = bundle(devices=(device(name="desk"),))
    check = tell(devices(TRAP, bundle=named))

    assert (check.status, check.text) == (CheckStatus.FAIL, "pixel-6: it trapped")
    assert check.device == ""
    assert tell(devices(TRAP)).device == "pixel-6"
    invocation = Invocation(committed=True)
    assert check.hint == suggest_for_scenario(CheckKind.TRAP, invocation)


@pytest.mark.parametrize("found", [(PASS, TRAP), (TRAP, PASS), (TRAP, LOST)])
def test_passes_do_not_outvote_a_trap(found: tuple[Evidence, ...]) -> None:
    """In whatever order they come."""
    assert tell(devices(*found)).status is CheckStatus.FAIL


def test_a_machine_that_failed_says_nothing_of_the_product() -> None:
    """A pass of another machine counts more."""
    assert tell(devices(LOST)).status is CheckStatus.INFRASTRUCTURE
    assert tell(devices(LOST, PASS)).status is CheckStatus.PASS


@pytest.mark.parametrize(
    ("found", "changes", "why"),
    [
        ((), {}, "the device job brought no result of it"),
        ((), {"pending": PendingReason.LATE}, "the device job had not ended in time"),
        (
            (evidence(result(binding=OTHER_BINDING)),),
            {},
            "what the device job brought is of another build",
        ),
        ((PASS,), {"bundle": bundle(scenarios=())}, "there was no program to run"),
        ((PASS,), {"today": date(2027, 3, 1)}, "what pixel-6 brought is no proof by its age"),
        (
            (evidence(result(trace="9" * 64, outputs=()), purpose=JobPurpose.TRACE),),
            {},
            "the device job brought no result of it",
        ),
    ],
)
def test_silence_has_a_reason(
    found: tuple[Evidence, ...], changes: dict[str, Any], why: str
) -> None:
    """It is never a pass."""
    check = tell(devices(*found, **changes))

    assert check.status is not CheckStatus.PASS
    assert check.text.startswith(f"device verification pending: {why}")


@pytest.mark.parametrize(
    ("day", "binding", "status", "text"),
    [
        ("2027-01-30", "b" * 64, CheckStatus.UNVERIFIED, "; last proof 1 day old"),
        (
            "2027-01-30",
            OTHER_BINDING,
            CheckStatus.UNVERIFIED,
            "; last proof 1 day old, of another program",
        ),
        (
            "2027-01-01",
            OTHER_BINDING,
            CheckStatus.FAIL,
            "; last proof 30 days old, of another program, allowed are 14 days",
        ),
    ],
)
def test_a_missing_device_fails_once_its_last_proof_is_too_old(
    day: str, binding: str, status: CheckStatus, text: str
) -> None:
    """Until then it blocks no one."""
    check = tell(devices(before=(evidence(result(binding=binding), day=day),)))

    assert check.status is status
    assert check.text.endswith(text)


def test_a_scenario_that_was_left_out_passes_by_its_proof() -> None:
    """The proof is checked again: of this program, by a device that is configured, not too old."""
    left_out = bundle(scenarios=(), proven=(proven(),))
    other = DeviceIdentity(name="nexus", kind="local", facts={})

    passes = tell(devices(before=(PASS,), bundle=left_out))
    assert (passes.status, passes.text) == (
        *(CheckStatus.PASS, "pixel-6 proved this program today, so no device was used"),
    )
    for before, why in (
        ((), "the proof that it was left out for is not to be had"),
        ((evidence(result(binding=OTHER_BINDING)),), "the proof that it was left out for"),
        ((evidence(device=other),), "it was left out for a proof by a device that is not"),
        ((evidence(day="2027-01-01"),), "it was left out for a proof; last proof 30 days old"),
    ):
        check = tell(devices(before=before, bundle=left_out))
        assert check.status is not CheckStatus.PASS
        assert check.text.startswith(f"device verification pending: {why}")


def test_no_pass_comes_from_a_fork() -> None:
    """A failure does: it can only make a verdict worse."""
    check = tell(devices(PASS, pending=PendingReason.FORK))

    assert check.status is CheckStatus.UNVERIFIED
    assert "a pull request from a fork runs no device job" in check.text
    assert tell(devices(TRAP, pending=PendingReason.FORK)).status is CheckStatus.FAIL


def test_only_devices_of_the_bundle_prove() -> None:
    """A trap counts wherever it was seen."""
    other = DeviceIdentity(name="nexus", kind="local", facts={})

    assert tell(devices(evidence(device=other))).status is CheckStatus.UNVERIFIED
    assert tell(devices(evidence(*TRAP.results, device=other))).status is CheckStatus.FAIL


def test_a_pass_beyond_the_tolerance_is_a_contradiction() -> None:
    """The device job would not have written it."""
    far = evidence(result(outputs=(output(equal=True, largest_difference=0.5),)))

    with pytest.raises(Contradiction, match=r"differs by 0\.5, allowed is"):
        devices(far)
    near = bundle(scenarios=(scenario(tolerance=Tolerance(absolute=0.5, relative=0.0)),))
    assert tell(devices(far, bundle=near)).status is CheckStatus.PASS


def test_a_pass_of_other_outputs_is_a_contradiction() -> None:
    """The same programs write the same files on every machine."""
    other = evidence(result(outputs=(output(name="run0-var9"),)))

    with pytest.raises(Contradiction, match="output run0-var178 came from the build's run or from"):
        tell(devices(other))


def test_proofs_are_renewed_and_revoked() -> None:
    """The newest pass stays; a failure takes away the proof of its program, no other."""
    before = (evidence(day="2027-01-20"),)

    def days(*found: Evidence, of: tuple[Evidence, ...] = before) -> list[str]:
        return [each.day for each in devices(*found, before=of).proofs().entries]

    assert days() == ["2027-01-20"]
    assert days(PASS) == ["2027-01-31"]
    assert days(LOST) == ["2027-01-20"]
    assert days(TRAP) == []
    assert days(TRAP, of=(evidence(result(binding=OTHER_BINDING), day="2027-01-20"),)) == [
        "2027-01-20"
    ]
