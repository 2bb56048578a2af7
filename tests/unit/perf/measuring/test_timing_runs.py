"""The processes of a contest, played by small shell scripts on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.devices.local import Local
from megtrim.devices.retry import ProgramKilled
from megtrim.experiments.contest import Contest, PerformanceStatus, Side
from megtrim.perf.measuring.timing_runs import ContestEnded, ContestFiles, ContestRuns
from megtrim.util.process import ProcessRunner
from unit.experiments.test_contest import CONTEST, RIVAL

CACHES = """
case "$*" in
  *--fast-run\\ *) echo searched >b-algo.cache ;;
  *) cat b-algo.cache; echo used >>b-algo.cache ;;
esac
"""


@contextmanager
def open_runs(folder: Path, script: str, contest: Contest = CONTEST) -> Iterator[ContestRuns]:
    """Give out the runs of a contest whose programs are a shell script."""
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
    """And the number of iterations that it is to make."""
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
    """Earlier runs are warm-ups, and numbers sort as numbers."""
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
    """In the program's own words."""
    hasty = replace(CONTEST, timeout_s=0.5)
    with open_runs(tmp_path, script, hasty) as runs, pytest.raises(ContestEnded) as caught:
        runs.run_for_outputs(Side.REFERENCE, CONTEST.reference)

    assert caught.value.status is PerformanceStatus.FAILED
    assert caught.value.message == reason


def test_a_search_that_leaves_no_cache_has_failed(tmp_path: Path) -> None:
    """Its measured step would run without."""
    with open_runs(tmp_path, "true") as runs, pytest.raises(ContestEnded, match="no algorithm"):
        runs.prepare(Side.RIVAL, RIVAL)


def test_a_program_that_something_killed_says_nothing(tmp_path: Path) -> None:
    """The machine is tried again."""
    with open_runs(tmp_path, "kill -9 $$") as runs, pytest.raises(ProgramKilled):
        runs.run_measured(Side.REFERENCE, CONTEST.reference, iterations=1)
