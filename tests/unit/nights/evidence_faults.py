"""What can go wrong with a night's times between a device and the join: a fault each."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from megtrim.checks.check import DeviceIdentity
from megtrim.checks.statuses import ScenarioStatus
from megtrim.evidence.bundle import JobPurpose
from megtrim.evidence.times import LARGEST_RECORD, ContestRecord
from megtrim.experiments.contest import FEWEST_ROUNDS, PerformanceStatus
from megtrim.util.strict_json import dump
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

EvidenceFault = Callable[[Path], object]

OTHER = f"{SCENARIO}#fast-run"
PHONE = DeviceIdentity(name="pixel-6", kind="local", facts={"model": "Pixel 6"})
WRONG = contest_result(
    status=PerformanceStatus.WRONG_OUTPUTS, reason="output 0 differs", samples=()
)
NOTHING = "no device job brought a result of it"


def lose(folder: Path) -> None:
    row = result(
        scenario=CONTEST,
        status=ScenarioStatus.INFRASTRUCTURE,
        text="adb: pixel-6 is gone",
        outputs=(),
        attempts=("pixel-6: gone", "pixel-6.2: gone"),
    )
    write_evidence(folder, written(evidence(row, purpose=JobPurpose.TIME)))


def link(path: Path) -> None:
    path.rename(path.parents[1] / "elsewhere")
    path.symlink_to(path.parents[1] / "elsewhere")


def grow(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.truncate(LARGEST_RECORD + 1)


def write(whole: ContestRecord | None = None, **changes: Any) -> EvidenceFault:
    return lambda folder: write_times(folder, whole or record(), **changes)


def measure(**changes: Any) -> EvidenceFault:
    return write(record(result=contest_result(**changes)))


def put_other(other: ContestRecord, **changes: Any) -> EvidenceFault:
    def fault(folder: Path) -> None:
        row = timed(other, **changes)
        text = written(evidence(row, purpose=JobPurpose.TIME))
        write_evidence(folder, text, {str(row.times): dump(other).encode()})

    return fault


def spoil_record(change: Callable[[Path], object]) -> EvidenceFault:
    def fault(folder: Path) -> None:
        write_times(folder, record())
        (path,) = (folder / "files").iterdir()
        change(path)

    return fault


def spoil_evidence(change: Callable[[str], str]) -> EvidenceFault:
    def fault(folder: Path) -> None:
        write_times(folder, record())
        path = folder / "evidence.json"
        path.write_text(change(path.read_text("utf-8")), encoding="utf-8")

    return fault


FEWER = tuple(each for each in samples() if each.round_number not in (2, 5))
MORE = tuple(samples(rounds=2 * FEWEST_ROUNDS + 1))
ODD_ROW = put("entries", 0, "results", 0, value={"scenario": "x"})

EVIDENCE_FAULTS: dict[str, tuple[EvidenceFault, str]] = {
    "no job brought anything": (lambda folder: folder.mkdir(), NOTHING),
    "the device failed": (lose, "pixel-6: adb: pixel-6 is gone"),
    "a bit of the samples flips": (
        spoil_record(lambda path: path.write_bytes(path.read_bytes().replace(b"2.0", b"2.1"))),
        "its sha256 is",
    ),
    "the samples end in the middle": (
        spoil_record(lambda path: path.write_bytes(path.read_bytes()[:-100])),
        "its sha256 is",
    ),
    "the file of samples is missing": (spoil_record(Path.unlink), "No such file or directory"),
    "it is a link to another file": (spoil_record(link), "found a link, expected a plain file"),
    "the samples of another contest lie there": (
        put_other(record(contest=OTHER), scenario=CONTEST, binding=BINDING),
        f"found the samples of {OTHER}, expected its own",
    ),
    "all of it is of another program": (
        write(record(binding=OTHER_BINDING)),
        "what device jobs brought is of another program, model, input or setting",
    ),
    "the samples alone are of another program": (
        put_other(record(binding=OTHER_BINDING), scenario=CONTEST, binding=BINDING),
        "found the samples of",
    ),
    "evidence says pass, the record wrong outputs": (
        put_other(record(result=WRONG), status=ScenarioStatus.PASS),
        "its samples say wrong-outputs, its evidence pass",
    ),
    "rounds were left out": (
        measure(samples=FEWER),
        f"it has {2 * FEWEST_ROUNDS - 4} samples of {FEWEST_ROUNDS} rounds",
    ),
    "more were run than there is a budget for": (
        measure(samples=MORE),
        f"a sample is of round {2 * FEWEST_ROUNDS}",
    ),
    "its times are longer than the job took": (
        measure(time_s=0.2, program_time_s=0.1),
        "its times add up to",
    ),
    "the outputs were not looked at": (measure(outputs=""), "its outputs were not compared"),
    "the clock of the device's host is wrong": (
        write(day="2027-03-01"),
        "pixel-6 brought it on 2027-03-01, which is after this run",
    ),
    "an artifact of an earlier night": (
        write(day="2027-01-24"),
        "pixel-6 brought it on 2027-01-24, which is before this run",
    ),
    "a machine that was not asked": (
        write(device=replace(PHONE, name="laptop")),
        "laptop (local) is no device that was asked",
    ),
    "an emulator by the name of the device": (
        write(device=replace(PHONE, kind="qemu")),
        "pixel-6 (qemu) is no device that was asked",
    ),
    "the bundle was changed after the device had it": (
        write(record(bundle="1" * 64)),
        "the bundle 111111111111 asked for it, and this one is ffffffffffff",
    ),
    "the file of samples is too large": (spoil_record(grow), "found more than 67,108,864 bytes"),
    "the evidence itself is damaged": (spoil_evidence(lambda _: "{"), NOTHING),
    "it ends in the middle, as on a full disk": (
        spoil_evidence(lambda text: text[: len(text) // 2]),
        NOTHING,
    ),
    "another version of megtrim wrote it": (
        spoil_evidence(lambda text: changed(text, put("version", value=2))),
        NOTHING,
    ),
    "one row of it is none": (spoil_evidence(lambda text: changed(text, ODD_ROW)), NOTHING),
    "it is evidence of something else": (
        lambda folder: write_evidence(folder, written(evidence())),
        NOTHING,
    ),
}
