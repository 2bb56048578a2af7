"""What devices elsewhere proved of a release: the proofs that it holds, and what follows. Pure."""

from __future__ import annotations

from dataclasses import replace

from megtrim.checks.statuses import CheckStatus
from megtrim.evidence.evidence import EvidenceSet
from megtrim.release.contents import ReleaseContents, hide_machine


def add_proofs(contents: ReleaseContents, proofs: EvidenceSet) -> ReleaseContents:
    """Return what a release says once devices proved its draft; it follows from these two alone."""
    entries = proofs.entries
    proven = {(row.scenario, row.binding): each.device for each in entries for row in each.results}
    asked = (each for each in contents.scenarios if each.on_devices is not None)
    ran = {each.id: proven.get((each.id, each.binding)) for each in asked}
    scenarios = tuple(
        replace(each, on_devices=CheckStatus.PASS) if ran.get(each.id) else each
        for each in contents.scenarios
    )
    devices = {each.name: each for each in (*filter(None, ran.values()), *contents.devices)}
    return replace(
        contents,
        draft=False,
        devices=tuple(devices[name] for name in sorted(devices)),
        scenarios=scenarios,
    )


def clean_proofs(contents: ReleaseContents, proofs: EvidenceSet | None) -> EvidenceSet:
    """Return the proofs of a release, without what is another each time, and whose machine it was.

    A release that is proven again stays the same.
    """
    asked = {(each.id, each.binding) for each in contents.scenarios if each.on_devices is not None}
    entries = (
        replace(
            evidence,
            device=hide_machine(evidence.device),
            results=tuple(
                replace(each, time_s=0.0, conditions=None, log_tail="", crash="")
                for each in evidence.results
                if (each.scenario, each.binding) in asked
            ),
        )
        for evidence in (proofs.entries if proofs else ())
    )
    return EvidenceSet(entries=tuple(each for each in entries if each.results))
