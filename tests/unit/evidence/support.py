"""Bundles and evidence for tests: whole ones, which each test changes in one place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from megtrim.evidence.bundle import (
    Bundle,
    BundleInput,
    BundleScenario,
    JobPurpose,
    ProvenScenario,
)
from megtrim.evidence.device import BundleDevice
from megtrim.evidence.evidence import Evidence, EvidenceResult, EvidenceSet, dump_set
from megtrim.load_and_run.parity import EXACT
from megtrim.verdict.model import DeviceIdentity, OutputResult, ScenarioStatus

SCENARIO = "resnet18-s/default@any"
BINDING = "b" * 64
OTHER_BINDING = "c" * 64
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
        "purpose": JobPurpose.VERIFY,
        "target": "load_and_run",
        "machine": "aarch64",
        "sysroot": "",
        "generation": 20220507,
        "max_age_s": 14 * 86_400.0,
        "programs": (("plain", "3" * 64), ("reduced", "4" * 64)),
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
    """Return a pass, or what else the changes say."""
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
        "purpose": JobPurpose.VERIFY,
        "cpu_class": "any",
        "device": DeviceIdentity(name="pixel-6", kind="local", facts={"model": "Pixel 6"}),
        "day": DAY,
        "results": results or (result(),),
    }
    return Evidence(**{**values, **changes})


def proofs(*entries: Evidence) -> EvidenceSet:
    return EvidenceSet(entries=entries)


def written(*entries: Evidence) -> str:
    """Return the evidence.json of a job."""
    return dump_set(proofs(*entries))


def changed(text: str, change: Change) -> str:
    """Return a document after ``change`` worked on its data."""
    data = json.loads(text)
    change(data)
    return json.dumps(data)


def put(*path: str | int, value: Any) -> Change:
    """Return the change that sets what lies at ``path``."""

    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return change


def write_evidence(folder: Path, text: str, files: dict[str, bytes] | None = None) -> Path:
    """Write a folder of evidence."""
    (folder / "files").mkdir(parents=True)
    (folder / "evidence.json").write_text(text, encoding="utf-8")
    for name, data in (files or {}).items():
        (folder / "files" / name).write_bytes(data)
    return folder
