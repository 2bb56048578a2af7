"""Which result of a contest counts: never a doubtful one, and no doubt costs another contest."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from megtrim.errors import InfrastructureFailure
from megtrim.evidence.bundle import JobPurpose
from megtrim.evidence.checks import PendingReason
from megtrim.evidence.contest_record import ContestRecord, dump_record
from megtrim.evidence.times import AskedContest, TimedContest, TimesJudge, read_times
from megtrim.perf.contest import ContestStatus
from megtrim.verdict.model import DeviceIdentity, ScenarioStatus
from unit.evidence.support import (
    BINDING,
    CONTEST,
    DAY,
    OTHER_BINDING,
    SCENARIO,
    changed,
    contest,
    contest_result,
    device,
    evidence,
    put,
    record,
    result,
    samples,
    timed,
    write_evidence,
    write_times,
    written,
)

OTHER = f"{SCENARIO}#fast-run"
PHONE = DeviceIdentity(name="pixel-6", kind="local", facts={"model": "Pixel 6"})
WRONG = contest_result(status=ContestStatus.WRONG_OUTPUTS, reason="output 0 differs", samples=())
SLOW = contest_result(samples=tuple(samples(2.0)))


def choose(folder: Path, id_: str = CONTEST, **changes: Any) -> TimedContest:
    """Return what counts of all that lies in a folder."""
    given = {"devices": (device(),), "pending": None, "today": date.fromisoformat(DAY)}
    judge = TimesJudge(brought=read_times([folder]), **{**given, **changes})
    return judge.choose(AskedContest(id=id_, cpu_class="any", binding=BINDING, contest=contest()))


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


def lose(folder: Path, **changes: Any) -> None:
    """Write the evidence of a job whose device failed."""
    row = result(
        scenario=CONTEST,
        status=ScenarioStatus.INFRASTRUCTURE,
        text="adb: pixel-6 is gone",
        outputs=(),
        attempts=("pixel-6: gone", "pixel-6.2: gone"),
    )
    write_evidence(folder, written(evidence(row, purpose=JobPurpose.TIME, **changes)))


def change_record(folder: Path, change: Callable[[Path], object]) -> None:
    """Write the evidence of a job, and change its one file."""
    write_times(folder, record())
    (path,) = (folder / "files").iterdir()
    change(path)


def no_device(folder: Path) -> None:
    """No job brought anything."""
    folder.mkdir()


def flip(folder: Path) -> None:
    """A bit of the samples flips."""
    change_record(folder, lambda path: path.write_bytes(path.read_bytes().replace(b"2.0", b"2.1")))


def cut(folder: Path) -> None:
    """The samples end in the middle."""
    change_record(folder, lambda path: path.write_bytes(path.read_bytes()[:-100]))


def drop(folder: Path) -> None:
    """The file of samples is missing."""
    change_record(folder, lambda path: path.unlink())


def link(folder: Path) -> None:
    """It is a link to another file."""

    def turn(path: Path) -> None:
        path.rename(folder / "elsewhere")
        path.symlink_to(folder / "elsewhere")

    change_record(folder, turn)


def put_other(folder: Path, other: ContestRecord) -> None:
    """Evidence names a record of something else, with its right digest."""
    row = timed(other, scenario=CONTEST, binding=BINDING)
    text = written(evidence(row, purpose=JobPurpose.TIME))
    write_evidence(folder, text, {str(row.times): dump_record(other).encode()})


def another_contest(folder: Path) -> None:
    """The samples of another contest lie in the place of its own."""
    put_other(folder, record(contest=OTHER))


def another_program(folder: Path) -> None:
    """All of it is of another program."""
    write_times(folder, record(binding=OTHER_BINDING))


def another_program_inside(folder: Path) -> None:
    """The samples alone are of another program."""
    put_other(folder, record(binding=OTHER_BINDING))


def told_better(folder: Path) -> None:
    """Evidence says pass, the record wrong outputs."""
    whole = record(result=WRONG)
    row = timed(whole, status=ScenarioStatus.PASS)
    text = written(evidence(row, purpose=JobPurpose.TIME))
    write_evidence(folder, text, {str(row.times): dump_record(whole).encode()})


def fewer_rounds(folder: Path) -> None:
    """Rounds were left out."""
    kept = tuple(each for each in samples() if each.round_number not in (2, 5))
    write_times(folder, record(result=contest_result(samples=kept)))


def too_many_rounds(folder: Path) -> None:
    """More were run than there is a budget for."""
    write_times(folder, record(result=contest_result(samples=tuple(samples(rounds=17)))))


def impossible_times(folder: Path) -> None:
    """Its times are longer than the job took."""
    write_times(folder, record(result=contest_result(time_s=0.2, program_time_s=0.1)))


def not_compared(folder: Path) -> None:
    """Nobody looked at the outputs."""
    write_times(folder, record(result=contest_result(outputs="")))


def from_the_future(folder: Path) -> None:
    """The clock of the device's host is wrong."""
    write_times(folder, record(), day="2027-03-01")


def of_last_week(folder: Path) -> None:
    """An artifact of an earlier night, of the same program."""
    write_times(folder, record(), day="2027-01-24")


def stranger(folder: Path) -> None:
    """A machine that nobody asked."""
    write_times(folder, record(), device=replace(PHONE, name="laptop"))


def emulator(folder: Path) -> None:
    """An emulator by the name of the device."""
    write_times(folder, record(), device=replace(PHONE, kind="qemu"))


def not_json(folder: Path) -> None:
    """The evidence itself is damaged."""
    write_times(folder, record())
    (folder / "evidence.json").write_text("{", encoding="utf-8")


def older_form(folder: Path) -> None:
    """Another version of megtrim wrote it."""
    write_times(folder, record())
    path = folder / "evidence.json"
    path.write_text(changed(path.read_text("utf-8"), put("version", value=2)), encoding="utf-8")


def verification(folder: Path) -> None:
    """It is evidence of something else."""
    write_evidence(folder, written(evidence()))


FAULTS: dict[Callable[[Path], None], str] = {
    no_device: "no device job brought a result of it",
    lose: "pixel-6: adb: pixel-6 is gone",
    flip: "its sha256 is",
    cut: "its sha256 is",
    drop: "No such file or directory",
    link: "found a link, expected a plain file",
    another_contest: f"found the samples of {OTHER}, expected its own",
    another_program: "what device jobs brought is of another program, model, input or setting",
    another_program_inside: "found the samples of",
    told_better: "it says wrong-outputs, its evidence pass",
    fewer_rounds: "it has 12 samples of 8 rounds",
    too_many_rounds: "a sample is of round 16",
    impossible_times: "its times add up to",
    not_compared: "its outputs were not compared",
    from_the_future: "pixel-6 brought it on 2027-03-01, which is after this run",
    of_last_week: "pixel-6 brought it on 2027-01-24, which is before this run",
    stranger: "laptop (local) is no device that was asked",
    emulator: "pixel-6 (qemu) is no device that was asked",
    not_json: "no device job brought a result of it",
    older_form: "no device job brought a result of it",
    verification: "no device job brought a result of it",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_costs_its_own_contest_alone(tmp_path: Path, fault: Callable[[Path], None]) -> None:
    """It is lost with the reason, never a pass; the other contest of that night is delivered."""
    fault(tmp_path / "bad")

    assert FAULTS[fault] in lost(tmp_path)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_does_not_hide_a_result(tmp_path: Path, fault: Callable[[Path], None]) -> None:
    """A job that was repeated delivers, whatever its first attempt left."""
    fault(tmp_path / "bad")
    write_times(tmp_path / "good", record())

    assert choose(tmp_path) == TimedContest(device=PHONE, entry="pixel-6", result=contest_result())


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
def test_a_device_that_did_not_come_is_told(
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


def test_every_attempt_of_a_lost_device_is_told(tmp_path: Path) -> None:
    """As where it is lost here."""
    lose(tmp_path / "1")
    with pytest.raises(InfrastructureFailure) as caught:
        choose(tmp_path)

    assert caught.value.attempts == ("pixel-6: gone", "pixel-6.2: gone")


def test_what_cannot_be_used_is_told(tmp_path: Path) -> None:
    """A line for each folder."""
    not_json(tmp_path / "a")
    verification(tmp_path / "b")
    write_times(tmp_path / "c", record())
    brought = read_times([tmp_path])

    assert list(brought.found) == [CONTEST]
    damaged, other = brought.problems
    unusable = f"evidence that cannot be used: {tmp_path}"
    assert damaged.startswith(f"{unusable}/a/evidence.json:1: found no JSON here")
    assert other == f"{unusable}/b is to verify, expected one to time"
