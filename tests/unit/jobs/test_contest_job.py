import hashlib
import io
import os
import platform
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from megtrim.build_spec import Variant
from megtrim.checks.statuses import ScenarioStatus
from megtrim.devices import Device
from megtrim.devices.local import Local
from megtrim.evidence.bundle import BundleContest, BundleInput
from megtrim.evidence.evidence import EvidenceResult, parse_set
from megtrim.evidence.times import expect_of, parse_record
from megtrim.experiments.contest import ContestResult, PerformanceStatus
from megtrim.jobs.worker import DeviceJob, JobResult, run
from megtrim.load_and_run.parity import EXACT
from megtrim.util.console import Console
from megtrim.util.errors import InputError
from megtrim.util.process import ProcessRunner
from megtrim.util.strict_json import dump
from support.timed_program import timed_program
from unit.evidence.support import (
    BINDING,
    BUNDLE,
    CONTEST,
    SCENARIO,
    bundle_contest,
    contest,
    device,
    scenario,
    time_bundle,
)
from unit.trim.stages.fake_device import FakeDevice, Fickle

TRIMMING = f"{SCENARIO}#trimming"
FAST, SLOW = timed_program(20), timed_program(22)


class Place:
    def __init__(self, folder: Path, put: Callable[[str], str]) -> None:
        self.folder = folder
        self.put = put
        self.work = folder.parent / "work"
        self.work.mkdir()
        self.said = io.StringIO()
        runner = ProcessRunner({"PATH": os.environ["PATH"]})
        self.device: Device = Local("pixel-6", runner, folder.parent / "runs")

    def job(self, *contests: BundleContest, plain: str = FAST, reduced: str = SLOW) -> DeviceJob:
        inputs = (BundleInput(name="data", file=self.put("numbers"), suffix=".npy"),)
        bundle = time_bundle(
            *contests or (trimming(),),
            scenarios=(scenario(model=self.put("model"), inputs=inputs),),
            programs={"plain": self.put(plain), "reduced": self.put(reduced)},
        )
        return DeviceJob(
            bundle=bundle,
            folder=self.folder,
            sha256=BUNDLE,
            work=self.work,
            scenarios=bundle.of_class("any"),
            asked=device(),
            today=date(2027, 1, 31),
        )

    def run(self, job: DeviceJob) -> JobResult:
        found = run(job, lambda: self.device, Console(self.said))
        # What a job writes can always be read again.
        assert parse_set(dump(found.evidence), source="x") == found.evidence
        return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    folder = tmp_path / "bundle"
    (folder / "files").mkdir(parents=True)

    def put(text: str) -> str:
        digest = hashlib.sha256(text.encode()).hexdigest()
        (folder / "files" / digest).write_text(text, encoding="utf-8")
        return digest

    return Place(folder, put)


def trimming(**changes: Any) -> BundleContest:
    values = {"id": TRIMMING, "rival": Variant.REDUCED, "contest": contest(tolerance=EXACT)}
    return bundle_contest(**{**values, **changes})


def rows(found: JobResult) -> list[EvidenceResult]:
    every = [result for entry in found.evidence.entries for result in entry.results]
    return sorted(every, key=lambda result: result.scenario)


def brought(found: JobResult, row: EvidenceResult, asked: BundleContest) -> ContestResult:
    record = parse_record(found.files[str(row.times)].decode(), source="x")
    expect_of(record, asked)
    return record.result


def test_samples_are_brought_back(place: Place) -> None:
    found = place.run(place.job())
    (row,) = rows(found)
    result = brought(found, row, trimming())

    assert (row.scenario, row.binding, row.status) == (TRIMMING, BINDING, ScenarioStatus.PASS)
    assert row.text == f"timed: {len(result.samples)} processes"
    assert (result.status, result.outputs) == (PerformanceStatus.MEASURED, "1 output equal")
    medians = {each.contestant: each.iterations_ms[0] for each in result.samples}
    assert medians == {"baseline": 20.0, "nchw88": 22.0}
    assert (found.lost, list(found.files)) == (0, [row.times])
    (entry,) = found.evidence.entries
    assert entry.device.name == "pixel-6"


def test_two_contests_of_one_scenario_have_two_records(place: Place) -> None:
    alone = bundle_contest(contest=contest(rival=None))
    found = place.run(place.job(alone, trimming()))
    first, second = rows(found)

    assert [first.scenario, second.scenario] == [CONTEST, TRIMMING]
    assert {each.contestant for each in brought(found, first, alone).samples} == {"baseline"}
    assert brought(found, second, trimming()).outputs == "1 output equal"


@pytest.mark.parametrize(
    ("reduced", "status", "said"),
    [
        (timed_program(10, numbers=(1.0, 3.0)), ScenarioStatus.PARITY, "output 0: "),
        (timed_program(10, numbers=(1.0,)), ScenarioStatus.PARITY, "output 0: "),
        ("#!/bin/sh\nexit 3\n", ScenarioStatus.ENGINE_ERROR, "nchw88: it ended with 3"),
        ("#!/bin/sh\nkill -SEGV $$\n", ScenarioStatus.ENGINE_ERROR, "nchw88: it ended with 139"),
        ("#!/bin/sh\nsleep 60\n", ScenarioStatus.ENGINE_ERROR, "nchw88: it did not end within 2"),
        ("#!/bin/sh\n", ScenarioStatus.ENGINE_ERROR, "nchw88: it dumped no output"),
    ],
)
def test_how_a_program_fails_is_brought_back(
    place: Place, reduced: str, status: ScenarioStatus, said: str
) -> None:
    asked = trimming(contest=contest(timeout_s=2.0))
    found = place.run(place.job(asked, reduced=reduced))
    (row,) = rows(found)

    assert (row.status, found.lost) == (status, 0)
    assert row.text.startswith(said), row.text
    assert brought(found, row, asked).reason == row.text


def test_a_failure_costs_its_own_contest(place: Place) -> None:
    alone = bundle_contest(contest=contest(rival=None))
    found = place.run(place.job(alone, trimming(), reduced="#!/bin/sh\nexit 3\n"))

    assert [row.status for row in rows(found)] == [
        *(ScenarioStatus.PASS, ScenarioStatus.ENGINE_ERROR)
    ]


def test_a_lost_device_leaves_nothing_known(place: Place) -> None:
    place.device = FakeDevice()
    names = ("a", "b", "c")
    asked = [trimming(id=f"{SCENARIO}#{name}") for name in names]
    found = place.run(place.job(*asked, plain="lose the phone\n"))

    assert [row.status for row in rows(found)] == [ScenarioStatus.INFRASTRUCTURE] * 3
    assert [row.times for row in rows(found)] == [None] * 3
    assert [row.text for row in rows(found)] == [
        *("adb: the phone is gone", "adb: the phone is gone"),
        "not tried: the device failed 2 times in a row",
    ]
    assert (found.lost, found.files) == (3, {})


def test_a_contest_is_measured_again_on_another_machine(place: Place) -> None:
    """From its first sample: halves of two machines are no pairs."""
    place.device = Fickle(retries=1, plays=["lose the phone\n", "exit 3\n"])
    found = place.run(place.job())
    (row,) = rows(found)

    assert (row.status, found.lost) == (ScenarioStatus.ENGINE_ERROR, 0)
    assert row.text.startswith("baseline: it ended with 3")


@pytest.mark.parametrize(("machine", "known"), [(platform.machine(), True), ("riscv", False)])
def test_what_a_cpu_does_not_have_is_no_failure(place: Place, machine: str, *, known: bool) -> None:
    job = place.job(trimming(cpu_features=("no-such-feature",)), reduced="#!/bin/sh\nexit 3\n")
    found = place.run(replace(job, bundle=replace(job.bundle, machine=machine)))
    (row,) = rows(found)

    if known:
        assert row.text == "needs a CPU with no-such-feature, which this one does not have"
        assert (row.status, row.times) == (ScenarioStatus.UNVERIFIED, None)
        assert (found.files, found.lost) == ({}, 0)
    else:
        assert row.status is ScenarioStatus.ENGINE_ERROR


def test_words_of_programs_are_cleaned(place: Place) -> None:
    program = timed_program(10, before="printf 'error: \\033[31m::error::x' >&2; exit 1")
    (row,) = rows(place.run(place.job(reduced=program)))

    assert "\x1b" not in row.text
    assert row.status is ScenarioStatus.ENGINE_ERROR


def test_a_bundle_that_is_not_whole_is_no_evidence(place: Place) -> None:
    job = place.job()
    for file in (place.folder / "files").iterdir():
        file.write_bytes(b"other")
    with pytest.raises(InputError, match="expected that of its name"):
        place.run(job)


def test_the_inputs_of_another_scenario_are_not_taken(place: Place) -> None:
    job = place.job()
    other = replace(job.bundle.scenarios[0], id="m/s@any", model="0" * 64)
    bundle = replace(job.bundle, scenarios=(other, *job.bundle.scenarios))

    (row,) = rows(place.run(replace(job, bundle=bundle)))
    assert row.status is ScenarioStatus.PASS
