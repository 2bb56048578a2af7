"""Which result of a contest counts: never a doubtful one, and no doubt costs another contest."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from megtrim.checks.check import DeviceIdentity
from megtrim.config.config_id import DEFAULT_CONFIG
from megtrim.evidence.bundle import JobPurpose
from megtrim.evidence.contest_record import make_skipped_result
from megtrim.evidence.times import AskedContest, TimedContest, TimesJudge, read_times
from megtrim.jobs.evidence_checks import PendingReason
from megtrim.util.errors import InfrastructureFailure
from unit.evidence.support import (
    BINDING,
    BUNDLE,
    CONTEST,
    DAY,
    contest,
    contest_result,
    device,
    evidence,
    record,
    samples,
    write_evidence,
    write_times,
    written,
)
from unit.nights.evidence_faults import (
    EVIDENCE_FAULTS,
    HARMLESS,
    OTHER,
    PHONE,
    WRONG,
    lose,
    not_json,
    verification,
)

SLOW = contest_result(samples=tuple(samples(2.0)))


def choose(
    folder: Path, id_: str = CONTEST, *, cpu_features: tuple[str, ...] = (), **changes: Any
) -> TimedContest:
    """Return what counts of all that lies in a folder."""
    given = {
        "devices": (device(),),
        "pending": None,
        "today": date.fromisoformat(DAY),
        "bundle": BUNDLE,
    }
    judge = TimesJudge(brought=read_times([folder], config=DEFAULT_CONFIG), **{**given, **changes})
    asked = AskedContest(
        id=id_,
        cpu_class="any",
        binding=BINDING,
        contest=contest(),
        cpu_features=cpu_features,
    )
    return judge.choose(asked)


def lost(folder: Path, **changes: Any) -> str:
    """Return why nothing counts; the other contest, which was brought whole, does."""
    write_times(folder / "whole", record(contest=OTHER))
    with pytest.raises(InfrastructureFailure) as caught:
        choose(folder, **changes)
    assert caught.value.hint
    if not changes:
        assert choose(folder, OTHER).result == contest_result()
    return caught.value.message


@pytest.mark.parametrize("brought", [contest_result(), WRONG, SLOW])
def test_what_the_device_brought_counts(tmp_path: Path, brought: Any) -> None:
    """However it ended, with the machine that it is from."""
    write_times(tmp_path / "1", record(result=brought))

    assert choose(tmp_path) == TimedContest(device=PHONE, entry="pixel-6", result=brought)


def test_two_jobs_bring_their_parts(tmp_path: Path) -> None:
    """Each from a folder of its own."""
    write_times(tmp_path / "1", record())
    write_times(tmp_path / "2", record(contest=OTHER, result=SLOW))

    assert choose(tmp_path).result == contest_result()
    assert choose(tmp_path, OTHER).result == SLOW


def test_the_same_twice_is_one(tmp_path: Path) -> None:
    """A job that ran again may leave its first artifact, too."""
    write_times(tmp_path / "1", record())
    shutil.copytree(tmp_path / "1", tmp_path / "2")

    assert choose(tmp_path).result == contest_result()


def test_two_different_results_are_none(tmp_path: Path) -> None:
    """Which one counted would be chance, or choice."""
    write_times(tmp_path / "1", record())
    write_times(tmp_path / "2", record(result=SLOW))

    assert lost(tmp_path) == (
        "two results of it differ, from pixel-6: it is not known which is right"
    )


@pytest.mark.parametrize("names", [("1", "2"), ("2", "1")])
def test_a_failure_is_not_outvoted(tmp_path: Path, names: tuple[str, str]) -> None:
    """In whatever order they are read."""
    write_times(tmp_path / names[0], record())
    write_times(tmp_path / names[1], record(result=WRONG))

    assert choose(tmp_path).result == WRONG


def test_a_second_device_delivers_what_the_first_lost(tmp_path: Path) -> None:
    """A job that was started again, on another machine of the pool."""
    other = DeviceIdentity(name="pixel-6.2", kind="local", facts={})
    lose(tmp_path / "1")
    write_times(tmp_path / "2", record(), device=other)

    assert choose(tmp_path).device == other


@pytest.mark.parametrize("fault", EVIDENCE_FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_costs_its_own_contest_alone(tmp_path: Path, fault: Callable[[Path], None]) -> None:
    """It is lost with the reason, never a pass; the other contest of that night is delivered."""
    fault(tmp_path / "bad")

    assert EVIDENCE_FAULTS[fault] in lost(tmp_path)


@pytest.mark.parametrize("fault", EVIDENCE_FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_does_not_hide_a_result(tmp_path: Path, fault: Callable[[Path], None]) -> None:
    """A job that was repeated delivers, whatever its first attempt left."""
    fault(tmp_path / "bad")
    write_times(tmp_path / "good", record())

    assert choose(tmp_path) == TimedContest(device=PHONE, entry="pixel-6", result=contest_result())


@pytest.mark.parametrize("fault", HARMLESS, ids=lambda fault: fault.__name__)
def test_whole_samples_count_whatever_names_them(
    tmp_path: Path, fault: Callable[[Path], None]
) -> None:
    """Each says itself which job it is from."""
    fault(tmp_path / "bad")

    assert choose(tmp_path) == TimedContest(device=PHONE, entry="pixel-6", result=contest_result())


def test_a_damaged_document_costs_what_only_it_held(tmp_path: Path) -> None:
    """Of two contests of one job, the one whose samples are whole is delivered."""
    write_times(tmp_path / "1", record(), record(contest=OTHER, result=SLOW))
    (tmp_path / "1" / "evidence.json").write_text("[]", encoding="utf-8")
    slow = next(each for each in (tmp_path / "1" / "files").iterdir() if OTHER in each.read_text())
    slow.write_text("{}", encoding="utf-8")

    assert choose(tmp_path).result == contest_result()
    with pytest.raises(InfrastructureFailure, match="no device job brought a result of it"):
        choose(tmp_path, OTHER)


def test_a_bundle_that_is_not_known_is_not_compared(tmp_path: Path) -> None:
    """In the project itself, contests are planned again, and bindings say it all."""
    write_times(tmp_path / "1", record(), bundle="1" * 64)

    assert choose(tmp_path, bundle="").result == contest_result()


LACKING = "needs a CPU with avx2, which this one does not have"


def write_skipped(folder: Path) -> None:
    """Write the evidence of a device that cannot hold the contest."""
    row = make_skipped_result(CONTEST, BINDING, LACKING)
    write_evidence(folder, written(evidence(row, purpose=JobPurpose.TIME)))


def test_a_device_says_what_its_cpu_does_not_have(tmp_path: Path) -> None:
    """Where the contest needs something of it; another device may have it."""
    write_skipped(tmp_path / "1")
    found = choose(tmp_path, cpu_features=("avx2",))
    assert (found.result, found.skipped) == (None, f"pixel-6: {LACKING}")

    write_times(tmp_path / "2", record())
    assert choose(tmp_path, cpu_features=("avx2",)).result == contest_result()


def test_nothing_else_is_skipped(tmp_path: Path) -> None:
    """A device could get out of everything in this way."""
    write_skipped(tmp_path / "1")

    assert lost(tmp_path) == f"pixel-6: {LACKING}"


@pytest.mark.parametrize("day", ["2027-01-30", "2027-02-01"])
def test_a_night_has_two_days(tmp_path: Path, day: str) -> None:
    """And the clocks of two machines differ."""
    write_times(tmp_path / "1", record(), day=day)

    assert choose(tmp_path).result == contest_result()


@pytest.mark.parametrize(
    ("pending", "said"),
    [
        (PendingReason.LATE, "the device job had not ended in time"),
        (PendingReason.NO_RUNNER, "no runner with the labels self-hosted, megtrim, any took the"),
        (PendingReason.FORK, "a pull request from a fork runs no device job"),
    ],
)
def test_a_device_that_did_not_come_is_reported(
    tmp_path: Path, pending: PendingReason, said: str
) -> None:
    """What others of that night brought counts."""
    assert lost(tmp_path, pending=pending).startswith(said)
    if pending is not PendingReason.FORK:
        assert choose(tmp_path, OTHER, pending=pending).result == contest_result()


def test_a_fork_brings_nothing_that_counts(tmp_path: Path) -> None:
    """Forks run no device jobs, so what comes from one is not genuine."""
    write_times(tmp_path / "1", record())

    assert lost(tmp_path, pending=PendingReason.FORK).startswith("a pull request from a fork")


def test_every_attempt_of_a_lost_device_is_reported(tmp_path: Path) -> None:
    """As where it is lost here."""
    lose(tmp_path / "1")
    with pytest.raises(InfrastructureFailure) as caught:
        choose(tmp_path)

    assert caught.value.attempts == ("pixel-6: gone", "pixel-6.2: gone")


def test_what_cannot_be_used_is_reported(tmp_path: Path) -> None:
    """A line for each folder."""
    not_json(tmp_path / "a")
    verification(tmp_path / "b")
    write_times(tmp_path / "c", record())
    brought = read_times([tmp_path], config=DEFAULT_CONFIG)

    assert {id_: len(every) for id_, every in brought.found.items()} == {CONTEST: 2}
    damaged, other = brought.problems
    unusable = f"evidence that cannot be used: {tmp_path}"
    assert damaged.startswith(f"{unusable}/a/evidence.json:1: found no JSON here")
    assert other == f"{unusable}/b is to verify, expected one to time"
