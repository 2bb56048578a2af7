"""Attempts with the clock: what was allowed or proven once is so no more."""

import shutil
from typing import Any

import pytest

from attacks.arena import ARTIFACT, Arena, planted
from attacks.documents import Documents
from attacks.tampering import edit, put
from support.clock import clock_at

pytestmark = [pytest.mark.chain]


def waive(arena: Arena, expires: str, budget: str = ARTIFACT) -> None:
    waiver = {"budget": budget, "bytes": "64 MiB", "reason": "later", "owner": "ann"}
    arena.configure(
        budgets=[{"artifact": ARTIFACT, "max": "1 KiB"}], waivers=[waiver | {"expires": expires}]
    )


def judged(arena: Arena, day: str) -> tuple[int, int, int, int]:
    """Trim as on a day; return how trim, gate, verdict and report end."""
    with clock_at(day):
        trimmed = arena.trim().rc
        gate = arena.gate()
        verdict, report = (arena.stage(verb).rc for verb in ("stage verdict", "report"))
    return trimmed, gate, verdict, report


ATTEMPTS = {
    "a_waiver_lapses_over_night": ("2027-01-31", "2027-02-01"),
    "a_waiver_lapses_on_a_leap_day": ("2028-02-29", "2028-03-01"),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_attempt(arena: Arena, attempt: str) -> None:
    last_day, next_day = ATTEMPTS[attempt]
    arena.start("honest")
    waive(arena, last_day)

    assert judged(arena, last_day) == (0, 0, 0, 0)
    assert judged(arena, next_day) == (1, 1, 1, 1)


def test_a_waiver_that_ends_on_no_day(arena: Arena) -> None:
    arena.start("honest")
    waive(arena, "2027-02-29")

    with clock_at("2027-02-28"):
        arena.expect_refused()


def test_a_waiver_of_another_budget(arena: Arena) -> None:
    arena.start("honest")
    waive(arena, "2028-02-29", budget=f"{ARTIFACT}/plain")
    with clock_at("2027-01-31"):
        arena.expect_refused(codes=(1, 2))


def test_a_proof_expires_while_the_device_is_dead(arena: Arena) -> None:
    arena.start("honest")
    with clock_at("2027-01-01"):
        assert arena.stage("verify", "--again").rc == 0
    arena.leave_no_room_for_runs()
    with clock_at("2027-01-15"):
        assert arena.stage("verify", "--again").rc == 3
        arena.trim()
    assert arena.verdict()["verdict"] == "unverified"

    with clock_at("2027-01-16"):
        assert arena.trim().rc == 1
    assert (arena.verdict()["verdict"], arena.gate()) == ("fail", 1)


def test_the_clock_is_set_back(arena: Arena) -> None:
    arena.start("honest")
    waive(arena, "2027-01-31")
    with clock_at("2027-03-01"):
        assert arena.stage("verify", "--again").rc == 0
        assert arena.trim().rc == 1
    with clock_at("2027-01-15"):
        ended = arena.trim()

    assert ended.rc != 0 or "of what was verified on 2027-03-01" in ended.stderr


def test_a_proof_allowed_forever(arena: Arena) -> None:
    papers = Documents(arena)
    papers.start()

    def prove_all(bundle: dict[str, Any]) -> None:
        keys = ("id", "class", "binding")
        bundle["proven"] = [{key: row[key] for key in keys} for row in bundle["scenarios"]]
        bundle |= {"scenarios": [], "max_age_s": 86_400.0 * 1_000_000}

    papers.change_bundle(prove_all)
    proofs = papers.folder / "proofs.json"
    shutil.copy(papers.folder / "report/evidence.json", proofs)
    edit(proofs, lambda data: data["entries"][0].update(day="2001-01-31"))

    papers.conclude("--proofs", "proofs.json", evidence=()).expect_no_pass()


def test_the_files_are_older_than_the_results(arena: Arena) -> None:
    arena.start("honest")
    size = arena.source.stat().st_size
    put(arena.source, planted("true").encode().ljust(size, b"\n"))

    assert judged(arena, "2027-01-31") == (1, 1, 1, 1)
