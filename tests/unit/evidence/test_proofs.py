"""Proofs: the newest of each scenario, and how old it may be."""

from __future__ import annotations

from datetime import date

import pytest

from megtrim.checks.check import DeviceIdentity
from megtrim.checks.statuses import ScenarioStatus
from megtrim.evidence.bundle import JobPurpose
from megtrim.evidence.proofs import Proof, as_set, newest
from unit.evidence.support import DAY, OTHER_BINDING, SCENARIO, evidence, result

TODAY = date.fromisoformat(DAY)
DEVICE = DeviceIdentity(name="pixel-9", kind="adb", facts={})


def test_the_newest_counts() -> None:
    """In whatever order they come."""
    old = evidence(day="2027-01-01")
    new = evidence(result(binding=OTHER_BINDING), day="2027-01-02")

    for entries in ((old, new), (new, old)):
        assert newest(entries) == {SCENARIO: Proof(evidence=new, result=new.results[0])}


def test_what_did_not_pass_is_no_proof() -> None:
    """Nor is a trace."""
    failed = [
        evidence(result(status=status))
        for status in ScenarioStatus
        if status is not ScenarioStatus.PASS
    ]
    trace = evidence(result(trace="a" * 64), purpose=JobPurpose.TRACE)

    assert newest([*failed, trace]) == {}


@pytest.mark.parametrize(
    ("day", "age", "young"),
    [
        ("2027-01-31", 0, True),
        ("2027-02-01", 0, True),
        ("2027-02-02", 0, False),
        ("2027-01-30", 1, True),
        ("2027-01-17", 14, True),
        ("2027-01-16", 15, False),
    ],
)
def test_a_proof_grows_old(day: str, age: int, young: bool) -> None:
    """In whole days. One of tomorrow is of today, because clocks differ; no other future is."""
    proof = Proof(evidence=evidence(day=day), result=result())

    assert proof.age_days(TODAY) == age
    ahead = day == "2027-02-02"
    days = "1 day old" if age == 1 else f"{age} days old"
    assert proof.age(TODAY) == ("of 2027-02-02, a day to come" if ahead else days)
    assert proof.is_young(TODAY, 14 * 86_400.0) is young


def test_a_proof_is_of_today_at_the_latest() -> None:
    """A device whose clock is wrong must not prove for ever."""
    ahead = Proof(evidence=evidence(day="2099-01-01"), result=result())
    behind = Proof(evidence=evidence(day="2027-01-30"), result=result())

    assert ahead.clamp_day(TODAY) == Proof(evidence=evidence(), result=result())
    assert behind.clamp_day(TODAY) == behind


def test_a_set_is_ordered_by_class_device_and_day() -> None:
    """Results of one job stay together, sorted; logs are left out."""
    logged = result(scenario="a/s@any", log_tail="log")
    first = evidence(result(scenario="z/s@any"), logged)
    other = evidence(result(scenario="b/s@any"), device=DEVICE)
    older = evidence(result(scenario="c/s@any"), day="2026-12-31")
    proofs = newest([first, other, older])

    assert as_set(proofs.values()).entries == (
        older,
        evidence(result(scenario="a/s@any"), result(scenario="z/s@any")),
        other,
    )
    assert as_set(reversed(proofs.values())) == as_set(proofs.values())
    assert as_set([]).entries == ()
