"""What can go wrong with a night's times between a device and the join: a fault each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from megtrim.checks.check import DeviceIdentity
from megtrim.checks.statuses import ScenarioStatus
from megtrim.evidence.bundle import JobPurpose
from megtrim.evidence.times import LARGEST_RECORD, ContestRecord, dump_record
from megtrim.experiments.contest import FEWEST_ROUNDS, PerformanceStatus
from unit.evidence.support import (
    BINDING,
    CONTEST,
    OTHER_BINDING,
    SCENARIO,
    changed,
    contest_result,
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
WRONG = contest_result(
    status=PerformanceStatus.WRONG_OUTPUTS, reason="output 0 differs", samples=()
)


def lose(folder: Path, **changes: Any) -> None:
    row = result(
        scenario=CONTEST,
        status=ScenarioStatus.INFRASTRUCTURE,
        text="adb: pixel-6 is gone",
        outputs=(),
        attempts=("pixel-6: gone", "pixel-6.2: gone"),
    )
    write_evidence(folder, written(evidence(row, purpose=JobPurpose.TIME, **changes)))


def change_record(folder: Path, change: Callable[[Path], object]) -> None:
    write_times(folder, record())
    (path,) = (folder / "files").iterdir()
    change(path)


def no_device(folder: Path) -> None:
    folder.mkdir()


def flip(folder: Path) -> None:
    change_record(folder, lambda path: path.write_bytes(path.read_bytes().replace(b"2.0", b"2.1")))


def cut(folder: Path) -> None:
    change_record(folder, lambda path: path.write_bytes(path.read_bytes()[:-100]))


def drop(folder: Path) -> None:
    change_record(folder, lambda path: path.unlink())


def link(folder: Path) -> None:
    def turn(path: Path) -> None:
        path.rename(folder / "elsewhere")
        path.symlink_to(folder / "elsewhere")

    change_record(folder, turn)


def put_other(folder: Path, other: ContestRecord) -> None:
    row = timed(other, scenario=CONTEST, binding=BINDING)
    text = written(evidence(row, purpose=JobPurpose.TIME))
    write_evidence(folder, text, {str(row.times): dump_record(other).encode()})


def another_contest(folder: Path) -> None:
    put_other(folder, record(contest=OTHER))


def another_program(folder: Path) -> None:
    write_times(folder, record(binding=OTHER_BINDING))


def another_program_inside(folder: Path) -> None:
    put_other(folder, record(binding=OTHER_BINDING))


def said_better(folder: Path) -> None:
    whole = record(result=WRONG)
    row = timed(whole, status=ScenarioStatus.PASS)
    text = written(evidence(row, purpose=JobPurpose.TIME))
    write_evidence(folder, text, {str(row.times): dump_record(whole).encode()})


def fewer_rounds(folder: Path) -> None:
    kept = tuple(each for each in samples() if each.round_number not in (2, 5))
    write_times(folder, record(result=contest_result(samples=kept)))


def too_many_rounds(folder: Path) -> None:
    write_times(
        folder, record(result=contest_result(samples=tuple(samples(rounds=2 * FEWEST_ROUNDS + 1))))
    )


def impossible_times(folder: Path) -> None:
    write_times(folder, record(result=contest_result(time_s=0.2, program_time_s=0.1)))


def not_compared(folder: Path) -> None:
    write_times(folder, record(result=contest_result(outputs="")))


def from_the_future(folder: Path) -> None:
    write_times(folder, record(), day="2027-03-01")


def of_last_week(folder: Path) -> None:
    write_times(folder, record(), day="2027-01-24")


def stranger(folder: Path) -> None:
    write_times(folder, record(), device=replace(PHONE, name="laptop"))


def emulator(folder: Path) -> None:
    write_times(folder, record(), device=replace(PHONE, kind="qemu"))


def another_bundle(folder: Path) -> None:
    write_times(folder, record(bundle="1" * 64))


def oversized(folder: Path) -> None:
    def grow(path: Path) -> None:
        with path.open("r+b") as stream:
            stream.truncate(LARGEST_RECORD + 1)

    change_record(folder, grow)


def not_json(folder: Path) -> None:
    write_times(folder, record())
    (folder / "evidence.json").write_text("{", encoding="utf-8")


def cut_evidence(folder: Path) -> None:
    write_times(folder, record())
    path = folder / "evidence.json"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def older_form(folder: Path) -> None:
    write_times(folder, record())
    path = folder / "evidence.json"
    path.write_text(changed(path.read_text("utf-8"), put("version", value=2)), encoding="utf-8")


def odd_row(folder: Path) -> None:
    write_times(folder, record())
    path = folder / "evidence.json"
    rows = put("entries", 0, "results", 0, value={"scenario": "x"})
    path.write_text(changed(path.read_text("utf-8"), rows), encoding="utf-8")


def verification(folder: Path) -> None:
    write_evidence(folder, written(evidence()))


EVIDENCE_FAULTS: dict[Callable[[Path], None], str] = {
    no_device: "no device job brought a result of it",
    lose: "pixel-6: adb: pixel-6 is gone",
    flip: "its sha256 is",
    cut: "its sha256 is",
    drop: "No such file or directory",
    link: "found a link, expected a plain file",
    another_contest: f"found the samples of {OTHER}, expected its own",
    another_program: "what device jobs brought is of another program, model, input or setting",
    another_program_inside: "found the samples of",
    said_better: "its samples say wrong-outputs, its evidence pass",
    fewer_rounds: f"it has {2 * FEWEST_ROUNDS - 4} samples of {FEWEST_ROUNDS} rounds",
    too_many_rounds: f"a sample is of round {2 * FEWEST_ROUNDS}",
    impossible_times: "its times add up to",
    not_compared: "its outputs were not compared",
    from_the_future: "pixel-6 brought it on 2027-03-01, which is after this run",
    of_last_week: "pixel-6 brought it on 2027-01-24, which is before this run",
    stranger: "laptop (local) is no device that was asked",
    emulator: "pixel-6 (qemu) is no device that was asked",
    another_bundle: "the bundle 111111111111 asked for it, and this one is ffffffffffff",
    oversized: "found more than 67,108,864 bytes",
    not_json: "no device job brought a result of it",
    cut_evidence: "no device job brought a result of it",
    older_form: "no device job brought a result of it",
    odd_row: "no device job brought a result of it",
    verification: "no device job brought a result of it",
}
