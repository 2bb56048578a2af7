"""Joins a build's verdict with what devices brought back: one check for each scenario of theirs.

A pass counts until it is too old, a failure counts whenever and wherever it was seen.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from megtrim.core.checks.check import Check, DeviceIdentity
from megtrim.core.checks.invocation import (
    APPROVE_JOB,
    BRING_DEVICE_BACK,
    CHECK_CLOCK,
    PUSH_BRANCH,
    START_RUNNER,
    WAIT_FOR_DEVICE,
    ScenarioKind,
    suggest_for_scenario,
)
from megtrim.core.checks.statuses import (
    CheckKind,
    CheckStatus,
    Contradiction,
    PendingReason,
    ScenarioStatus,
    decide,
)
from megtrim.core.config.device import EMULATED
from megtrim.core.config.problems import Place
from megtrim.core.evidence.evidence import (
    DAY_S,
    PENDING,
    DeviceResult,
    Evidence,
    EvidenceSet,
    JobPurpose,
    as_set,
    expect_configuration,
    expect_evidence_of,
    list_results,
    newest,
)
from megtrim.core.proof.results import ScenarioResult, detail, with_note
from megtrim.core.timing.spec import PerformanceStatus
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.performance import performance_checks, summarize
from megtrim.lab.evidence.bundle import Bundle, BundleContest, BundleDevice, find_device
from megtrim.lab.evidence.times import TimesJudge
from megtrim.libs.util.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count
from megtrim.times.outcomes import ContestOutcome, make_performance, show_again
from megtrim.times.plan import PerfResult

_FAILED_COUNT = re.compile(r"^[0-9]+ checks? failed, ")
_HINTS = {
    PendingReason.FORK: PUSH_BRANCH,
    PendingReason.NO_RUNNER: START_RUNNER,
    PendingReason.APPROVAL: APPROVE_JOB,
    PendingReason.LATE: WAIT_FOR_DEVICE,
}
_HINT = "give the verdict and the bundle of one build job"
_NOT_JOINED = "give the verdict that the build left, in OUT/final"
_RUN_AGAIN = "run the device job again"

_FAILED_AT: Mapping[ScenarioStatus, ScenarioKind] = {
    ScenarioStatus.TRAP: CheckKind.TRAP,
    ScenarioStatus.PARITY: CheckKind.PARITY,
    ScenarioStatus.ENGINE_ERROR: CheckKind.ENGINE,
    ScenarioStatus.TRACE: CheckKind.TRACE,
}


class DeviceFindings(Value):
    bundle: Bundle | None
    evidence: tuple[Evidence, ...]
    proofs: EvidenceSet
    pending: PendingReason | None
    today: date
    problems: tuple[str, ...] = ()


def join(verdict: Verdict, seen: DeviceFindings) -> tuple[Verdict, EvidenceSet]:
    """Raises InputError for what is not of one build, or was joined before."""
    config = verdict.invocation.config
    expect_evidence_of(config, "the evidence", seen.evidence)
    expect_evidence_of(config, "the earlier proof", seen.proofs.entries)
    proofs = seen.proofs
    added: list[Check] = []
    if seen.bundle is not None:
        _expect_of_one_run(verdict, seen.bundle)
        devices = _Devices(verdict, seen.bundle, seen)
        classes = seen.bundle.runner_classes()
        traps = (check for check in verdict.checks if check.kind is CheckKind.TRAP)
        lines = {check.subject: check.line for check in traps}
        added = [
            devices.tell(scenario, lines.get(scenario.id, 1))
            for scenario in verdict.scenarios
            if scenario.cpu_class in classes
        ]
        proofs = devices.proofs()
    checks = (*_of_build(verdict, added), *added)
    found = ""
    if added:
        passed = sum(check.status is CheckStatus.PASS for check in added)
        found = f"{passed} of {len(added)} proven on devices"
    final = replace(
        _replace_checks(verdict, checks, found=found),
        devices=_add_devices(verdict, (each.device for each in seen.evidence)),
        warnings=(*verdict.warnings, *seen.problems),
        programs=(),
        next="",
    )
    return final, proofs


def _replace_checks(verdict: Verdict, checks: Iterable[Check], *, found: str) -> Verdict:
    """Return a verdict with other checks, and a headline that says what was ``found``, if any."""
    order = list(CheckKind)
    every = tuple(sorted(checks, key=lambda check: (order.index(check.kind), check.id)))
    headline = ", ".join(filter(None, (_FAILED_COUNT.sub("", verdict.headline), found)))
    failed = sum(check.status is CheckStatus.FAIL for check in every)
    if failed:
        headline = f"{count(failed, 'check')} failed, {headline}"
    kind = decide(check.status for check in every)
    return replace(verdict, verdict=kind, headline=headline, checks=every)


def _expect_of_one_run(verdict: Verdict, bundle: Bundle) -> None:
    """Refuse a bundle of another build: the trap of a scenario without a check would be lost."""
    expect_configuration("the bundle", bundle.config, verdict.invocation.config)
    if bundle.purpose is not JobPurpose.VERIFY:
        msg = f"the bundle asks devices to {bundle.purpose}, expected one that asks to verify"
        raise InputError(msg, hint=_HINT)
    known = {scenario.id: scenario.binding for scenario in verdict.scenarios}
    asked = {scenario.id: scenario.binding for scenario in bundle.scenarios}
    for id_, binding in (asked | {each.id: each.binding for each in bundle.proven}).items():
        if id_ not in known:
            msg = f"the bundle asks for {id_}, which the verdict does not contain"
            raise InputError(msg, hint=_HINT)
        if known[id_] not in ("", binding):
            msg = f"the bundle asks for {id_} with other programs or files than the verdict's"
            raise InputError(msg, hint=_HINT)


def _of_build(verdict: Verdict, added: Sequence[Check]) -> list[Check]:
    replaced = {check.id for check in added}
    for check in verdict.checks:
        if check.kind is CheckKind.DEVICE and check.status is not CheckStatus.INFRASTRUCTURE:
            msg = f"the verdict contains {check.id} already: it was joined before"
            raise InputError(msg, hint=_NOT_JOINED)
    return [check for check in verdict.checks if check.id not in replaced]


def _add_devices(verdict: Verdict, devices: Iterable[DeviceIdentity]) -> tuple[DeviceIdentity, ...]:
    known: dict[str, DeviceIdentity] = {}
    for device in (*verdict.devices, *devices):
        known.setdefault(device.name, device)
    return tuple(known[name] for name in sorted(known))


class _Devices:
    def __init__(self, verdict: Verdict, bundle: Bundle, seen: DeviceFindings) -> None:
        self._verdict = verdict
        self._bundle = bundle
        self._pending = seen.pending
        self._today = seen.today
        self._before = newest(seen.proofs.entries)
        self._proven = {each.id: each.binding for each in bundle.proven}
        self._bindings = {each.id: each.binding for each in bundle.scenarios} | self._proven
        # Forks run no device jobs, so a pass that comes from one is not genuine.
        self._found = _by_scenario(
            bundle, seen.evidence, passes=seen.pending is not PendingReason.FORK
        )
        self._expect_within_tolerance()

    def tell(self, scenario: ScenarioResult, line: int) -> Check:
        blank = Check(
            id=f"{CheckKind.DEVICE}:{scenario.id}",
            kind=CheckKind.DEVICE,
            subject=scenario.id,
            status=CheckStatus.UNVERIFIED,
            text="",
            file=self._verdict.config,
            line=line,
        )
        proof = self._before.get(scenario.id)
        worst = self._worst(scenario.id)
        if scenario.id in self._proven and (worst is None or _severity(worst) > 0):
            return self._by_proof(blank, proof, self._proven[scenario.id])
        if scenario.id not in self._bindings:
            return self._silent(blank, "there was no program to run", proof, same=False)
        same = proof is not None and proof.result.binding == self._bindings[scenario.id]
        if worst is not None:
            return self._by_evidence(blank, scenario, worst, proof, same=same)
        if stale := self._stale(scenario.id):
            why = f"what {stale.device.name} brought is too old for a proof"
            return replace(self._silent(blank, why, stale, same=True), hint=CHECK_CLOCK)
        if self._found[scenario.id]:
            why = "the evidence of the device job is from another build"
        elif self._pending is None:
            why = "the device job delivered no result for it"
        else:
            why = PENDING[self._pending].format(labels=self._bundle.labels_of(scenario.cpu_class))
        return self._silent(blank, why, proof, same=same)

    def proofs(self) -> EvidenceSet:
        """Return the newest proof of each scenario; a failure revokes the proof of its program."""
        kept = dict(self._before)
        for scenario in self._bindings:
            worst = self._worst(scenario)
            if worst is None:
                continue
            before = kept.get(scenario)
            if _severity(worst) == 0 and before and before.result.binding == worst.result.binding:
                del kept[scenario]
            if worst.passed:
                kept[scenario] = worst.clamp_day(self._today)
        return as_set(kept.values())

    def _expect_within_tolerance(self) -> None:
        for scenario in self._bundle.scenarios:
            for found in filter(lambda found: found.passed, self._fitting(scenario.id)):
                for output in found.result.outputs:
                    difference = output.largest_difference or 0.0
                    if not scenario.tolerance.covers(difference):
                        said = f"output {output.name} differs by {difference:g}"
                        allowed = f"allowed is {scenario.tolerance}"
                        msg = f"{found.device.name}: {scenario.id} passed, but {said}, {allowed}"
                        raise Contradiction(msg, hint=_RUN_AGAIN)

    def _worst(self, scenario: str) -> DeviceResult | None:
        return min(
            (found for found in self._fitting(scenario) if not self._is_stale(found)),
            key=lambda found: (_severity(found), found.device.name, found.result.text),
            default=None,
        )

    def _stale(self, scenario: str) -> DeviceResult | None:
        stale = [found for found in self._fitting(scenario) if self._is_stale(found)]
        return max(stale, key=lambda found: found.evidence.day, default=None)

    def _is_stale(self, found: DeviceResult) -> bool:
        return found.passed and not found.is_young(self._today, self._bundle.max_age_s)

    def _fitting(self, scenario: str) -> Iterator[DeviceResult]:
        binding = self._bindings.get(scenario)
        return (found for found in self._found[scenario] if found.result.binding == binding)

    def _by_proof(self, blank: Check, proof: DeviceResult | None, binding: str) -> Check:
        # The build job left it out because of a proof, which is checked again here.
        if proof is None or proof.result.binding != binding:
            why = "the proof that it was left out for is not to be had"
            return self._silent(blank, why, proof, same=False)
        why = "it was left out for a proof"
        if self._find_device(proof) is None:
            why += " by a device that is not configured"
            return self._silent(blank, why, proof, same=True)
        if not proof.is_young(self._today, self._bundle.max_age_s):
            return self._silent(blank, why, proof, same=True)
        days = proof.age_days(self._today)
        when = "today" if days == 0 else f"{count(days, 'day')} ago"
        text = f"{proof.device.name} proved this program {when}, so no device was used"
        return replace(blank, status=CheckStatus.PASS, text=text)

    def _by_evidence(
        self,
        blank: Check,
        scenario: ScenarioResult,
        found: DeviceResult,
        proof: DeviceResult | None,
        *,
        same: bool,
    ) -> Check:
        result = found.result
        text = f"{found.device.name}: {result.text}"
        if found.passed:
            _expect_same_outputs(scenario, found)
            text = with_note(text, result.conditions)
            return replace(blank, status=CheckStatus.PASS, text=text, time_s=result.time_s)
        shown = replace(scenario, device=found.device.name, **result.list_fields())
        if _severity(found) > 0:
            silent = replace(
                self._silent(blank, text, proof, same=same),
                time_s=result.time_s,
                detail=detail(shown),
            )
            if silent.status is CheckStatus.FAIL:
                return silent
            return replace(silent, status=CheckStatus.INFRASTRUCTURE)
        device = self._find_device(found)
        invocation = replace(self._verdict.invocation, device=device.name if device else "")
        return replace(
            blank,
            status=CheckStatus.FAIL,
            text=text,
            hint=suggest_for_scenario(_FAILED_AT[result.status], self._verdict.invocation),
            detail=detail(shown),
            time_s=result.time_s,
            reproduce=invocation.verify(scenario.id) if device else "",
        )

    def _find_device(self, found: DeviceResult) -> BundleDevice | None:
        return find_device(self._bundle.devices, found.evidence.cpu_class, found.device)

    def _silent(self, blank: Check, why: str, proof: DeviceResult | None, *, same: bool) -> Check:
        text = f"device verification pending: {why}"
        if proof is not None:
            text += f"; last proof {proof.describe_age(self._today)}"
            text += "" if same else ", of another program"
        # A missing device blocks no one until its last proof is too old: otherwise, code that
        # changes every day would never be verified on a device again.
        if proof is None or proof.is_young(self._today, self._bundle.max_age_s):
            hint = _HINTS[self._pending] if self._pending else WAIT_FOR_DEVICE
            return replace(blank, status=CheckStatus.UNVERIFIED, text=text, hint=hint)
        allowed = count(int(self._bundle.max_age_s // DAY_S), "day")
        text += f", allowed are {allowed}"
        return replace(blank, status=CheckStatus.FAIL, text=text, hint=BRING_DEVICE_BACK)


def _by_scenario(
    bundle: Bundle, evidence: tuple[Evidence, ...], *, passes: bool
) -> dict[str, list[DeviceResult]]:
    """Emulated runs are left out; ``passes``: whether anything but a failure counts."""
    found: dict[str, list[DeviceResult]] = defaultdict(list)
    for each in evidence:
        if each.purpose is not JobPurpose.VERIFY:
            continue
        asked = find_device(bundle.devices, each.cpu_class, each.device) is not None
        for result in list_results(each):
            if (asked and passes) or _severity(result) == 0:
                found[result.result.scenario].append(result)
    return found


def _expect_same_outputs(scenario: ScenarioResult, found: DeviceResult) -> None:
    here, there = ({output.name for output in of.outputs} for of in (scenario, found.result))
    if scenario.outputs and here != there:
        name = min(here ^ there)
        who = f"{found.device.name}: {scenario.id} passed"
        msg = f"{who}, and output {name} exists only in the build's run or only in the device's"
        raise Contradiction(msg, hint=_RUN_AGAIN)


def _severity(found: DeviceResult) -> int:
    """Rank a result: 0 is a failure of the product, 1 a pass, 2 says nothing about it."""
    match found.result.status:
        case ScenarioStatus.PASS:
            return 1
        case ScenarioStatus.UNVERIFIED | ScenarioStatus.INFRASTRUCTURE:
            return 2
        case _:
            return 0


def join_times(
    verdict: Verdict, bundle: Bundle, judge: TimesJudge, problems: Iterable[str] = ()
) -> Verdict:
    """Raises InputError for a verdict of another build or configuration, and for one with times."""
    times = bundle.times
    if times is None:
        msg = f"the bundle asks devices to {bundle.purpose}, expected one that asks to time"
        raise InputError(msg, hint=_HINT)
    expect_configuration("the bundle", bundle.config, verdict.invocation.config)
    if verdict.engine.digest != times.engine:
        found = times.engine[:12]
        expected = verdict.engine.digest[:12]
        msg = f"the bundle is for the engine {found}, but the verdict for {expected}"
        raise InputError(msg, hint=_HINT)
    if verdict.performance is not None:
        msg = "the verdict contains times already"
        raise InputError(msg, hint=_NOT_JOINED)
    outcomes = [
        replace(_find_outcome(each, verdict, judge), base=times.base) for each in times.contests
    ]
    performance = make_performance(
        outcomes, criterion=times.criterion, inconclusive=times.inconclusive
    )
    places = {
        check.subject: Place(file=check.file, line=check.line)
        for check in verdict.checks
        if check.kind is CheckKind.TRAP
    }
    start = Place(file=verdict.config, line=1)
    added = performance_checks(performance, start=start, places=places)
    joined = _replace_checks(verdict, (*verdict.checks, *added), found=summarize(performance))
    measured = (outcome.result.device for outcome in outcomes if outcome.result)
    return replace(
        joined,
        performance=performance,
        devices=_add_devices(verdict, filter(None, measured)),
        warnings=(*verdict.warnings, *problems),
    )


def _find_outcome(asked: BundleContest, verdict: Verdict, judge: TimesJudge) -> ContestOutcome:
    outcome = ContestOutcome(
        scenario=asked.scenario,
        cpu_class=asked.cpu_class,
        subject=asked.subject,
        artifact=asked.artifact,
        whole=asked.whole,
        result=None,
        sizes=dict(asked.sizes),
        reproduce=show_again(verdict.invocation, asked.scenario, asked.subject),
    )
    match asked.unheld:
        case None:
            return _take(outcome, asked, verdict, judge)
        case PerformanceStatus.SKIPPED:
            return replace(outcome, result=_make_result(asked, skipped=asked.reason))
        case PerformanceStatus.INFRASTRUCTURE:
            return replace(outcome, failure=InfrastructureFailure(asked.reason))
        case _:
            return replace(outcome, failure=ProductFailure(asked.reason))


def _take(
    outcome: ContestOutcome, asked: BundleContest, verdict: Verdict, judge: TimesJudge
) -> ContestOutcome:
    try:
        found = judge.choose(asked)
    except InfrastructureFailure as failure:
        return replace(outcome, failure=failure)
    if found.result is None:
        return replace(outcome, result=_make_result(asked, skipped=found.skipped))
    device = found.device
    emulated = found.device.kind in EMULATED
    result = _make_result(
        asked, device=device, emulated=emulated, contest=asked.held, measured=found.result
    )
    invocation = replace(verdict.invocation, device=found.entry)
    again = show_again(invocation, asked.scenario, asked.subject, emulated=emulated)
    return replace(outcome, result=result, reproduce=again)


def _make_result(asked: BundleContest, **found: Any) -> PerfResult:
    return PerfResult(scenario=asked.scenario, subject=asked.subject, **found)
