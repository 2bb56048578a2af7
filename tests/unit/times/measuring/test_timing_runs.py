import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.chain.graph import PLAIN, REDUCED, Stage, Task
from megtrim.core.chain.session import Session
from megtrim.core.timing.experiment import REORDERED
from megtrim.core.timing.spec import FEWEST_ROUNDS, SEARCH_ROUNDS, Criterion, PerformanceStatus
from megtrim.engines.load_and_run.dialects import LITE
from megtrim.engines.sample import SampleEngine, find_embedded_source
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.programs.parity import EXACT, Tolerance
from megtrim.libs.programs.telemetry import Conditions, Policy, Reading
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.local import Local
from megtrim.places.devices.retry import ProgramKilled
from megtrim.times.experiments.contest import Contest, Mark, Side
from megtrim.times.measuring.contest_plan import find_files, plan_contest
from megtrim.times.measuring.step_samples import compare_in_order
from megtrim.times.measuring.timing import describe_rounds
from megtrim.times.measuring.timing_runs import (
    ContestEnded,
    ContestFiles,
    ContestRuns,
    Turn,
    list_marks,
    make_sample,
    make_sample_by_length,
    read_times,
)
from megtrim.times.plan import perf_tasks
from support.timing_logs import Form, MadeLog
from unit.core.trim.stages.built import built
from unit.core.trim.stages.fake_device import GOOD
from unit.core.trim.stages.support import changed, floats
from unit.times.experiments.test_contest import CONTEST, RIVAL

CACHES = """
case "$*" in
  *--fast-run\\ *) echo searched >b-algo.cache ;;
  *) cat b-algo.cache; echo used >>b-algo.cache ;;
esac
"""


@contextmanager
def open_runs(folder: Path, script: str, contest: Contest = CONTEST) -> Iterator[ContestRuns]:
    program = folder / "program"
    data = folder / "d.npy"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    data.write_bytes(b"numbers")
    files = ContestFiles(programs=dict.fromkeys(Side, program), model=data, inputs={"data": data})
    with Local("here", ProcessRunner(os.environ), folder / "runs").open() as directory:
        sides = tuple(side for side, _ in contest.sides)
        limit = contest.timeout_s
        yield ContestRuns(sides, files, directory, machine="here", scratch=folder, timeout_s=limit)


def test_each_run_reads_a_cache_of_its_own(tmp_path: Path) -> None:
    """The engine writes it back, whether it searched or not."""
    with open_runs(tmp_path, CACHES) as runs:
        runs.prepare(Side.RIVAL, RIVAL)
        seen = [runs.run_measured(Side.RIVAL, RIVAL, iterations=10).stdout for _ in range(2)]

    assert seen == ["searched\n", "searched\n"]
    assert runs.program_time_s > 0


def test_a_process_gets_its_cpu_and_its_padding(tmp_path: Path) -> None:
    script = 'echo "${#MEGTRIM_PADDING}"; grep Cpus_allowed_list /proc/self/status; echo "$*"'
    cpu = min(os.sched_getaffinity(0))
    with open_runs(tmp_path, script) as runs:
        run = runs.run_measured(
            Side.REFERENCE, CONTEST.reference, iterations=33, cpus=(cpu,), padding_bytes=1234
        )

    padding, allowed, words = run.stdout.splitlines()
    assert padding == "1234"
    assert allowed.split() == ["Cpus_allowed_list:", str(cpu)]
    assert words.startswith("model.mge --cpu ")
    assert words.endswith("--input data:input0.npy --iter 33")


def test_outputs_are_those_of_the_last_run_in_their_order(tmp_path: Path) -> None:
    script = "cd outputs1; for n in run0-var2 run1-var10 run1-var9; do echo $n >$n; done"
    with open_runs(tmp_path, script) as runs:
        found = runs.run_for_outputs(Side.REFERENCE, CONTEST.reference)

    assert found == (b"run1-var9\n", b"run1-var10\n")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 3", "baseline: it ended with 3 (failed)"),
        ("echo 'ERROR: no such op' >&2; exit 1", "baseline: it ended with 1 (failed): no such op"),
        ("sleep 100", "baseline: it did not end within 0.5 s"),
        ("true", "baseline: it dumped no output"),
    ],
)
def test_a_bad_end_is_shown_in_one_line(tmp_path: Path, script: str, reason: str) -> None:
    hasty = replace(CONTEST, timeout_s=0.5)
    with open_runs(tmp_path, script, hasty) as runs, pytest.raises(ContestEnded) as caught:
        runs.run_for_outputs(Side.REFERENCE, CONTEST.reference)

    assert (caught.value.status, caught.value.message) == (PerformanceStatus.FAILED, reason)


def test_a_search_without_a_cache_has_failed_and_a_killed_program_says_nothing(
    tmp_path: Path,
) -> None:
    with open_runs(tmp_path, "true") as runs, pytest.raises(ContestEnded, match="no algorithm"):
        runs.prepare(Side.RIVAL, RIVAL)
    with open_runs(tmp_path, "kill -9 $$") as runs, pytest.raises(ProgramKilled):
        runs.run_measured(Side.REFERENCE, CONTEST.reference, iterations=1)


TURN = Turn(round_number=3, position=1, contestant="nchw88", cpus=(), padding_bytes=7)
TESTS = (((2.0, 1.5, 0.0), (4.0, 1.5, 0.0)),)
LOG = MadeLog(form=Form.LOGGED, load_ms=9, prepare_ms=0.0, warmup_ms=(7, 3), tests=TESTS)
THROTTLED = Conditions(before=Reading(), after=Reading(thermal_status=2))
LOW = Conditions(before=Reading(battery_percent=9), after=Reading(battery_percent=9))


def make_run(stderr: str = "", **changes: Any) -> ProgramRun:
    ended = {"argv": ("a-program",), "rc": 0, "stdout": "", "wall_s": 1.0, "timed_out": False}
    return ProgramRun(**{**ended, "stderr": stderr, **changes})


def test_a_log_has_all_times_of_a_process() -> None:
    """What it shows as 0.000 is less than it can show, and more than nothing."""
    sample = make_sample(TURN, make_run(LOG.text()), iterations=2, warmups=2, other_load=0.5)

    assert (sample.contestant, sample.round_number, sample.position) == ("nchw88", 3, 1)
    assert sample.prepare_ms == pytest.approx(0.0005)
    assert (sample.warm_ups_ms, sample.iterations_ms) == ((7, 3), (2, 4))
    assert sample.counts


def test_a_log_is_read_on_either_stream_and_damaged_if_of_other_counts() -> None:
    for run in (make_run(LOG.text()), make_run(stdout=LOG.text())):
        log = read_times(run, source="x", iterations=2, warmups=2)
        assert log is not None
        assert log.iterations_ms == pytest.approx([2, 4])
    for text, count in ((LOG.text(), 3), ("", 2)):
        sample = make_sample(TURN, make_run(text), iterations=count, warmups=2, other_load=0.5)
        assert (sample.marks, sample.iterations_ms) == ((Mark.DAMAGED_LOG,), ())


@pytest.mark.parametrize(
    ("walls_s", "expected_ms"), [((1.0, 2.0), (10.0,)), ((2.0, 2.0), ()), ((2.0, 1.0), ())]
)
def test_two_lengths_give_the_time_between_them(
    walls_s: tuple[float, float], expected_ms: tuple[float, ...]
) -> None:
    runs = (make_run(wall_s=walls_s[0]), make_run(wall_s=walls_s[1], conditions=THROTTLED))
    sample = make_sample_by_length(TURN, runs, (1, 101), other_load=0.5)

    assert sample.iterations_ms == pytest.approx(expected_ms)
    assert sample.marks == (Mark.THROTTLED,)


@pytest.mark.parametrize(
    ("conditions", "marks"),
    [
        (None, ()),
        (Conditions(before=Reading(cpu_c=40.0), after=Reading(cpu_c=41.0)), ()),
        (THROTTLED, (Mark.THROTTLED,)),
        (LOW, (Mark.LOW_BATTERY,)),
        (replace(LOW, after=Reading(battery_percent=9, thermal_status=3)), (Mark.THROTTLED,)),
        (Conditions(before=Reading(), after=Reading(), unmet="60 °C"), (Mark.THROTTLED,)),
        (
            Conditions(
                before=Reading(policies=(Policy(name="policy0", governor="performance"),)),
                after=Reading(policies=(Policy(name="policy0", governor="powersave"),)),
            ),
            (Mark.THROTTLED,),
        ),
    ],
)
def test_conditions_mark_a_sample(conditions: Conditions | None, marks: tuple[Mark, ...]) -> None:
    runs = [make_run(conditions=conditions), make_run()]
    assert list_marks(runs, other_load=0.5) == marks


@pytest.mark.parametrize(
    ("found", "limit", "marks"),
    [
        (0.51, 0.5, (Mark.BUSY,)),
        (0.5, 0.5, ()),
        (None, 0.5, ()),
        (1.0, 1.0, ()),
        (0.3, 0.2, (Mark.BUSY,)),
    ],
)
def test_a_busy_machine_marks(found: float | None, limit: float, marks: tuple[Mark, ...]) -> None:
    run = make_run(LOG.text(), other_load=found)

    assert make_sample(TURN, run, iterations=2, warmups=2, other_load=limit).marks == marks
    by_length = make_sample_by_length(TURN, (make_run(), run), (1, 101), other_load=limit)
    assert by_length.marks == marks
    throttled = make_run(conditions=THROTTLED)
    assert list_marks([throttled, run], other_load=limit) == (Mark.THROTTLED, *marks)


FIRST = floats(1, 2, 3)
SECOND = floats(4, 5)
NEAR = floats(1, 2, 3.001)


@pytest.mark.parametrize(
    ("found", "tolerance", "said"),
    [
        ([FIRST], EXACT, "1 outputs, expected 2"),
        ([SECOND, FIRST], EXACT, "output 0: shape (3,) became (2,)"),
        ([NEAR, SECOND], EXACT, "output 0: largest difference"),
        ([FIRST, b"torn"], EXACT, "output 1 of the rival: the dumped output is damaged"),
        ([FIRST, SECOND], Tolerance(absolute=100.0), "that proves nothing"),
    ],
)
def test_other_outputs_end_a_contest(found: list[bytes], tolerance: Tolerance, said: str) -> None:
    with pytest.raises(ContestEnded) as caught:
        compare_in_order([FIRST, SECOND], found, tolerance)

    assert caught.value.status is PerformanceStatus.WRONG_OUTPUTS
    assert said in caught.value.message
    # In their order, and within the tolerance, outputs agree.
    both = [FIRST, SECOND]
    assert compare_in_order(both, both, EXACT) == "2 outputs equal"
    near = compare_in_order(both, [NEAR, SECOND], Tolerance(absolute=0.01))
    assert near == "2 outputs equal within 0.01"


@pytest.mark.parametrize(
    ("counting", "said"), [(9, "round 9 of 12"), (4, "round 9, 4 of 12 count")]
)
def test_rounds_that_were_disturbed_are_said_not_to_count(counting: int, said: str) -> None:
    assert describe_rounds(9, counting, 12).strip() == f"time  {said}"


CONFIG = """\
version: 1
engine: {kind: sample}
classes: [{name: any}]
perf: {trimming: true, threshold: 3%, budget: {rounds: 16, time: 5 min}}
applications: [{name: app}]
models:
- name: m
  file: m.mge
  scenarios:
  - name: s
    inputs: {data: d.npy}
    args: [--cpu, --verbose, --weight-preprocess, --iter, 2, --warmup_iter, 3]
    timeout: 90 s
    tolerance: 0.5
  - {name: a, application: app, args: ["{model}"]}
"""


def open_session(folder: Path, config: str = CONFIG) -> Session:
    made = built(folder, config=config, programs={PLAIN: GOOD, REDUCED: GOOD})
    return changed(made, engine=_Everything(find_embedded_source(), ProcessRunner(os.environ)))


class _Everything(SampleEngine):
    def dialect(self) -> Any:
        return LITE


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return open_session(tmp_path)


def find_task(session: Session, name: str, *, since_base: bool = False) -> Task:
    every = perf_tasks(session.config, since_base=since_base)
    return next(task for task in every if task.stage is Stage.PERF and task.name == name)


def plan(session: Session, name: str) -> Contest:
    planned = plan_contest(find_task(session, name), session)
    assert isinstance(planned, Contest), planned
    return planned


def find_model_files(session: Session, name: str) -> ContestFiles:
    files = find_files(find_task(session, name), session)
    assert isinstance(files, ContestFiles)
    return files


def last_words(contest: Contest, side: Side) -> tuple[str, ...]:
    return dict(contest.sides)[side].commands[-1].argv


def test_an_experiment_meets_the_baseline_on_one_program(session: Session, tmp_path: Path) -> None:
    contest = plan(session, "m/s@any#record-1")
    files = find_model_files(session, "m/s@any#record-1")

    assert last_words(contest, Side.REFERENCE) == (
        "a-program",
        "model.mge",
        "--verbose",
        "--cpu",
        "--warmup-iter",
        "1",
        "--iter",
        "10",
        "--input",
        "data:input0.npy",
    )
    assert "--record-comp-seq" in last_words(contest, Side.RIVAL)
    assert "--weight-preprocess" not in last_words(contest, Side.RIVAL)
    assert len(set(files.programs.values())) == 1
    assert files.inputs == {"data": tmp_path / "d.npy"}
    assert contest.criterion == Criterion(threshold=0.03, other_load=0.5)
    assert (contest.budget.rounds, contest.budget.limit_s, contest.timeout_s) == (16, 300.0, 90.0)


@pytest.mark.parametrize(
    ("experiment", "rounds", "tolerance"),
    [
        ("record-1", 16, Tolerance(absolute=0.5)),
        ("fast-run", SEARCH_ROUNDS, Tolerance(absolute=0.5, relative=REORDERED.relative)),
        ("layout-online", SEARCH_ROUNDS, Tolerance(absolute=0.5, relative=REORDERED.relative)),
        ("fast-run-cache", 16, Tolerance(absolute=0.5, relative=REORDERED.relative)),
    ],
)
def test_searches_are_few_and_outputs_differ_as_experiment_or_scenario_allows(
    session: Session, experiment: str, rounds: int, tolerance: Tolerance
) -> None:
    contest = plan(session, f"m/s@any#{experiment}")

    assert (contest.budget.rounds, contest.budget.limit_s) == (rounds, 300.0)
    assert contest.tolerance == tolerance


def test_the_baseline_is_timed_alone(session: Session, tmp_path: Path) -> None:
    """Nothing is decided by it, so no setting is a reason to time it again."""
    strict = CONFIG.replace("3%", "1%").replace("rounds: 16", "rounds: 40")
    (tmp_path / "other").mkdir()
    contest = plan(session, "m/s@any#baseline")

    assert contest.rival is None
    assert contest.budget.rounds == FEWEST_ROUNDS
    assert contest == plan(open_session(tmp_path / "other", strict), "m/s@any#baseline")


def test_a_trimmed_program_runs_as_the_scenario_says(session: Session) -> None:
    """It misses the kernels of everything else; only the counts are those of a measured run."""
    contest = plan(session, "m/s@any#trimming-reduced")
    files = find_model_files(session, "m/s@any#trimming-reduced")

    assert [each.name for _, each in contest.sides] == ["plain", "reduced"]
    assert last_words(contest, Side.RIVAL) == (
        "b-program",
        "model.mge",
        "--cpu",
        "--verbose",
        "--weight-preprocess",
        "--warmup-iter",
        "3",
        "--iter",
        "10",
        "--input",
        "data:input0.npy",
    )
    assert contest.tolerance == Tolerance(absolute=0.5)
    assert len(set(files.programs.values())) == 2


def test_what_cannot_run_says_why(session: Session) -> None:
    names = ("m/s@any#nchw88", "m/s@any#chwn4")
    assert [plan_contest(find_task(session, name), session) for name in names] == [
        "needs x86_64, and this is aarch64",
        "not run here: needs an NVIDIA GPU",
    ]


def test_contests_have_an_order_and_threads_of_their_own(session: Session, tmp_path: Path) -> None:
    names = ("m/s@any#fast-run", "m/s@any#full-run", "m/s@any#fast-run")
    first, second, again = (plan(session, name).seed for name in names)

    assert first == again != second
    (tmp_path / "4").mkdir()
    threads = open_session(tmp_path / "4", CONFIG.replace("tolerance: 0.5", "threads: 4"))
    contest = plan(threads, "m/s@any#fast-run")

    assert contest.threads == 4
    assert "--multithread" in last_words(contest, Side.RIVAL)
