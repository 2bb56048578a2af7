import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.devices.local import Local
from megtrim.devices.retry import ProgramKilled
from megtrim.experiments.contest import Contest, Mark, PerformanceStatus, Side
from megtrim.load_and_run.exit_status import ProgramRun
from megtrim.load_and_run.parity import EXACT, Tolerance
from megtrim.load_and_run.telemetry import Conditions, Policy, Reading
from megtrim.perf.measuring.timing import compare_in_order, describe_rounds
from megtrim.perf.measuring.timing_runs import (
    ContestEnded,
    ContestFiles,
    ContestRuns,
    Turn,
    list_marks,
    make_sample,
    make_sample_by_length,
    read_times,
)
from megtrim.util.process import ProcessRunner
from support.timing_logs import Form, MadeLog
from unit.experiments.test_contest import CONTEST, RIVAL
from unit.trim.stages.support import floats

CACHES = """
case "$*" in
  *--fast-run\\ *) echo searched >b-algo.cache ;;
  *) cat b-algo.cache; echo used >>b-algo.cache ;;
esac
"""


@contextmanager
def open_runs(folder: Path, script: str, contest: Contest = CONTEST) -> Iterator[ContestRuns]:
    program, data = folder / "program", folder / "d.npy"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    data.write_bytes(b"numbers")
    files = ContestFiles(programs=dict.fromkeys(Side, program), model=data, inputs={"data": data})
    with Local("here", ProcessRunner(os.environ), folder / "runs").open() as directory:
        sides = tuple(side for side, _ in contest.sides)
        timeout_s = contest.timeout_s
        yield ContestRuns(
            sides, files, directory, machine="here", scratch=folder, timeout_s=timeout_s
        )


def test_each_run_reads_a_cache_of_its_own(tmp_path: Path) -> None:
    """The engine writes it back, whether it searched or not."""
    with open_runs(tmp_path, CACHES) as runs:
        runs.prepare(Side.RIVAL, RIVAL)
        seen = [
            runs.run_measured(Side.RIVAL, RIVAL, iterations=10).stdout.splitlines()
            for _ in range(2)
        ]

    assert seen == [["searched"], ["searched"]]
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


def test_a_search_that_leaves_no_cache_has_failed(tmp_path: Path) -> None:
    with open_runs(tmp_path, "true") as runs, pytest.raises(ContestEnded, match="no algorithm"):
        runs.prepare(Side.RIVAL, RIVAL)


def test_a_program_that_something_killed_says_nothing(tmp_path: Path) -> None:
    with open_runs(tmp_path, "kill -9 $$") as runs, pytest.raises(ProgramKilled):
        runs.run_measured(Side.REFERENCE, CONTEST.reference, iterations=1)


TURN = Turn(round_number=3, position=1, contestant="nchw88", cpus=(), padding_bytes=7)
TESTS = (((2.0, 1.5, 0.0), (4.0, 1.5, 0.0)),)
LOG = MadeLog(form=Form.LOGGED, load_ms=9, prepare_ms=0.0, warmup_ms=(7, 3), tests=TESTS)
THROTTLED = Conditions(before=Reading(), after=Reading(thermal_status=2))
LOW = Conditions(before=Reading(battery_percent=9), after=Reading(battery_percent=9))


def make_run(
    stderr: str = "",
    *,
    stdout: str = "",
    wall_s: float = 1.0,
    conditions: Conditions | None = None,
    other_load: float | None = None,
) -> ProgramRun:
    return ProgramRun(
        argv=("a-program",),
        rc=0,
        stdout=stdout,
        stderr=stderr,
        wall_s=wall_s,
        timed_out=False,
        conditions=conditions,
        other_load=other_load,
    )


def test_a_log_has_all_times_of_a_process() -> None:
    """What it shows as 0.000 is less than it can show, and more than nothing."""
    sample = make_sample(TURN, make_run(LOG.text()), iterations=2, warmups=2, other_load=0.5)

    assert (sample.contestant, sample.round_number, sample.position) == ("nchw88", 3, 1)
    assert sample.prepare_ms == pytest.approx(0.0005)
    assert (sample.warm_ups_ms, sample.iterations_ms) == ((7, 3), (2, 4))
    assert sample.counts


def test_a_log_is_read_on_either_stream() -> None:
    for run in (make_run(LOG.text()), make_run(stdout=LOG.text())):
        log = read_times(run, source="x", iterations=2, warmups=2)
        assert log is not None
        assert log.iterations_ms == pytest.approx([2, 4])


def test_a_log_of_other_counts_is_damaged() -> None:
    for stderr, iterations in ((LOG.text(), 3), ("", 2)):
        sample = make_sample(
            TURN, make_run(stderr), iterations=iterations, warmups=2, other_load=0.5
        )
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
def test_a_busy_machine_marks_a_sample(
    found: float | None, limit: float, marks: tuple[Mark, ...]
) -> None:
    run = make_run(LOG.text(), other_load=found)

    assert make_sample(TURN, run, iterations=2, warmups=2, other_load=limit).marks == marks
    by_length = make_sample_by_length(TURN, (make_run(), run), (1, 101), other_load=limit)
    assert by_length.marks == marks
    throttled = make_run(conditions=THROTTLED)
    assert list_marks([throttled, run], other_load=limit) == (Mark.THROTTLED, *marks)


FIRST, SECOND = floats(1, 2, 3), floats(4, 5)
NEAR = floats(1, 2, 3.001)


@pytest.mark.parametrize(
    ("found", "tolerance", "said"),
    [
        ([FIRST, SECOND], EXACT, "2 outputs equal"),
        ([NEAR, SECOND], Tolerance(absolute=0.01), "2 outputs equal within 0.01"),
    ],
)
def test_outputs_agree_in_their_order(found: list[bytes], tolerance: Tolerance, said: str) -> None:
    assert compare_in_order([FIRST, SECOND], found, tolerance) == said


@pytest.mark.parametrize(
    ("found", "tolerance", "said"),
    [
        ([FIRST], EXACT, "1 outputs, expected 2"),
        ([SECOND, FIRST], EXACT, "output 0: shape (3,) became (2,)"),
        ([NEAR, SECOND], EXACT, "output 0: largest difference"),
        ([FIRST, b"torn"], EXACT, "output 1 of the rival: not an intact dumped output"),
        ([FIRST, SECOND], Tolerance(absolute=100.0), "that proves nothing"),
    ],
)
def test_outputs_that_differ_end_a_contest(
    found: list[bytes], tolerance: Tolerance, said: str
) -> None:
    with pytest.raises(ContestEnded) as caught:
        compare_in_order([FIRST, SECOND], found, tolerance)

    assert caught.value.status is PerformanceStatus.WRONG_OUTPUTS
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("counting", "said"), [(9, "round 9 of 12"), (4, "round 9, 4 of 12 count")]
)
def test_rounds_that_were_disturbed_are_said_not_to_count(counting: int, said: str) -> None:
    assert describe_rounds(9, counting, 12).strip() == f"time  {said}"
