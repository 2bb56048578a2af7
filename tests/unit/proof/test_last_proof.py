from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from megtrim.chain.graph import REDUCED, verify_task
from megtrim.chain.session import Session
from megtrim.chain.store import StageFolder
from megtrim.checks.statuses import ScenarioStatus
from megtrim.config.scenarios import all_scenarios
from megtrim.proof.results import VerifyResult
from megtrim.proof.scenario_results import LastProof, ahead, find_expired, last_proofs
from megtrim.trim.builds import programs
from unit.trim.stages.built import built
from unit.trim.stages.results import OUTCOME, sample

DAY_S = 86_400.0
ID = "m/s@any"


def prove(session: Session, *, reduced: str, day: str = "2027-01-28", status: str = "pass") -> None:
    outcome = replace(OUTCOME, status=ScenarioStatus(status))
    result = sample(VerifyResult, day=date.fromisoformat(day), outcome=outcome)
    session.services.store.ensure(
        "verify", ID, {"reduced": reduced}, lambda _: result, VerifyResult
    )


@pytest.fixture
def now(tmp_path: Path) -> Session:
    return built(tmp_path, today=date(2027, 1, 31))


def program(session: Session) -> str:
    return session.results.done[REDUCED].files["bin/load_and_run"]


def test_without_a_message_from_earlier_there_is_no_proof(now: Session) -> None:
    assert last_proofs(now) == {"m/s@any": None, "m/s@big": None, "m/t@any": None}


def test_a_proof_of_this_program(now: Session) -> None:
    prove(now, reduced=program(now))

    assert last_proofs(now)[ID] == LastProof(days=3, same=True)


@pytest.mark.parametrize("there", [True, False])
def test_a_proof_of_an_earlier_program_counts(now: Session, there: bool) -> None:
    """Code that changes every day would else never be held to a device."""
    prove(now, reduced="earlier")
    if not there:
        del now.results.done[REDUCED]

    assert last_proofs(now)[ID] == LastProof(days=3, same=False)


def test_a_program_with_another_library_next_to_it_is_another(
    now: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    prove(now, reduced=program(now))
    companion = {"reduced": program(now), "reduced libengine.so": "b" * 64}
    monkeypatch.setattr(programs, "digests", lambda *_: companion)

    assert last_proofs(now)[ID] == LastProof(days=3, same=False)


def test_a_failure_is_no_proof(now: Session) -> None:
    prove(now, reduced=program(now), status="trap")

    assert last_proofs(now)[ID] is None


def test_a_proof_of_tomorrow_is_of_today(now: Session) -> None:
    prove(now, reduced=program(now), day="2027-02-01")

    assert last_proofs(now)[ID] == LastProof(days=0, same=True)


def test_a_proof_of_a_day_to_come_is_none(now: Session) -> None:
    prove(now, reduced=program(now), day="2027-02-02")
    proof = last_proofs(now)[ID]

    assert proof == LastProof(days=-2, same=True)
    assert find_expired({ID: proof}, allowed_s=14 * DAY_S) == {ID}


def test_a_result_now_needs_no_proof(now: Session) -> None:
    scenario = next(each for each in all_scenarios(now.request.config) if each.id == ID)
    prove(now, reduced=program(now))
    previous = now.services.store.previous("verify", VerifyResult, ID)
    assert previous is not None
    now.results.done[verify_task(scenario)] = previous

    assert ID not in last_proofs(now)


@pytest.mark.parametrize(
    ("proof", "reported", "old"),
    [
        (LastProof(days=0, same=True), "last proof 0 days old", False),
        (LastProof(days=1, same=True), "last proof 1 day old", False),
        (LastProof(days=14, same=True), "last proof 14 days old", False),
        (LastProof(days=15, same=True), "last proof 15 days old, allowed are 14 days", True),
        (LastProof(days=-2, same=True), "last proof of a day to come, allowed are 14 days", True),
        (LastProof(days=3, same=False), "last proof 3 days old, of another program", False),
    ],
)
def test_a_proof_is_shown_with_its_age(proof: LastProof, reported: str, old: bool) -> None:
    allowed: Any = 14 * DAY_S

    assert proof.describe_age(allowed) == reported
    assert find_expired({ID: proof, "never": None}, allowed_s=allowed) == ({ID} if old else set())


@pytest.mark.parametrize(
    ("day", "reported"),
    [
        ("2027-02-01", []),
        ("2027-02-02", ["this is the verdict of 2027-01-31, of what was verified on 2027-02-02"]),
    ],
)
def test_a_day_before_what_was_verified_is_shown(
    now: Session, day: str, reported: list[str]
) -> None:
    prove(now, reduced=program(now), day=day)
    now.results.done[f"verify/{ID}"] = _found(now)

    assert list(ahead(now)) == reported


def _found(session: Session) -> StageFolder:
    folder = session.services.store.previous("verify", VerifyResult, ID)
    assert folder is not None
    return folder
