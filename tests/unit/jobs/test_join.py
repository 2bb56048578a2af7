"""The final verdict: what the build found, and one check for each scenario of a device."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from megtrim.checks.check import Check, DeviceIdentity
from megtrim.checks.invocation import (
    APPROVE_JOB,
    BRING_DEVICE_BACK,
    PUSH_BRANCH,
    START_RUNNER,
    WAIT_FOR_DEVICE,
    suggest_for_scenario,
)
from megtrim.checks.statuses import (
    CheckKind,
    CheckStatus,
    Contradiction,
    ScenarioStatus,
    VerdictKind,
    decide,
)
from megtrim.evidence.bundle import Bundle, JobPurpose
from megtrim.evidence.evidence import Evidence, EvidenceResult, EvidenceSet, PendingReason
from megtrim.jobs.join import DeviceFindings, join
from megtrim.load_and_run.parity import OutputResult, Tolerance
from megtrim.load_and_run.telemetry import Conditions, Reading
from megtrim.report import junit
from megtrim.util.errors import InputError
from megtrim.verdict.join import join as join_facts
from megtrim.verdict.model import Verdict, parse_verdict, to_json
from unit.evidence.support import (
    BINDING,
    DAY,
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
from unit.verdict.examples import MOBILENET, RESNET, facts, failing, passing

HINT = WAIT_FOR_DEVICE
EXPIRED = BRING_DEVICE_BACK
TRAP = result(
    status=ScenarioStatus.TRAP,
    text="it trapped: 1 region it needs are not in the keep set",
    missing_regions=("kern<7>",),
    outputs=(OutputResult(name="o", size_bytes=4, equal=False, largest_difference=0.5),),
    log_tail="Trace/breakpoint trap",
    conditions=Conditions(before=Reading(cpu_c=40.5), after=Reading(cpu_c=40.5)),
    crash="ended by signal 5 (SIGTRAP)",
)


def seen(*found: Evidence, **changes: Any) -> DeviceFindings:
    """Return what is known next to the build's verdict, of a bundle for one scenario."""
    values: dict[str, Any] = {
        "bundle": bundle(scenarios=(scenario(id=RESNET),)),
        "evidence": found,
        "proofs": EvidenceSet(entries=()),
        "pending": None,
        "today": date.fromisoformat(DAY),
    }
    return DeviceFindings(**{**values, **changes})


def checks(what: DeviceFindings) -> dict[str, Check]:
    """Return the device checks by id."""
    final = join(passing(), what).verdict
    return {check.id: check for check in final.checks if check.kind is CheckKind.DEVICE}


def only(what: DeviceFindings) -> Check:
    """Return the check of the scenario that the bundle is about."""
    return checks(what)[f"device:{RESNET}"]


def ran(found: EvidenceResult, **changes: Any) -> Evidence:
    return evidence(found, **changes)


def test_the_examples_are_what_these_tests_take_them_for() -> None:
    """One scenario of the verdict is in the bundle; another of its class is not."""
    assert RESNET == SCENARIO
    assert MOBILENET.endswith("@any")


def test_a_proof_now_passes() -> None:
    """The check says on what; nothing is to be done."""
    assert only(seen(ran(result(time_s=2.5)))) == Check(
        id=f"device:{RESNET}",
        kind=CheckKind.DEVICE,
        subject=RESNET,
        status=CheckStatus.PASS,
        text="pixel-6: outputs equal to the last bit (1 tensor, 40 bytes)",
        time_s=2.5,
        file="megtrim.yaml",
        line=21,
    )


def test_a_time_that_does_not_count_is_said_of_a_proof() -> None:
    """It proves what it proves all the same."""
    hot = Conditions(before=Reading(), after=Reading(thermal_status=1))
    check = only(seen(ran(result(conditions=hot))))

    assert check.status is CheckStatus.PASS
    assert check.text == (
        "pixel-6: outputs equal to the last bit (1 tensor, 40 bytes); "
        "time not valid: throttled after the run: thermal status 1 (light)"
    )


def test_a_trap_on_a_device_fails() -> None:
    """Regions, differences and the log are in the detail; the command asks that device."""
    joined = join(failing(), seen(ran(TRAP))).verdict
    check = next(check for check in joined.checks if check.id == f"device:{RESNET}")

    assert check.status is CheckStatus.FAIL
    assert check.text == "pixel-6: it trapped: 1 region it needs are not in the keep set"
    assert check.hint == suggest_for_scenario(CheckKind.TRAP, failing().invocation)
    assert check.detail.splitlines()[2:] == [
        "device: pixel-6",
        "regions that are needed and were not kept: 1",
        "  kern<7>",
        "output o: 4 bytes, largest difference 0.5",
        "measured before and after:",
        "  CPU: 40.5 °C",
        "crash:",
        "  ended by signal 5 (SIGTRAP)",
        "end of the log:",
        "Trace/breakpoint trap",
    ]
    assert check.reproduce == (
        "megtrim verify --config megtrim.yaml --committed --device pixel-6 "
        f"--scenario {RESNET} --again"
    )
    assert joined.verdict is VerdictKind.FAIL


def stood_in_for(status: ScenarioStatus) -> Verdict:
    """Return a build's verdict whose own run of the scenario ended so."""
    mine = replace(passing().scenarios[1], status=status, text="qemu is gone")
    others = (each for each in facts().scenarios if each.id != RESNET)
    return join_facts(facts(scenarios=(*others, mine)))


def test_a_stand_in_that_failed_gives_way_to_the_device() -> None:
    """The device itself is who knows; where it says nothing, that is what is shown."""
    build = stood_in_for(ScenarioStatus.INFRASTRUCTURE)
    assert [check.id for check in build.checks if check.kind is CheckKind.DEVICE] == [
        f"device:{RESNET}"
    ]

    proven_ = join(build, seen(ran(result()))).verdict
    (check,) = (check for check in proven_.checks if check.id == f"device:{RESNET}")
    assert (check.status, check.text[:8]) == (CheckStatus.PASS, "pixel-6:")

    silent = join(build, seen()).verdict
    (check,) = (check for check in silent.checks if check.id == f"device:{RESNET}")
    assert check.status is CheckStatus.UNVERIFIED
    assert silent.verdict is VerdictKind.UNVERIFIED

    assert join(build, seen(bundle=None)).verdict == build


def test_a_joined_verdict_is_not_joined_again() -> None:
    """A trap that a device saw would else give way to silence."""
    joined = join(passing(), seen(ran(TRAP))).verdict

    with pytest.raises(InputError, match=r"holds device:.* already: it is a joined one") as caught:
        join(joined, seen())
    assert caught.value.hint == "give the verdict that the build left, in OUT/final"


@pytest.mark.parametrize(
    "status", [each for each in CheckStatus if each is not CheckStatus.INFRASTRUCTURE]
)
def test_any_word_of_a_device_reports_a_joined_verdict(status: CheckStatus) -> None:
    """The build's own verdict says of a device only that it failed."""
    [*_, check] = join(passing(), seen(ran(result()))).verdict.checks
    device_check = replace(check, id="device:x", kind=CheckKind.DEVICE, status=status)

    checks = (*passing().checks, device_check)
    joined = replace(passing(), checks=checks, verdict=decide(each.status for each in checks))

    with pytest.raises(InputError, match="it is a joined one"):
        join(joined, seen())


@pytest.mark.parametrize(
    "status", [ScenarioStatus.PARITY, ScenarioStatus.ENGINE_ERROR, ScenarioStatus.TRACE]
)
def test_other_failures_fail(status: ScenarioStatus) -> None:
    """Whatever the program did wrong."""
    assert only(seen(ran(result(status=status)))).status is CheckStatus.FAIL


@pytest.mark.parametrize("status", [ScenarioStatus.INFRASTRUCTURE, ScenarioStatus.UNVERIFIED])
def test_a_dead_device_is_no_failure_of_the_product(status: ScenarioStatus) -> None:
    """It leaves the verdict unverified."""
    what = seen(ran(result(status=status, text="the phone is gone")))

    assert only(what).status is CheckStatus.INFRASTRUCTURE
    assert only(what).text == "device verification pending: pixel-6: the phone is gone"
    assert only(what).hint == HINT
    assert join(passing(), what).verdict.verdict is VerdictKind.UNVERIFIED


def test_all_attempts_are_shown() -> None:
    """So that no one has to guess what a job went through."""
    attempts = ("pixel-6: link lost while pushing", "pixel-7: it did not boot")
    died = ran(
        result(
            status=ScenarioStatus.INFRASTRUCTURE,
            text="it did not boot (attempt 2 of 2)",
            attempts=attempts,
        )
    )

    check = only(seen(died))

    assert check.status is CheckStatus.INFRASTRUCTURE
    assert check.detail.splitlines()[-3:] == ["attempts:", *(f"  {each}" for each in attempts)]
    assert check.reproduce == ""
    [case] = ET.fromstring(junit.render(join(passing(), seen(died)).verdict)).findall(
        f".//testcase[@name='{check.id}']"
    )
    [error] = case.findall("error")
    assert error.attrib["message"] == check.text
    assert all(attempt in (error.text or "") for attempt in attempts)
    assert case.find("failure") is None


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("pixel-6", CheckStatus.PASS),
        ("pixel-6.1A2B", CheckStatus.PASS),
        ("pixel-60", CheckStatus.UNVERIFIED),
        ("emulated-any", CheckStatus.UNVERIFIED),
    ],
)
def test_any_machine_that_an_entry_fits_is_that_device(name: str, status: CheckStatus) -> None:
    """Several phones may have the properties that it names; other machines are not it."""
    machine = DeviceIdentity(name=name, kind="local", facts={})

    assert only(seen(replace(ran(result()), device=machine))).status is status


@pytest.mark.parametrize(
    ("pending", "why", "hint"),
    [
        (
            PendingReason.FORK,
            "a pull request from a fork runs no device job",
            PUSH_BRANCH,
        ),
        (
            PendingReason.NO_RUNNER,
            (
                "no runner with the labels self-hosted, megtrim, any took the job "
                "within the time that was given"
            ),
            START_RUNNER,
        ),
        (
            PendingReason.APPROVAL,
            "the device job waits for a reviewer",
            APPROVE_JOB,
        ),
        (PendingReason.LATE, "the device job had not ended in time", HINT),
        (None, "the device job brought no result of it", HINT),
    ],
)
def test_silence_is_shown_with_its_reason_and_what_to_do(
    pending: PendingReason | None, why: str, hint: str
) -> None:
    """Unverified, and no one is blocked."""
    check = only(seen(pending=pending))

    assert check.status is CheckStatus.UNVERIFIED
    assert check.text == f"device verification pending: {why}"
    assert (check.hint, check.detail, check.reproduce) == (hint, "", "")


def test_evidence_that_came_in_time_counts_though_others_are_late() -> None:
    """A job that ended is not silent because another one is; a trace proves nothing."""
    assert only(seen(ran(result()), pending=PendingReason.LATE)).status is CheckStatus.PASS
    trace = evidence(result(trace="9" * 64, outputs=()), purpose=JobPurpose.TRACE)
    assert only(seen(trace)).text.endswith("the device job brought no result of it")


@pytest.mark.parametrize(
    ("day", "binding", "status", "reported"),
    [
        ("2027-01-28", BINDING, CheckStatus.UNVERIFIED, "; last proof 3 days old"),
        ("2027-01-30", BINDING, CheckStatus.UNVERIFIED, "; last proof 1 day old"),
        ("2027-01-17", BINDING, CheckStatus.UNVERIFIED, "; last proof 14 days old"),
        (
            *("2027-01-16", BINDING, CheckStatus.FAIL),
            "; last proof 15 days old, allowed are 14 days",
        ),
        (
            *("2027-01-17", OTHER_BINDING, CheckStatus.UNVERIFIED),
            "; last proof 14 days old, of another program",
        ),
        (
            *("2027-01-16", OTHER_BINDING, CheckStatus.FAIL),
            "; last proof 15 days old, of another program, allowed are 14 days",
        ),
    ],
)
@pytest.mark.parametrize("silent", [True, False])
def test_the_last_proof_is_shown_and_expires(
    day: str, binding: str, status: CheckStatus, reported: str, silent: bool
) -> None:
    """A dead device or a silent one alike; a proof of an earlier program expires as well."""
    lost = ran(result(status=ScenarioStatus.INFRASTRUCTURE, text="gone"))
    found = () if silent else (lost,)
    why = "the device job brought no result of it" if silent else "pixel-6: gone"
    before = proofs(evidence(result(binding=binding), day=day))
    check = only(seen(*found, proofs=before))

    unverified = status is CheckStatus.UNVERIFIED
    expected = status if silent or not unverified else CheckStatus.INFRASTRUCTURE
    assert check.status is expected
    assert check.text == f"device verification pending: {why}{reported}"
    assert check.hint == (HINT if unverified else EXPIRED)


def left_out() -> Bundle:
    return bundle(scenarios=(), proven=(proven(RESNET),))


@pytest.mark.parametrize(
    ("day", "when"),
    [("2027-01-31", "today"), ("2027-01-30", "1 day ago"), ("2027-01-17", "14 days ago")],
)
def test_a_earlier_proof_passes(day: str, when: str) -> None:
    """And says why no device was used."""
    check = only(seen(bundle=left_out(), proofs=proofs(evidence(day=day))))

    assert check.status is CheckStatus.PASS
    assert check.text == f"pixel-6 proved this program {when}, so no device was used"


@pytest.mark.parametrize(
    ("before", "status", "text"),
    [
        (
            proofs(),
            CheckStatus.UNVERIFIED,
            "the proof that it was left out for is not to be had",
        ),
        (
            proofs(evidence(result(binding=OTHER_BINDING))),
            CheckStatus.UNVERIFIED,
            (
                "the proof that it was left out for is not to be had; "
                "last proof 0 days old, of another program"
            ),
        ),
        (
            proofs(evidence(day="2027-01-16")),
            CheckStatus.FAIL,
            "it was left out for a proof; last proof 15 days old, allowed are 14 days",
        ),
    ],
)
def test_a_proof_is_judged_again(before: EvidenceSet, status: CheckStatus, text: str) -> None:
    """What the bundle says is proven must have a proof here, too."""
    check = only(seen(bundle=left_out(), proofs=before))

    assert check.status is status
    assert check.text == f"device verification pending: {text}"


def test_a_scenario_without_a_program_is_unverified() -> None:
    """The build failed; its own checks say how."""
    check = only(seen(bundle=bundle(scenarios=(), programs={}, keep_set=None)))

    assert check.status is CheckStatus.UNVERIFIED
    assert check.text == "device verification pending: there was no program to run"


@pytest.mark.parametrize(
    "other",
    [
        evidence(result(binding=OTHER_BINDING)),
        evidence(result(status=ScenarioStatus.TRAP, binding=OTHER_BINDING)),
    ],
)
def test_evidence_of_another_build_says_nothing(other: Evidence) -> None:
    """Neither good nor bad."""
    check = only(seen(other))

    assert check.status is CheckStatus.UNVERIFIED
    assert check.text == (
        "device verification pending: what the device job brought is of another build"
    )


@pytest.mark.parametrize("name", ["emulated-any", "auto-any", "pixel-7"])
def test_only_a_device_of_the_bundle_proves(name: str) -> None:
    """An emulated run is no device's, nor is one that is attached to no runner."""
    other = evidence(device=DeviceIdentity(name=name, kind="qemu", facts={}))
    devices = (device(), device(name="auto-any", runner=False))
    what = bundle(scenarios=(scenario(id=RESNET),), devices=devices)

    assert only(seen(other, bundle=what)).status is CheckStatus.UNVERIFIED


def test_a_device_proves_for_its_own_class() -> None:
    """Here pixel-6 stands for another one."""
    devices = (device(cpu_class="big"), device(name="pixel-7"))
    what = bundle(scenarios=(scenario(id=RESNET),), devices=devices)

    assert only(seen(evidence(), bundle=what)).status is CheckStatus.UNVERIFIED


def test_a_trap_is_not_outvoted() -> None:
    """Two jobs disagree: the failure counts, whatever their order; a pass counts over silence."""
    second = (device(), device(name="a-phone"))
    what = bundle(scenarios=(scenario(id=RESNET),), devices=second)
    identity = DeviceIdentity(name="a-phone", kind="local", facts={})
    good = evidence(device=identity)
    bad, lost = ran(TRAP), ran(result(status=ScenarioStatus.INFRASTRUCTURE))

    for found in ((good, bad), (bad, good), (bad, lost), (lost, bad)):
        assert only(seen(*found, bundle=what)).status is CheckStatus.FAIL
    for found in ((good, lost), (lost, good)):
        assert only(seen(*found, bundle=what)).status is CheckStatus.PASS


def test_scenarios_of_classes_without_a_runner_have_no_check() -> None:
    """Those are verified by the build alone."""
    found = checks(seen(ran(result())))
    none = bundle(devices=(device(runner=False),), scenarios=())

    assert sorted(found) == [f"device:{MOBILENET}", f"device:{RESNET}"]
    assert checks(seen(bundle=none)) == {}
    assert join(passing(), seen(bundle=none)).verdict == passing()


def test_the_verdict_is_decided_again() -> None:
    """Order, headline, devices and warnings follow; it can be written and read."""
    what = seen(ran(TRAP), problems=("evidence that cannot be used: x",))
    joined = join(passing(), what).verdict

    assert joined.verdict is VerdictKind.FAIL
    assert joined.headline == f"1 check failed, {passing().headline}, 0 of 2 proven on devices"
    assert [each.name for each in joined.devices] == ["pixel-6", "qemu-arm64"]
    assert joined.warnings == (*passing().warnings, "evidence that cannot be used: x")
    kinds = [check.kind for check in joined.checks]
    assert kinds == sorted(kinds, key=list(CheckKind).index)
    assert parse_verdict(to_json(joined), source="x") == joined


def test_failed_checks_are_counted_again() -> None:
    """Those of the build and those of devices."""
    before = failing()
    joined = join(before, seen(ran(TRAP))).verdict
    failed = sum(check.status is CheckStatus.FAIL for check in joined.checks)
    sizes = before.headline.partition(" failed, ")[2]

    assert before.headline == f"{failed - 1} checks failed, {sizes}"
    assert joined.headline == f"{failed} checks failed, {sizes}, 0 of 2 proven on devices"


def test_without_a_bundle_no_device_is_asked_about() -> None:
    """The build's word stands; proofs stay."""
    before = proofs(evidence())
    joined = join(passing(), seen(bundle=None, proofs=before))

    assert joined.verdict == passing()
    assert joined.proofs == before


def test_new_proofs_take_the_place_of_old_ones() -> None:
    """Those of other scenarios stay, whatever their age."""
    old = evidence(result(), result(scenario="gone/s@any"), day="2026-01-01")
    joined = join(passing(), seen(ran(result()), proofs=proofs(old)))

    stays = evidence(result(scenario="gone/s@any"), day="2026-01-01")
    assert joined.proofs.entries == (stays, evidence())


def test_a_proof_that_is_handed_on_has_the_day_of_the_verdict() -> None:
    """Where it is tomorrow already."""
    joined = join(passing(), seen(evidence(day="2027-02-01")))

    assert joined.proofs.entries == (evidence(day=DAY),)


@pytest.mark.parametrize(
    ("day", "age"),
    [
        ("2099-01-01", "of 2099-01-01, a day to come"),
        ("2027-02-02", "of 2027-02-02, a day to come"),
        ("2027-01-16", "15 days old"),
        ("2025-12-27", "400 days old"),
    ],
)
def test_a_pass_is_held_to_its_age(day: str, age: str) -> None:
    """Evidence that is old, or of a day to come, is no proof now nor later."""
    joined = join(passing(), seen(evidence(day=day)))
    (check,) = (each for each in joined.verdict.checks if each.id == f"device:{RESNET}")

    assert check.status is CheckStatus.FAIL
    assert check.text == (
        "device verification pending: what pixel-6 brought is no proof by its age; "
        f"last proof {age}, allowed are 14 days"
    )
    assert check.hint.startswith("look at the clock of the machine that ran it")
    assert joined.proofs.entries == ()


def test_a_pass_in_time_counts_next_to_one_that_is_too_old() -> None:
    """And a failure counts however old it is."""
    old, new = evidence(day="2025-12-27"), evidence(day=DAY)

    for found in ((old, new), (new, old)):
        assert only(seen(*found)).status is CheckStatus.PASS
    for day in ("2025-12-27", "2099-01-01"):
        assert only(seen(new, ran(TRAP, day=day))).text.startswith("pixel-6: it trapped")


def test_a_proof_of_a_day_to_come_is_none() -> None:
    """It would never grow old."""
    before = proofs(evidence(day="2099-01-01"))
    check = only(seen(bundle=left_out(), proofs=before))

    assert check.status is CheckStatus.FAIL
    assert "last proof of 2099-01-01, a day to come" in check.text


def test_a_trap_is_not_dropped_for_a_proof() -> None:
    """No one asked the device, and it was seen all the same: of the same program it counts."""
    what = seen(ran(TRAP), bundle=left_out(), proofs=proofs(evidence()))
    joined = join(passing(), what)
    (check,) = (each for each in joined.verdict.checks if each.id == f"device:{RESNET}")

    assert (check.status, check.text[:19]) == (CheckStatus.FAIL, "pixel-6: it trapped")
    assert joined.proofs.entries == ()


@pytest.mark.parametrize("name", ["emulated-any", "auto-any", "pixel-7"])
def test_a_trap_is_not_dropped_for_the_machine_that_saw_it(name: str) -> None:
    """Such a machine cannot prove, and a trap on it is one."""
    machine = DeviceIdentity(name=name, kind="qemu", facts={})
    check = only(seen(ran(result()), ran(TRAP, device=machine)))

    assert (check.status, check.text) == (CheckStatus.FAIL, f"{name}: {TRAP.text}")
    assert check.reproduce == ""


def test_a_bundle_of_another_run_is_refused() -> None:
    """What devices say of its scenarios would have no check."""
    other = bundle(scenarios=(scenario(id="other/s@any"),))
    with pytest.raises(InputError, match="asks for other/s@any, which the verdict does not hold"):
        join(passing(), seen(bundle=other))
    left = bundle(scenarios=(), proven=(proven("other/s@any"),))
    with pytest.raises(InputError, match="asks for other/s@any"):
        join(passing(), seen(bundle=left))
    traced = bundle(purpose=JobPurpose.TRACE, programs={"plain": "3" * 64, "profile": "4" * 64})
    with pytest.raises(InputError, match="asks devices to trace, expected one that asks to verify"):
        join(passing(), seen(bundle=traced))


@pytest.mark.parametrize(
    ("tolerance", "difference", "fits"),
    [
        (Tolerance(), 0.0, True),
        (Tolerance(), 1e-9, False),
        (Tolerance(absolute=0.5), 0.5, True),
        (Tolerance(absolute=0.5), 0.75, False),
        (Tolerance(relative=0.5), 0.75, True),
    ],
)
def test_a_pass_is_held_to_the_tolerance(
    tolerance: Tolerance, difference: float, fits: bool
) -> None:
    """That of the bundle, as far as a difference alone can tell."""
    what = bundle(scenarios=(scenario(id=RESNET, tolerance=tolerance),))
    found = ran(result(outputs=(output(largest_difference=difference),)))

    if fits:
        assert only(seen(found, bundle=what)).status is CheckStatus.PASS
        return
    with pytest.raises(Contradiction, match=f"run0-var178 differs by {difference:g}, allowed is "):
        join(passing(), seen(found, bundle=what))


@pytest.mark.parametrize(
    ("binding", "entries"), [(BINDING, 0), (OTHER_BINDING, 1)], ids=["same", "other"]
)
def test_a_failure_revokes_the_proof_of_its_program(binding: str, entries: int) -> None:
    """A proof of another program stays: it says when the device last worked."""
    before = proofs(evidence(result(binding=binding), day="2027-01-01"))

    assert len(join(passing(), seen(ran(TRAP), proofs=before)).proofs.entries) == entries


def test_a_dead_device_revokes_nothing() -> None:
    """Nothing was learned."""
    before = proofs(evidence(day="2027-01-30"))
    lost = ran(result(status=ScenarioStatus.INFRASTRUCTURE))

    assert join(passing(), seen(lost, proofs=before)).proofs == before


@pytest.mark.parametrize(
    "machine",
    [
        DeviceIdentity(name="pixel-6", kind="qemu", facts={"cpu": "max"}),
        DeviceIdentity(name="pixel-6", kind="adb", facts={}),
    ],
)
def test_a_machine_of_another_kind_is_another_device(machine: DeviceIdentity) -> None:
    """Its pass counts neither now nor as a proof; its failure does."""
    now, before = ran(result(), device=machine), evidence(device=machine)
    known = seen(bundle=bundle(scenarios=(), proven=(proven(),)), proofs=proofs(before))

    assert only(seen(now)).status is CheckStatus.UNVERIFIED
    assert only(known).status is CheckStatus.UNVERIFIED
    assert "a proof by a device that is not configured" in only(known).text
    assert only(seen(ran(TRAP, device=machine))).status is CheckStatus.FAIL


def test_a_pass_counts_for_nothing_where_no_device_worked() -> None:
    """A fork's run starts none; a failure is shown all the same."""
    assert only(seen(ran(result()), pending=PendingReason.FORK)).status is CheckStatus.UNVERIFIED
    assert only(seen(ran(TRAP), pending=PendingReason.FORK)).status is CheckStatus.FAIL


def _of_build(**changes: Any) -> Verdict:
    whole = passing()
    scenarios = (replace(e, **changes) if e.id == RESNET else e for e in whole.scenarios)
    return replace(whole, scenarios=tuple(scenarios))


def test_a_bundle_of_another_build_is_refused() -> None:
    """Devices would prove what no one is to let in."""
    with pytest.raises(InputError, match="with other programs or files than the verdict's"):
        join(_of_build(binding="0" * 64), seen(ran(result())))
    join(_of_build(binding=BINDING), seen(ran(result())))


def test_a_pass_of_other_outputs_is_refused() -> None:
    """The programs are those of the build, which saw what they leave."""
    known = OutputResult(name="run0-var9", size_bytes=4, equal=True, largest_difference=0.0)

    with pytest.raises(Contradiction, match="came from the build's run or from the device's alone"):
        join(_of_build(outputs=(known,)), seen(ran(result())))
