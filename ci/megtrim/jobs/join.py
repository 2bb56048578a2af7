"""Joins a build's verdict with what devices brought back: one check for each scenario of theirs.

Pure: values in, values out. :mod:`megtrim.jobs.evidence_checks` decides about a single scenario.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from megtrim.checks.check import Check, DeviceIdentity
from megtrim.checks.statuses import CheckKind, CheckStatus, decide
from megtrim.evidence.bundle import Bundle, JobPurpose
from megtrim.evidence.evidence import (
    Evidence,
    EvidenceSet,
    expect_configuration,
    expect_evidence_of,
)
from megtrim.jobs.evidence_checks import Devices, PendingReason, ScenarioCheck
from megtrim.proof.results import ScenarioResult
from megtrim.util.errors import InputError
from megtrim.verdict.model import Verdict

_FAILED_COUNT = re.compile(r"^[0-9]+ checks? failed, ")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFindings:
    """What is known besides the build's verdict."""

    bundle: Bundle | None
    """None: no device was requested."""
    evidence: tuple[Evidence, ...]
    proofs: EvidenceSet
    pending: PendingReason | None
    """Why evidence may be missing; None if the device jobs ended."""
    today: date
    problems: tuple[str, ...] = ()
    """Evidence that could not be used, a line each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinResult:
    """The final verdict, and the proofs to store with the next baseline."""

    verdict: Verdict
    proofs: EvidenceSet


def join(verdict: Verdict, seen: DeviceFindings) -> JoinResult:
    """Return the verdict on the build and its devices; checks are ordered by kind, then id.

    Raises InputError for a verdict that was joined before, for a bundle with scenarios that the
    verdict does not hold, and for what is of another configuration than the verdict.
    """
    config = verdict.invocation.config
    expect_evidence_of(config, "the evidence", seen.evidence)
    expect_evidence_of(config, "the earlier proof", seen.proofs.entries)
    proofs = seen.proofs
    added: list[Check] = []
    if seen.bundle is not None:
        _expect_of_one_run(verdict, seen.bundle)
        said = Devices(
            seen.bundle,
            seen.evidence,
            seen.proofs,
            invocation=verdict.invocation,
            pending=seen.pending,
            today=seen.today,
        )
        added = _checks(verdict, seen.bundle, said)
        proofs = said.proofs()
    checks = (*_of_build(verdict, added), *added)
    final = replace(
        verdict_with(verdict, checks, found=_count_proven(added)),
        devices=_devices(verdict, seen),
        warnings=(*verdict.warnings, *seen.problems),
    )
    return JoinResult(verdict=final, proofs=proofs)


def verdict_with(verdict: Verdict, checks: Iterable[Check], *, found: str) -> Verdict:
    """Return a verdict with other checks, and a headline that says what was ``found``, if any."""
    order = list(CheckKind)
    every = tuple(sorted(checks, key=lambda check: (order.index(check.kind), check.id)))
    headline = ", ".join(filter(None, (_FAILED_COUNT.sub("", verdict.headline), found)))
    failed = sum(check.status is CheckStatus.FAIL for check in every)
    if failed:
        headline = f"{'1 check' if failed == 1 else f'{failed} checks'} failed, {headline}"
    kind = decide(check.status for check in every)
    return replace(verdict, verdict=kind, headline=headline, checks=every)


def _expect_of_one_run(verdict: Verdict, bundle: Bundle) -> None:
    """Refuse a bundle of another build: results for that one say nothing about this one.

    The trap of a scenario without a check would be lost.
    """
    expect_configuration("the bundle", bundle.config, verdict.invocation.config)
    hint = "give the verdict and the bundle of one build job"
    if bundle.purpose is not JobPurpose.VERIFY:
        msg = f"the bundle asks devices to {bundle.purpose}, expected one that asks to verify"
        raise InputError(msg, hint=hint)
    known = {each.id: each.binding for each in verdict.scenarios}
    asked = {each.id: each.binding for each in bundle.scenarios}
    for id_, binding in (asked | {each.id: each.binding for each in bundle.proven}).items():
        if id_ not in known:
            msg = f"the bundle asks for {id_}, which the verdict does not hold"
            raise InputError(msg, hint=hint)
        if known[id_] not in ("", binding):
            msg = f"the bundle asks for {id_} with other programs or files than the verdict's"
            raise InputError(msg, hint=hint)


def _of_build(verdict: Verdict, added: Sequence[Check]) -> list[Check]:
    """Return the build's own checks.

    If its replacement for a device failed, the check of the device itself takes the place of that
    failure.
    """
    replaced = {check.id for check in added}
    for check in verdict.checks:
        if check.kind is CheckKind.DEVICE and check.status is not CheckStatus.INFRASTRUCTURE:
            msg = f"the verdict holds {check.id} already: it is a joined one"
            raise InputError(msg, hint="give the verdict that the build left, in OUT/final")
    return [check for check in verdict.checks if check.id not in replaced]


def _checks(verdict: Verdict, bundle: Bundle, said: Devices) -> list[Check]:
    classes = bundle.runner_classes()
    lines = {check.subject: check.line for check in verdict.checks if check.kind is CheckKind.TRAP}
    return [
        _check(scenario, said.tell(scenario), verdict, line=lines.get(scenario.id, 1))
        for scenario in verdict.scenarios
        if scenario.cpu_class in classes
    ]


def _check(scenario: ScenarioResult, found: ScenarioCheck, verdict: Verdict, *, line: int) -> Check:
    invocation = replace(verdict.invocation, device=found.device)
    return Check(
        id=f"{CheckKind.DEVICE}:{scenario.id}",
        kind=CheckKind.DEVICE,
        subject=scenario.id,
        status=found.status,
        text=found.text,
        detail=found.detail,
        hint=found.hint,
        time_s=found.time_s,
        file=verdict.config,
        line=line,
        reproduce=invocation.verify(scenario.id) if found.device else "",
    )


def _count_proven(added: Sequence[Check]) -> str:
    passed = sum(check.status is CheckStatus.PASS for check in added)
    return f"{passed} of {len(added)} proven on devices" if added else ""


def _devices(verdict: Verdict, seen: DeviceFindings) -> tuple[DeviceIdentity, ...]:
    """Return the devices of the build and of the evidence, each once, by name."""
    found = {device.name: device for device in verdict.devices}
    for evidence in seen.evidence:
        found.setdefault(evidence.device.name, evidence.device)
    return tuple(found[name] for name in sorted(found))
