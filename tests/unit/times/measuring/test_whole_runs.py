"""Contests of commands: what is planned for one, and what its runs come to on this machine."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.build_spec import REST_SUFFIX
from megtrim.core.chain.graph import PLAIN, REDUCED, Stage
from megtrim.core.chain.session import Session
from megtrim.core.timing.spec import FEWEST_ROUNDS, Criterion, PerformanceStatus, TimeStage
from megtrim.core.timing.times import Reference
from megtrim.core.trim.runs.execution import RunSpec
from megtrim.libs.programs.application_arguments import STDIN
from megtrim.libs.programs.parity import Tolerance
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.local import Local
from megtrim.times.comparison import compare_sides, summarize_stages
from megtrim.times.experiments.commands import OF_FLAGS
from megtrim.times.experiments.contest import MOST_RUNS, Contest, Contestant, ContestResult, Side
from megtrim.times.measuring.contest_plan import find_files, plan_contest
from megtrim.times.measuring.timing import measure
from megtrim.times.measuring.whole_runs import CommandFiles, choose_runs
from megtrim.times.plan import perf_tasks
from unit.core.trim.stages.built import finish
from unit.times.measuring.test_timing_runs import CONFIG, find_task, open_session

COMMAND = """\
scenarios:
- name: c
  program: app
  args: ["{input:data}", --to, "{outputs}"]
  inputs: {data: d.npy}
  stdin: d.npy
  environment: {LEVEL: "3"}
  status: 4
  stderr: compared
  vary: ['[0-9]+ ms']
  timeout: 90 s
  tolerance: 0.5
"""
LEVEL = "trim: {level: function, base: plain}\n"
WITH_COMMAND = CONFIG + LEVEL + COMMAND


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return open_session(tmp_path, WITH_COMMAND)


@pytest.mark.parametrize(
    ("subject", "since_base", "names"),
    [
        ("baseline", False, ["baseline"]),
        ("since-baseline", True, ["base", "baseline"]),
        ("trimming-reduced", False, ["plain", "reduced"]),
    ],
)
@pytest.mark.parametrize("scenario", ["c@any", "m/a@any"])
def test_a_command_is_timed_whole(
    session: Session, scenario: str, subject: str, since_base: bool, names: list[str]
) -> None:
    task = find_task(session, f"{scenario}#{subject}", since_base=since_base)
    contest = plan_contest(task, session)

    assert isinstance(contest, Contest)
    assert [each.name for _, each in contest.sides] == names
    assert (contest.whole, contest.stage) == (True, TimeStage.WHOLE_RUN)
    assert [each.commands for _, each in contest.sides] == [()] * len(names)
    alone = len(names) == 1
    assert contest.budget.rounds == (FEWEST_ROUNDS if alone else 16)
    if scenario == "c@any":
        assert contest.tolerance == Tolerance(absolute=0.5)
        assert contest.timeout_s == 90.0


@pytest.mark.parametrize(
    ("perf", "subjects"),
    [
        ("trimming: true", ["baseline", "trimming-reduced"]),
        ("experiments: [fast-run]", ["baseline", "fast-run"]),
        ("recipes: [arm]", ["baseline", "recipe-arm"]),
    ],
)
def test_experiments_are_of_models_and_a_named_one_says_so(
    tmp_path: Path, perf: str, subjects: list[str]
) -> None:
    before = "perf: {trimming: true, threshold: 3%, budget: {rounds: 16, time: 5 min}}"
    assert before in CONFIG
    session = open_session(tmp_path, CONFIG.replace(before, f"perf: {{{perf}}}") + LEVEL + COMMAND)
    every = perf_tasks(session.config)
    found = [each.name for each in every if each.stage is Stage.PERF and each.name.startswith("c@")]

    assert found == [f"c@any#{subject}" for subject in subjects]
    if subjects[-1] != "trimming-reduced":
        assert plan_contest(find_task(session, found[-1]), session) == OF_FLAGS


def test_a_command_gets_what_its_scenario_names(session: Session, tmp_path: Path) -> None:
    """Also the companion file of the program that has one."""
    finish(session, PLAIN, {"bin/app": "plain"})
    finish(session, REDUCED, {"bin/app": "reduced", f"bin/app{REST_SUFFIX}": "rest"})
    files = find_files(find_task(session, "c@any#trimming-reduced"), session)

    assert isinstance(files, CommandFiles)
    assert files.vary == ("[0-9]+ ms",)
    plain, reduced = (files.specs[side] for side in Side)
    assert (plain.program.read_text(), reduced.program.read_text()) == ("plain", "reduced")
    assert (plain.with_rest, reduced.with_rest) == (False, True)
    for spec in (plain, reduced):
        assert spec.arguments == ("{input:data}", "--to", "{outputs}")
        assert spec.inputs == {"data": tmp_path / "d.npy", STDIN: tmp_path / "d.npy"}
        assert spec.environment == {"LEVEL": "3"}
        assert (spec.status, spec.said, spec.timeout_s) == (4, True, 90.0)


def measure_scripts(
    folder: Path, scripts: Mapping[Side, str], *, vary: tuple[str, ...] = (), **changes: Any
) -> tuple[Contest, ContestResult]:
    given = folder / "given.txt"
    given.write_text("some text\n", encoding="utf-8")
    specs = {}
    for side, script in scripts.items():
        program = folder / str(side) / "tool"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        usual: dict[str, Any] = {
            "program": program,
            "model": None,
            "arguments": ("{input:given}",),
            "inputs": {"given": given, STDIN: given},
            "threads": 1,
            "timeout_s": 5.0,
            "application": True,
        }
        specs[side] = RunSpec(**{**usual, **changes})
    rival = Contestant(name="reduced") if len(scripts) > 1 else None
    contest = Contest(
        criterion=Criterion(threshold=0.5), reference=Contestant(name="plain"), rival=rival
    )
    device = Local("here", ProcessRunner(os.environ), folder / "runs")
    with device.reserve() as lease:
        files = CommandFiles(specs=specs, vary=vary)
        return contest, measure(contest, files, lease, say=lambda _: None)


def test_whole_runs_are_timed_in_turns_each_in_an_empty_place(tmp_path: Path) -> None:
    """The second run would find what the first one left, or its own file changed."""
    reads = 'echo of; cat "$1" - dump/x 2>/dev/null; echo >>"$1"'
    script = f"[ -e left ] && exit 1; touch left; {reads}; exit 3"
    scripts = {Side.REFERENCE: script, Side.RIVAL: f"{script}  # longer"}
    contest, result = measure_scripts(tmp_path, scripts, status=3)

    assert (result.status, result.reason) == (PerformanceStatus.MEASURED, "")
    assert result.outputs == "outputs equal to the last bit (1 output, 23 bytes)"
    assert {each.contestant for each in result.samples} == {"plain", "reduced"}
    assert {len(each.runs_ms) for each in result.samples} <= set(range(1, MOST_RUNS + 1))
    (time,) = summarize_stages(result, "reduced")
    assert time.stage is TimeStage.WHOLE_RUN
    rounds = len(result.samples) // 2
    assert time.processes == rounds * len(result.samples[0].runs_ms)
    ratio = compare_sides(contest, result, Reference.PLAIN, adjusted_p=1.0)
    assert ratio is not None
    assert (ratio.stage, ratio.pairs) == (TimeStage.WHOLE_RUN, rounds)


@pytest.mark.parametrize(
    ("plain", "reduced", "status", "reason"),
    [
        ("echo a b", "exit 5", "failed", "reduced: it ended with 5 (failed)"),
        ("echo a b", "kill -ILL $$", "failed", "reduced: it ended with 132 (trap)"),
        ("echo a b", "sleep 9", "failed", "reduced: it did not end within 0.5 s"),
        ("exit 2", "echo a b", "failed", "plain: it ended with 2 (failed)"),
        (
            "echo a b",
            "echo a c",
            "wrong-outputs",
            "output standard output: differs from byte 3 on (4 against 4 bytes)",
        ),
        ("echo a b", "true", "wrong-outputs", "output standard output: differs from byte 1"),
        (
            "echo a $(date +%N)",
            "echo a b",
            "wrong-outputs",
            "output standard output: differs from byte 3",
        ),
        ("true", "true", "wrong-outputs", "the output standard output is empty: that proves"),
    ],
)
def test_a_run_that_fails_or_prints_something_else_ends_its_contest(
    tmp_path: Path, plain: str, reduced: str, status: str, reason: str
) -> None:
    scripts = {Side.REFERENCE: plain, Side.RIVAL: reduced}
    _, result = measure_scripts(tmp_path, scripts, timeout_s=0.5)

    assert result.status == status
    assert result.reason.startswith(reason)
    assert result.samples == ()


def test_a_later_run_is_held_to_the_first_and_text_may_vary(tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    script = {Side.REFERENCE: "echo took $(date +%N) ns"}
    _, result = measure_scripts(tmp_path / "alone", script)
    assert result.status is PerformanceStatus.WRONG_OUTPUTS
    assert result.reason.startswith("plain, in a later run: output standard output: differs")

    (tmp_path / "varies").mkdir()
    _, result = measure_scripts(tmp_path / "varies", script, vary=("[0-9]+ ns",))
    assert (result.status, result.reason) == (PerformanceStatus.MEASURED, "")
    assert len(result.samples) == FEWEST_ROUNDS


@pytest.mark.parametrize(
    ("run_ms", "taken_ms", "runs"),
    [
        (0.0, 0.0, 10),
        (1.0, 20.0, 10),
        (10.0, 20.0, 10),
        (11.0, 20.0, 10),
        (60.0, 80.0, 2),
        (100.0, 150.0, 1),
        (5.0, 500.0, 4),
        (5.0, 5000.0, 1),
    ],
)
def test_short_commands_run_several_times_for_a_sample(
    run_ms: float, taken_ms: float, runs: int
) -> None:
    """But not where it takes long to put them on a device."""
    assert choose_runs(run_ms, taken_ms) == runs
