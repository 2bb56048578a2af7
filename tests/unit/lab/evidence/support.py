"""Bundles and evidence for tests: whole ones, which each test changes in one place."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.evidence.evidence import (
    DeviceResult,
    Evidence,
    EvidenceResult,
    EvidenceSet,
    JobPurpose,
)
from megtrim.core.timing.experiment import Step
from megtrim.core.timing.spec import FEWEST_ROUNDS, ContestBudget, Criterion, PerformanceStatus
from megtrim.lab.evidence.bundle import (
    Bundle,
    BundleContest,
    BundleDevice,
    BundleInput,
    BundleScenario,
    BundleTimes,
    ProvenScenario,
)
from megtrim.lab.evidence.times import ContestRecord, make_contest_result
from megtrim.libs.programs.parity import EXACT, OutputResult
from megtrim.libs.util.strict_json import dump
from megtrim.times.experiments.commands import StepCommand
from megtrim.times.experiments.contest import Contest, Contestant, ContestResult, Mark, Sample, Side

SCENARIO = "resnet18-s/default@any"
BINDING = "b" * 64
OTHER_BINDING = "c" * 64
BUNDLE = "f" * 64
DAY = "2027-01-31"

HOSTILE_NAMES = ("", "..", "../x", "/etc/passwd", "a/b", "a\nb", "-x", "a\x00", "ü", "x" * 201)
HOSTILE_DIGESTS = ("", "../../etc/passwd", "B" * 64, "b" * 63, "b" * 65, "b" * 64 + "\n")

Change = Callable[[dict[str, Any]], None]


def device(**changes: Any) -> BundleDevice:
    values = {"name": "pixel-6", "kind": "local", "cpu_class": "any", "qemu_cpu": "max"}
    return BundleDevice(**{**values, "runner": True, **changes})


def scenario(**changes: Any) -> BundleScenario:
    values: dict[str, Any] = {
        "id": SCENARIO,
        "cpu_class": "any",
        "model": "1" * 64,
        "arguments": ("--cpu",),
        "inputs": (BundleInput(name="data", file="2" * 64, suffix=".npy"),),
        "threads": 1,
        "tolerance": EXACT,
        "timeout_s": 600.0,
        "cache": None,
        "search": False,
        "binding": BINDING,
    }
    return BundleScenario(**{**values, **changes})


def proven(id_: str = SCENARIO, binding: str = BINDING) -> ProvenScenario:
    return ProvenScenario(id=id_, cpu_class=id_.rpartition("@")[2], binding=binding)


def bundle(**changes: Any) -> Bundle:
    values: dict[str, Any] = {
        "config": "megtrim.yaml",
        "purpose": JobPurpose.VERIFY,
        "target": "load_and_run",
        "machine": "aarch64",
        "sysroot": "",
        "generation": 20220507,
        "max_age_s": 14 * 86_400.0,
        "programs": {"plain": "3" * 64, "reduced": "4" * 64},
        "keep_set": "5" * 64,
        "devices": (device(),),
        "scenarios": (scenario(),),
        "proven": (),
    }
    return Bundle(**{**values, **changes})


def output(**changes: Any) -> OutputResult:
    values = {"name": "run0-var178", "size_bytes": 40, "equal": True, "largest_difference": 0.0}
    return OutputResult(**{**values, **changes})


def result(**changes: Any) -> EvidenceResult:
    values: dict[str, Any] = {
        "scenario": SCENARIO,
        "binding": BINDING,
        "status": ScenarioStatus.PASS,
        "text": "outputs equal to the last bit (1 tensor, 40 bytes)",
        "time_s": 1.5,
        "outputs": (output(),),
    }
    return EvidenceResult(**{**values, **changes})


def evidence(*results: EvidenceResult, **changes: Any) -> Evidence:
    values: dict[str, Any] = {
        "config": "megtrim.yaml",
        "purpose": JobPurpose.VERIFY,
        "cpu_class": "any",
        "device": DeviceIdentity(name="pixel-6", kind="local", facts={"model": "Pixel 6"}),
        "day": DAY,
        "results": results or (result(),),
    }
    return Evidence(**{**values, **changes})


def brought(folder: Path, device: DeviceIdentity, **changes: Any) -> DeviceResult:
    made = evidence(device=device, results=())
    return DeviceResult(evidence=made, result=result(outputs=(), **changes), folder=folder)


def proofs(*entries: Evidence) -> EvidenceSet:
    return EvidenceSet(entries=entries)


def written(*entries: Evidence) -> str:
    return dump(proofs(*entries))


def changed(text: str, change: Change) -> str:
    data = json.loads(text)
    change(data)
    return json.dumps(data)


def put(*path: str | int, value: Any) -> Change:
    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return change


def write_evidence(folder: Path, text: str, files: dict[str, bytes] | None = None) -> Path:
    (folder / "files").mkdir(parents=True)
    (folder / "evidence.json").write_text(text, encoding="utf-8")
    for name, data in (files or {}).items():
        (folder / "files" / name).write_bytes(data)
    return folder


CONTEST = f"{SCENARIO}#nchw88"
ENGINE = "e" * 64
REFERENCE = "baseline"
RIVAL = "nchw88"
ITERATIONS = 10


def contestant(side: Side, name: str) -> Contestant:
    argv = (f"{side}-program", "model.mge", "--cpu", "--input", "data:input0.npy")
    step = StepCommand(step=Step(), argv=argv, iterations=ITERATIONS)
    return Contestant(name=name, commands=(step,))


def contest(**changes: Any) -> Contest:
    values: dict[str, Any] = {
        "reference": contestant(Side.REFERENCE, REFERENCE),
        "rival": contestant(Side.RIVAL, RIVAL),
        "criterion": Criterion(),
        "budget": ContestBudget(rounds=FEWEST_ROUNDS),
    }
    return Contest(**{**values, **changes})


def bundle_contest(**changes: Any) -> BundleContest:
    values: dict[str, Any] = {
        "id": CONTEST,
        "scenario": SCENARIO,
        "cpu_class": "any",
        "binding": BINDING,
        "contest": contest(),
        "artifact": "load_and_run",
    }
    return BundleContest(**{**values, **changes})


def unheld_contest(status: PerformanceStatus, reason: str, **changes: Any) -> BundleContest:
    return bundle_contest(contest=None, unheld=status, reason=reason, **changes)


def time_bundle(*contests: BundleContest, **changes: Any) -> Bundle:
    times = BundleTimes(
        engine=ENGINE,
        criterion=Criterion(),
        inconclusive="fail",
        contests=contests or (bundle_contest(),),
    )
    return bundle(**{"purpose": JobPurpose.TIME, "keep_set": None, "times": times, **changes})


def samples(
    ratio: float = 0.5, *, rounds: int = FEWEST_ROUNDS, marks: tuple[Mark, ...] = ()
) -> list[Sample]:
    return [
        Sample(
            contestant=name,
            round_number=number,
            position=position,
            prepare_ms=5.0,
            warm_ups_ms=(3.0,),
            iterations_ms=(time_ms + 0.01 * (number % 3),) * ITERATIONS,
            marks=marks,
        )
        for number in range(rounds)
        for position, (name, time_ms) in enumerate(((REFERENCE, 2.0), (RIVAL, 2.0 * ratio)))
    ]


def contest_result(**changes: Any) -> ContestResult:
    values: dict[str, Any] = {
        "status": PerformanceStatus.MEASURED,
        "samples": tuple(samples()),
        "outputs": "1 output equal",
        "time_s": 9.0,
        "program_time_s": 8.0,
    }
    return ContestResult(**{**values, **changes})


def record(**changes: Any) -> ContestRecord:
    values = {"bundle": BUNDLE, "contest": CONTEST, "binding": BINDING, "result": contest_result()}
    return ContestRecord(**{**values, **changes})


def timed(brought: ContestRecord, **changes: Any) -> EvidenceResult:
    digest = hashlib.sha256(dump(brought).encode()).hexdigest()
    return replace(make_contest_result(brought, digest), **changes)


def write_times(folder: Path, *records: ContestRecord, **changes: Any) -> Path:
    results = tuple(timed(each) for each in records)
    text = written(evidence(*results, purpose=JobPurpose.TIME, **changes))
    files = {
        str(row.times): dump(each).encode() for row, each in zip(results, records, strict=True)
    }
    return write_evidence(folder, text, files)
