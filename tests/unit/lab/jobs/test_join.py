from dataclasses import replace
from datetime import date
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from megtrim.core.checks.check import Check, DeviceIdentity
from megtrim.core.checks.invocation import (
    APPROVE_JOB,
    BRING_DEVICE_BACK,
    PUSH_BRANCH,
    START_RUNNER,
    WAIT_FOR_DEVICE,
    suggest_for_scenario,
)
from megtrim.core.checks.statuses import (
    CheckKind,
    CheckStatus,
    Contradiction,
    PendingReason,
    ScenarioStatus,
    VerdictKind,
    decide,
)
from megtrim.core.evidence.evidence import Evidence, EvidenceResult, EvidenceSet, JobPurpose
from megtrim.core.report import junit
from megtrim.core.verdict.join import join as join_facts
from megtrim.core.verdict.model import Verdict, parse_verdict, to_json
from megtrim.lab.evidence.bundle import Bundle
from megtrim.lab.jobs.join import DeviceFindings, join
from megtrim.libs.programs.parity import OutputResult, Tolerance
from megtrim.libs.programs.telemetry import Conditions, Reading
from megtrim.libs.util.errors import InputError
from unit.core.verdict.examples import MOBILENET, RESNET, facts, failing, passing
from unit.lab.evidence.support import (
    BINDING,
    DAY,
    OTHER_BINDING,
    bundle,
    device,
    evidence,
    output,
    proofs,
    proven,
    result,
    scenario,
)

TRAP = result(
    status=ScenarioStatus.TRAP,
    text="it trapped: 1 region it needs is not in the keep set",
    missing_regions=("kern<7>",),
    outputs=(OutputResult(name="o", size_bytes=4, equal=False, largest_difference=0.5),),
    log_tail="Trace/breakpoint trap",
    conditions=Conditions(before=Reading(cpu_c=40.5), after=Reading(cpu_c=40.5)),
    crash="ended by signal 5 (SIGTRAP)",
)


def seen(*found: Evidence, **changes: Any) -> DeviceFindings:
    values: dict[str, Any] = {
        "bundle": bundle(scenarios=(scenario(id=RESNET),)),
        "evidence": found,
        "proofs": EvidenceSet(entries=()),
        "pending": None,
        "today": date.fromisoformat(DAY),
    }
    return DeviceFindings(**{**values, **changes})


def checks(what: DeviceFindings) -> dict[str, Check]:
    final = join(passing(), what)[0]
    return {check.id: check for check in final.checks if check.kind is CheckKind.DEVICE}


def only(what: DeviceFindings) -> Check:
    return checks(what)[f"device:{RESNET}"]


def test_a_proof_now_passes() -> None:
    assert only(seen(evidence(result(time_s=2.5)))) == Check(
        id=f"device:{RESNET}",
        kind=CheckKind.DEVICE,
        subject=RESNET,
        status=CheckStatus.PASS,
        text="pixel-6: outputs equal to the last bit (1 tensor, 40 bytes)",
        time_s=2.5,
        file="megtrim.yaml",
        line=21,
    )


def test_a_trap_on_a_device_fails() -> None:
    joined = join(failing(), seen(evidence(TRAP)))[0]
    check = next(check for check in joined.checks if check.id == f"device:{RESNET}")

    assert check.status is CheckStatus.FAIL
    assert check.text == "pixel-6: it trapped: 1 region it needs is not in the keep set"
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
    mine = replace(passing().scenarios[1], status=status, text="qemu is gone")
    others = (each for each in facts().scenarios if each.id != RESNET)
    return join_facts(facts(scenarios=(*others, mine)))


def test_a_stand_in_that_failed_gives_way_to_the_device() -> None:
    build = stood_in_for(ScenarioStatus.INFRASTRUCTURE)
    assert [check.id for check in build.checks if check.kind is CheckKind.DEVICE] == [
        f"device:{RESNET}"
    ]

    proven_ = join(build, seen(evidence(result())))[0]
    (check,) = (check for check in proven_.checks if check.id == f"device:{RESNET}")
    assert (check.status, check.text[:8]) == (CheckStatus.PASS, "pixel-6:")

    silent = join(build, seen())[0]
    (check,) = (check for check in silent.checks if check.id == f"device:{RESNET}")
    assert check.status is CheckStatus.UNVERIFIED
    assert silent.verdict is VerdictKind.UNVERIFIED

    assert join(build, seen(bundle=None))[0] == build


@pytest.mark.parametrize(
    "status", [each for each in CheckStatus if each is not CheckStatus.INFRASTRUCTURE]
)
def test_a_joined_verdict_is_not_joined_again(status: CheckStatus) -> None:
    """A trap that a device saw would else give way to silence."""
    [*_, check] = join(passing(), seen(evidence(result())))[0].checks
    device_check = replace(check, id="device:x", kind=CheckKind.DEVICE, status=status)

    checks = (*passing().checks, device_check)
    joined = replace(passing(), checks=checks, verdict=decide(each.status for each in checks))

    with pytest.raises(
        InputError, match="contains device:x already: it was joined before"
    ) as caught:
        join(joined, seen())
    assert caught.value.hint == "give the verdict that the build left, in OUT/final"


@pytest.mark.parametrize("status", [ScenarioStatus.INFRASTRUCTURE, ScenarioStatus.UNVERIFIED])
def test_a_dead_device_is_no_failure_of_the_product(status: ScenarioStatus) -> None:
    what = seen(evidence(result(status=status, text="the phone is gone")))

    assert only(what).status is CheckStatus.INFRASTRUCTURE
    assert only(what).text == "device verification pending: pixel-6: the phone is gone"
    assert only(what).hint == WAIT_FOR_DEVICE
    assert join(passing(), what)[0].verdict is VerdictKind.UNVERIFIED


def left_out() -> Bundle:
    return bundle(scenarios=(), proven=(proven(RESNET),))


PASSES = evidence(result())
TRAPPED = evidence(TRAP)
LOST = evidence(result(status=ScenarioStatus.INFRASTRUCTURE, text="the phone is gone", outputs=()))
HOT = Conditions(before=Reading(), after=Reading(thermal_status=1))
ASKED = (scenario(id=RESNET),)
TWO = bundle(scenarios=ASKED, devices=(device(), device(name="a-phone")))
EQUAL = "outputs equal to the last bit (1 tensor, 40 bytes)"


def on(name: str, kind: str = "local", found: EvidenceResult | None = None) -> Evidence:
    facts = {"cpu": "max"} if kind == "qemu" else {}
    return evidence(found or result(), device=DeviceIdentity(name=name, kind=kind, facts=facts))


def proven_before(*entries: Evidence, **changes: Any) -> dict[str, Any]:
    return {"bundle": left_out(), "proofs": proofs(*entries), **changes}


PASS = CheckStatus.PASS
FAIL = CheckStatus.FAIL
UNVERIFIED = CheckStatus.UNVERIFIED
NO_RESULT = "device verification pending: the device job delivered no result for it"
OTHER_BUILD = "device verification pending: the evidence of the device job is from another build"
GONE_PROOF = "device verification pending: the proof that it was left out for is not to be had"
LEFT_OUT = "device verification pending: it was left out for a proof"
NO_RUNNER = "no runner with the labels self-hosted, megtrim, any took the job within the time that"


@pytest.mark.parametrize(
    ("found", "changes", "status", "text"),
    [
        (
            (evidence(result(conditions=HOT)),),
            {},
            PASS,
            f"pixel-6: {EQUAL}; time not valid: throttled",
        ),
        *(
            ((evidence(result(status=status)),), {}, FAIL, "pixel-6: ")
            for status in (ScenarioStatus.PARITY, ScenarioStatus.ENGINE_ERROR, ScenarioStatus.TRACE)
        ),
        # Several phones may have the properties that an entry names; others are not it.
        ((on("pixel-6.1A2B"),), {}, PASS, "pixel-6.1A2B: "),
        *(
            ((on(name, kind),), {}, UNVERIFIED, NO_RESULT)
            for name, kind in (
                ("pixel-60", "local"),
                ("emulated-any", "local"),
                ("pixel-7", "qemu"),
                ("pixel-6", "qemu"),
                ("pixel-6", "adb"),
            )
        ),
        # One that is attached to no runner, and one that stands for another class.
        (
            (on("auto-any", "qemu"),),
            {"bundle": bundle(devices=(device(), device(name="auto-any", runner=False)))},
            UNVERIFIED,
            NO_RESULT,
        ),
        (
            (PASSES,),
            {"bundle": bundle(devices=(device(cpu_class="big"), device(name="pixel-7")))},
            UNVERIFIED,
            NO_RESULT,
        ),
        # A trap counts wherever it was seen, and is not outvoted in whatever order they come.
        *(
            ((PASSES, on(name, kind, TRAP)), {}, FAIL, f"{name}: {TRAP.text}")
            for name, kind in (
                ("emulated-any", "qemu"),
                ("pixel-7", "qemu"),
                ("pixel-6", "qemu"),
                ("pixel-6", "adb"),
            )
        ),
        *(
            (found, {"bundle": TWO}, status, text)
            for first, second, status, text in (
                (on("a-phone"), TRAPPED, FAIL, "pixel-6: it trapped"),
                (TRAPPED, LOST, FAIL, "pixel-6: it trapped"),
                (on("a-phone"), LOST, PASS, "a-phone: "),
            )
            for found in ((first, second), (second, first))
        ),
        # What is of another build says nothing, nor does a trace.
        ((evidence(result(binding=OTHER_BINDING)),), {}, UNVERIFIED, OTHER_BUILD),
        ((evidence(replace(TRAP, binding=OTHER_BINDING)),), {}, UNVERIFIED, OTHER_BUILD),
        (
            (evidence(result(trace="9" * 64, outputs=()), purpose=JobPurpose.TRACE),),
            {},
            UNVERIFIED,
            NO_RESULT,
        ),
        (
            (),
            {"bundle": bundle(scenarios=(), programs={}, keep_set=None)},
            UNVERIFIED,
            "device verification pending: there was no program to run",
        ),
        # A job that ended is not silent because another one is; a fork's run starts none.
        ((PASSES,), {"pending": PendingReason.LATE}, PASS, "pixel-6: "),
        ((PASSES,), {"pending": PendingReason.FORK}, UNVERIFIED, "device verification pending: a"),
        ((TRAPPED,), {"pending": PendingReason.FORK}, FAIL, "pixel-6: it trapped"),
        # A failure counts however old it is, and a pass next to one that is too old.
        *(
            ((PASSES, evidence(TRAP, day=day)), {}, FAIL, "pixel-6: it trapped")
            for day in ("2025-12-27", "2099-01-01")
        ),
        ((evidence(day="2025-12-27"), PASSES), {}, PASS, "pixel-6: "),
        ((PASSES, evidence(day="2025-12-27")), {}, PASS, "pixel-6: "),
        # What the bundle says is proven must have a proof here, too.
        *(
            (
                (),
                proven_before(evidence(day=day)),
                PASS,
                f"pixel-6 proved this program {when}, so no device was used",
            )
            for day, when in (
                ("2027-01-31", "today"),
                ("2027-01-30", "1 day ago"),
                ("2027-01-17", "14 days ago"),
            )
        ),
        ((), proven_before(), UNVERIFIED, GONE_PROOF),
        (
            (),
            proven_before(evidence(result(binding=OTHER_BINDING))),
            UNVERIFIED,
            f"{GONE_PROOF}; last proof 0 days old, of another program",
        ),
        (
            (),
            proven_before(evidence(day="2027-01-16")),
            FAIL,
            f"{LEFT_OUT}; last proof 15 days old, allowed are 14 days",
        ),
        (
            (),
            proven_before(evidence(day="2099-01-01")),
            FAIL,
            f"{LEFT_OUT}; last proof of 2099-01-01, a day to come",
        ),
        *(
            (
                (),
                proven_before(on("pixel-6", kind)),
                UNVERIFIED,
                f"{LEFT_OUT} by a device that is not configured",
            )
            for kind in ("qemu", "adb")
        ),
    ],
)
def test_what_is_known_of_a_scenario_is_its_check(
    found: tuple[Evidence, ...], changes: dict[str, Any], status: CheckStatus, text: str
) -> None:
    check = only(seen(*found, **changes))

    assert check.status is status
    assert check.text.startswith(text), check.text
    if text.startswith(("emulated-any", "pixel-7")):
        assert check.reproduce == ""  # no device of that name can be asked


@pytest.mark.parametrize(
    ("pending", "why", "hint"),
    [
        (PendingReason.FORK, "a pull request from a fork runs no device job", PUSH_BRANCH),
        (PendingReason.NO_RUNNER, NO_RUNNER, START_RUNNER),
        (PendingReason.APPROVAL, "the device job waits for a reviewer", APPROVE_JOB),
        (PendingReason.LATE, "the device job had not ended in time", WAIT_FOR_DEVICE),
        (None, "the device job delivered no result for it", WAIT_FOR_DEVICE),
    ],
)
def test_silence_is_shown_with_its_reason_and_what_to_do(
    pending: PendingReason | None, why: str, hint: str
) -> None:
    check = only(seen(pending=pending))

    assert check.status is CheckStatus.UNVERIFIED
    assert check.text.startswith(f"device verification pending: {why}")
    assert (check.hint, check.detail, check.reproduce) == (hint, "", "")


def test_the_label_of_a_machine_of_github_is_named() -> None:
    hosted = bundle(devices=(device(hosted=True),))
    check = only(seen(pending=PendingReason.NO_RUNNER, bundle=hosted))

    assert "no runner with the labels ubuntu-24.04-arm took the job" in check.text


def test_all_attempts_are_shown() -> None:
    attempts = ("pixel-6: link lost while pushing", "pixel-7: it did not boot")
    died = evidence(
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
    [case] = ET.fromstring(junit.render(join(passing(), seen(died))[0])).findall(
        f".//testcase[@name='{check.id}']"
    )
    [error] = case.findall("error")
    assert error.attrib["message"] == check.text
    assert all(attempt in (error.text or "") for attempt in attempts)
    assert case.find("failure") is None


@pytest.mark.parametrize(
    ("day", "binding", "status", "reported"),
    [
        ("2027-01-28", BINDING, UNVERIFIED, "; last proof 3 days old"),
        ("2027-01-30", BINDING, UNVERIFIED, "; last proof 1 day old"),
        ("2027-01-17", BINDING, UNVERIFIED, "; last proof 14 days old"),
        ("2027-01-16", BINDING, FAIL, "; last proof 15 days old, allowed are 14 days"),
        ("2027-01-17", OTHER_BINDING, UNVERIFIED, "; last proof 14 days old, of another program"),
        (
            "2027-01-16",
            OTHER_BINDING,
            FAIL,
            "; last proof 15 days old, of another program, allowed are 14 days",
        ),
    ],
)
@pytest.mark.parametrize("silent", [True, False])
def test_the_last_proof_is_shown_and_expires(
    day: str, binding: str, status: CheckStatus, reported: str, silent: bool
) -> None:
    lost = evidence(result(status=ScenarioStatus.INFRASTRUCTURE, text="gone"))
    found = () if silent else (lost,)
    why = "the device job delivered no result for it" if silent else "pixel-6: gone"
    before = proofs(evidence(result(binding=binding), day=day))
    check = only(seen(*found, proofs=before))

    unverified = status is CheckStatus.UNVERIFIED
    expected = status if silent or not unverified else CheckStatus.INFRASTRUCTURE
    assert check.status is expected
    assert check.text == f"device verification pending: {why}{reported}"
    assert check.hint == (WAIT_FOR_DEVICE if unverified else BRING_DEVICE_BACK)


def test_scenarios_of_classes_without_a_runner_have_no_check() -> None:
    found = checks(seen(evidence(result())))
    none = bundle(devices=(device(runner=False),), scenarios=())

    assert sorted(found) == [f"device:{MOBILENET}", f"device:{RESNET}"]
    assert checks(seen(bundle=none)) == {}
    assert join(passing(), seen(bundle=none))[0] == passing()


def test_the_verdict_is_decided_again() -> None:
    what = seen(evidence(TRAP), problems=("evidence that cannot be used: x",))
    joined = join(passing(), what)[0]

    assert joined.verdict is VerdictKind.FAIL
    assert joined.headline == f"1 check failed, {passing().headline}, 0 of 2 proven on devices"
    assert [each.name for each in joined.devices] == ["pixel-6", "qemu-arm64"]
    assert joined.warnings == (*passing().warnings, "evidence that cannot be used: x")
    kinds = [check.kind for check in joined.checks]
    assert kinds == sorted(kinds, key=list(CheckKind).index)
    assert parse_verdict(to_json(joined), source="x") == joined


def test_failed_checks_are_counted_again() -> None:
    before = failing()
    joined = join(before, seen(evidence(TRAP)))[0]
    failed = sum(check.status is CheckStatus.FAIL for check in joined.checks)
    sizes = before.headline.partition(" failed, ")[2]

    assert before.headline == f"{failed - 1} checks failed, {sizes}"
    assert joined.headline == f"{failed} checks failed, {sizes}, 0 of 2 proven on devices"


def test_without_a_bundle_no_device_is_asked_about() -> None:
    before = proofs(evidence())
    joined, kept = join(passing(), seen(bundle=None, proofs=before))

    assert joined == passing()
    assert kept == before


GONE = evidence(result(scenario="gone/s@any"), day="2026-01-01")
PROVEN = evidence(day="2027-01-01")
OF_ANOTHER = evidence(result(binding=OTHER_BINDING), day="2027-01-01")


@pytest.mark.parametrize(
    ("found", "before", "after"),
    [
        (
            PASSES,
            (evidence(result(), result(scenario="gone/s@any"), day="2026-01-01"),),
            (GONE, evidence()),
        ),
        (evidence(day="2027-02-01"), (), (evidence(day=DAY),)),
        (TRAPPED, (PROVEN,), ()),
        (TRAPPED, (OF_ANOTHER,), (OF_ANOTHER,)),
        (LOST, (PROVEN,), (PROVEN,)),
    ],
    ids=[
        "a new one takes the place of an old one",
        "it has the day of the verdict",
        "a failure revokes that of its program",
        "a failure revokes no other",
        "a dead device revokes nothing",
    ],
)
def test_proofs_are_handed_on(
    found: Evidence, before: tuple[Evidence, ...], after: tuple[Evidence, ...]
) -> None:
    _, kept = join(passing(), seen(found, proofs=proofs(*before)))

    assert kept.entries == after


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
    joined, kept = join(passing(), seen(evidence(day=day)))
    (check,) = (each for each in joined.checks if each.id == f"device:{RESNET}")

    assert check.status is CheckStatus.FAIL
    assert check.text == (
        "device verification pending: what pixel-6 brought is too old for a proof; "
        f"last proof {age}, allowed are 14 days"
    )
    assert check.hint.startswith("look at the clock of the machine that ran it")
    assert kept.entries == ()


def test_a_trap_is_not_dropped_for_a_proof() -> None:
    what = seen(evidence(TRAP), bundle=left_out(), proofs=proofs(evidence()))
    joined, kept = join(passing(), what)
    (check,) = (each for each in joined.checks if each.id == f"device:{RESNET}")

    assert (check.status, check.text[:19]) == (CheckStatus.FAIL, "pixel-6: it trapped")
    assert kept.entries == ()


def test_a_bundle_of_another_run_is_refused() -> None:
    """What devices say of its scenarios would have no check."""
    other = bundle(scenarios=(scenario(id="other/s@any"),))
    with pytest.raises(
        InputError, match="asks for other/s@any, which the verdict does not contain"
    ):
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
    what = bundle(scenarios=(scenario(id=RESNET, tolerance=tolerance),))
    found = evidence(result(outputs=(output(largest_difference=difference),)))

    if fits:
        assert only(seen(found, bundle=what)).status is CheckStatus.PASS
        return
    with pytest.raises(Contradiction, match=f"run0-var178 differs by {difference:g}, allowed is "):
        join(passing(), seen(found, bundle=what))


def _of_build(**changes: Any) -> Verdict:
    whole = passing()
    scenarios = (replace(e, **changes) if e.id == RESNET else e for e in whole.scenarios)
    return replace(whole, scenarios=tuple(scenarios))


def test_a_bundle_of_another_build_is_refused() -> None:
    with pytest.raises(InputError, match="with other programs or files than the verdict's"):
        join(_of_build(binding="0" * 64), seen(evidence(result())))
    join(_of_build(binding=BINDING), seen(evidence(result())))


def test_a_pass_of_other_outputs_is_refused() -> None:
    known = OutputResult(name="run0-var9", size_bytes=4, equal=True, largest_difference=0.0)

    with pytest.raises(
        Contradiction, match="exists only in the build's run or only in the device's"
    ):
        join(_of_build(outputs=(known,)), seen(evidence(result())))
