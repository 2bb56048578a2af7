"""Proofs: evidence of scenarios that passed, and how old each may be when it is used again.

Pure. A proof counts for exactly what it is bound to: the same programs, model, arguments, inputs,
keep set and tolerance. The newest one of each scenario is handed on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date

from megtrim.checks.statuses import ScenarioStatus
from megtrim.evidence.bundle import JobPurpose
from megtrim.evidence.evidence import Evidence, EvidenceResult, EvidenceSet
from megtrim.load_and_run.parity import Tolerance
from megtrim.util.wording import count

DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A passed verification on a device."""

    evidence: Evidence
    result: EvidenceResult

    def age(self, today: date) -> str:
        """Say how old it is: ``3 days old``."""
        if self._is_ahead(today):
            return f"of {self.evidence.day}, a day to come"
        days = self.age_days(today)
        return f"{count(days, 'day')} old"

    def age_days(self, today: date) -> int:
        """Return how many days ago it was; tomorrow counts as today, because clocks differ."""
        return max(0, self._days(today))

    def is_young(self, today: date, max_age_s: float) -> bool:
        """Tell whether it may still be used. One from the future may not: it would never age."""
        return not self._is_ahead(today) and self.age_days(today) * DAY_S <= max_age_s

    def is_within(self, tolerance: Tolerance) -> bool:
        """Tell whether every output was within the tolerance."""
        found = (each.largest_difference or 0.0 for each in self.result.outputs)
        return all(tolerance.covers(difference) for difference in found)

    def clamp_day(self, today: date) -> Proof:
        """Return the same proof, dated today if the device's clock was ahead."""
        day = min(self.evidence.day, today.isoformat())
        return replace(self, evidence=replace(self.evidence, day=day))

    def _is_ahead(self, today: date) -> bool:
        # In the machine's time zone it may be tomorrow already, but never later.
        return self._days(today) < -1

    def _days(self, today: date) -> int:
        return (today - date.fromisoformat(self.evidence.day)).days


def newest(entries: Iterable[Evidence]) -> dict[str, Proof]:
    """Return the newest proof of each scenario, by its id, sorted."""
    found: dict[str, Proof] = {}
    for evidence in entries:
        if evidence.purpose is not JobPurpose.VERIFY:
            continue
        for result in evidence.results:
            if result.status is not ScenarioStatus.PASS:
                continue
            proof = Proof(evidence=evidence, result=result)
            before = found.setdefault(result.scenario, proof)
            if _rank(proof) > _rank(before):
                found[result.scenario] = proof
    return dict(sorted(found.items()))


def as_set(proofs: Iterable[Proof]) -> EvidenceSet:
    """Return proofs as the document that is stored with a baseline, by class, device and day."""
    jobs: dict[tuple[str, str, str], list[Proof]] = {}
    for proof in proofs:
        evidence = proof.evidence
        key = (evidence.cpu_class, evidence.device.name, evidence.day)
        jobs.setdefault(key, []).append(proof)
    entries = []
    for _, group in sorted(jobs.items()):
        results = sorted((proof.result for proof in group), key=lambda result: result.scenario)
        kept = tuple(replace(result, log_tail="", crash="") for result in results)
        entries.append(replace(group[0].evidence, results=kept))
    return EvidenceSet(entries=tuple(entries))


def _rank(proof: Proof) -> tuple[str, str, str]:
    return (proof.evidence.day, proof.evidence.device.name, proof.result.binding)
