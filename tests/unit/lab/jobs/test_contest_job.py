import os
import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.build_spec import REST_SUFFIX, Variant
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.config.scenarios import Judgement
from megtrim.core.evidence.evidence import EvidenceResult
from megtrim.core.timing.spec import Criterion, PerformanceStatus
from megtrim.lab.evidence.bundle import REST, Bundle, BundleContest
from megtrim.lab.evidence.times import expect_of, parse_record
from megtrim.lab.jobs.worker import JobResult
from megtrim.libs.programs.parity import EXACT
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.local import Local
from megtrim.times.experiments.contest import Contest, Contestant, ContestResult
from support.timed_program import timed_program
from unit.core.trim.stages.fake_device import FakeDevice, Fickle
from unit.lab.evidence.support import (
    BINDING,
    CONTEST,
    SCENARIO,
    bundle_contest,
    contest,
    time_bundle,
)
from unit.lab.jobs.test_worker import Place, results

TRIMMING = f"{SCENARIO}#trimming"
FAST = timed_program(20)
SLOW = timed_program(22)


class TimedPlace(Place):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        runner = ProcessRunner({"PATH": os.environ["PATH"]})
        self.device = Local("pixel-6", runner, folder / "runs")

    def job_of(self, *contests: BundleContest, plain: str = FAST, reduced: str = SLOW) -> Bundle:
        return time_bundle(
            *contests or (trimming(),),
            scenarios=(self.scenario(),),
            programs={"plain": self.put(plain), "reduced": self.put(reduced)},
        )


@pytest.fixture
def place(tmp_path: Path) -> TimedPlace:
    return TimedPlace(tmp_path)


def trimming(**changes: Any) -> BundleContest:
    values = {"id": TRIMMING, "rival": Variant.REDUCED, "contest": contest(tolerance=EXACT)}
    return bundle_contest(**{**values, **changes})


def brought(found: JobResult, row: EvidenceResult, asked: BundleContest) -> ContestResult:
    record = parse_record(found.files[str(row.times)].decode(), source="x")
    expect_of(record, asked)
    return record.result


def test_samples_are_brought_back(place: TimedPlace) -> None:
    found = place.run(place.job_of())
    (row,) = results(found)
    result = brought(found, row, trimming())

    assert (row.scenario, row.binding, row.status) == (TRIMMING, BINDING, ScenarioStatus.PASS)
    assert row.text == f"timed: {len(result.samples)} processes"
    assert (result.status, result.outputs) == (PerformanceStatus.MEASURED, "1 output equal")
    medians = {each.contestant: each.iterations_ms[0] for each in result.samples}
    assert medians == {"baseline": 20.0, "nchw88": 22.0}
    assert (found.lost, list(found.files)) == (0, [row.times])
    (entry,) = found.evidence.entries
    assert entry.device.name == "pixel-6"


def test_two_contests_of_one_scenario_have_two_records(place: TimedPlace) -> None:
    alone = bundle_contest(contest=contest(rival=None))
    found = place.run(place.job_of(alone, trimming()))
    first, second = results(found)

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
    place: TimedPlace, reduced: str, status: ScenarioStatus, said: str
) -> None:
    asked = trimming(contest=contest(timeout_s=2.0))
    found = place.run(place.job_of(asked, reduced=reduced))
    (row,) = results(found)

    assert (row.status, found.lost) == (status, 0)
    assert row.text.startswith(said), row.text
    assert brought(found, row, asked).reason == row.text


def test_a_failure_costs_its_own_contest(place: TimedPlace) -> None:
    alone = bundle_contest(contest=contest(rival=None))
    found = place.run(place.job_of(alone, trimming(), reduced="#!/bin/sh\nexit 3\n"))

    assert [row.status for row in results(found)] == [
        ScenarioStatus.PASS,
        ScenarioStatus.ENGINE_ERROR,
    ]


def test_a_lost_device_leaves_nothing_known(place: TimedPlace) -> None:
    place.device = FakeDevice()
    names = ("a", "b", "c")
    asked = [trimming(id=f"{SCENARIO}#{name}") for name in names]
    found = place.run(place.job_of(*asked, plain="lose the phone\n"))

    assert [row.status for row in results(found)] == [ScenarioStatus.INFRASTRUCTURE] * 3
    assert [row.times for row in results(found)] == [None] * 3
    assert [row.text for row in results(found)] == [
        "adb: the phone is gone",
        "adb: the phone is gone",
        "not tried: the device failed 2 times in a row",
    ]
    assert (found.lost, found.files) == (3, {})


def test_a_contest_is_measured_again_on_another_machine(place: TimedPlace) -> None:
    """From its first sample: halves of two machines are no pairs."""
    place.device = Fickle(retries=1, plays=["lose the phone\n", "exit 3\n"])
    found = place.run(place.job_of())
    (row,) = results(found)

    assert (row.status, found.lost) == (ScenarioStatus.ENGINE_ERROR, 0)
    assert row.text.startswith("baseline: it ended with 3")


COMMAND = "tool@any"
WHOLE = Contest(
    criterion=Criterion(threshold=0.5),
    reference=Contestant(name="plain"),
    rival=Contestant(name="reduced"),
)


def time_command(place: TimedPlace, plain: str, reduced: str) -> tuple[Bundle, BundleContest]:
    """Both read the companion file as a deferred program would, and the plain one has none."""
    asked = bundle_contest(
        id=f"{COMMAND}#trimming-reduced",
        scenario=COMMAND,
        rival=Variant.REDUCED,
        contest=WHOLE,
        whole=True,
    )
    scenario = place.scenario(
        id=COMMAND,
        model=None,
        arguments=("{input:data}",),
        cache=None,
        stdin=place.put("piped\n"),
        judgement=Judgement(status=3, vary=("took [0-9]+",)),
    )
    programs = {"plain": place.put(plain), "reduced": place.put(reduced), REST: place.put("rest")}
    return time_bundle(asked, scenarios=(scenario,), programs=programs), asked


def test_whole_runs_of_a_command_are_brought_back(place: TimedPlace) -> None:
    rest = f"./*{REST_SUFFIX}"
    script = '#!/bin/sh\ncat "$1"; cat; echo took $(date +%N); TEST; exit 3\n'
    plain = script.replace("TEST", f"[ -e {rest} ] && echo other")
    reduced = script.replace("TEST", f"[ -e {rest} ] || echo other")
    job, asked = time_command(place, plain, reduced)
    (row,) = results(found := place.run(job))
    result = brought(found, row, asked)

    assert (row.status, result.status) == (ScenarioStatus.PASS, PerformanceStatus.MEASURED)
    assert result.outputs.startswith("outputs equal to the last bit (1 output, ")
    assert all(each.runs_ms and not each.iterations_ms for each in result.samples)
    made = sum(len(each.runs_ms) for each in result.samples)
    assert row.text == f"timed: {made} processes"


@pytest.mark.parametrize(
    ("reduced", "status", "said"),
    [
        ("echo a c; exit 3", ScenarioStatus.PARITY, "output standard output: differs from byte 3"),
        ("echo a b", ScenarioStatus.ENGINE_ERROR, "reduced: it ended with 0, expected 3 (failed)"),
        ("kill -ILL $$", ScenarioStatus.ENGINE_ERROR, "reduced: it ended with 132, expected 3"),
    ],
)
def test_how_a_command_fails_is_brought_back(
    place: TimedPlace, reduced: str, status: ScenarioStatus, said: str
) -> None:
    job, asked = time_command(place, "#!/bin/sh\necho a b; exit 3\n", f"#!/bin/sh\n{reduced}\n")
    (row,) = results(found := place.run(job))

    assert (row.status, found.lost) == (status, 0)
    assert row.text.startswith(said), row.text
    assert brought(found, row, asked).reason == row.text


@pytest.mark.parametrize(("machine", "known"), [(platform.machine(), True), ("riscv", False)])
def test_what_a_cpu_does_not_have_is_no_failure(
    place: TimedPlace, machine: str, *, known: bool
) -> None:
    job = place.job_of(trimming(cpu_features=("no-such-feature",)), reduced="#!/bin/sh\nexit 3\n")
    found = place.run(replace(job, machine=machine))
    (row,) = results(found)

    if known:
        assert row.text == "needs a CPU with no-such-feature, which this one does not have"
        assert (row.status, row.times) == (ScenarioStatus.UNVERIFIED, None)
        assert (found.files, found.lost) == ({}, 0)
    else:
        assert row.status is ScenarioStatus.ENGINE_ERROR


def test_words_of_programs_are_cleaned(place: TimedPlace) -> None:
    program = timed_program(10, before="printf 'error: \\033[31m::error::x' >&2; exit 1")
    (row,) = results(place.run(place.job_of(reduced=program)))

    assert "\x1b" not in row.text
    assert row.status is ScenarioStatus.ENGINE_ERROR


def test_a_bundle_that_is_not_whole_is_no_evidence(place: TimedPlace) -> None:
    job = place.job_of()
    for file in (place.folder / "files").iterdir():
        file.write_bytes(b"other")
    with pytest.raises(InputError, match="expected that of its name"):
        place.run(job)


def test_the_inputs_of_another_scenario_are_not_taken(place: TimedPlace) -> None:
    job = place.job_of()
    other = replace(job.scenarios[0], id="m/s@any", model="0" * 64)

    (row,) = results(place.run(replace(job, scenarios=(other, *job.scenarios))))
    assert row.status is ScenarioStatus.PASS
