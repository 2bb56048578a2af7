"""Contests of the real sample engine here: what is planted is found, and nothing else."""

import os
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from integration import sample_builds
from megtrim.core.timing.catalogue import BASELINE, find_experiments
from megtrim.core.timing.experiment import Backend
from megtrim.core.timing.spec import (
    FEWEST_ROUNDS,
    SEARCH_ROUNDS,
    ContestBudget,
    Criterion,
    PerformanceStatus,
    TimeStage,
)
from megtrim.core.timing.times import Answer, RatioResult
from megtrim.engines.sample import SampleEngine, find_embedded_source
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.places.devices.local import Local
from megtrim.times.comparison import compare_at_looks, match_pairs
from megtrim.times.experiments.commands import make_commands
from megtrim.times.experiments.contest import (
    Contest,
    Contestant,
    ContestResult,
    Mark,
    Sample,
    Side,
    plan_looks,
)
from megtrim.times.measuring.timing import measure
from megtrim.times.measuring.timing_runs import ContestFiles

pytestmark = pytest.mark.chain

MODELS = find_embedded_source() / "models"
RIVAL = "rival"
PROCESSES = ProcessRunner(os.environ)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_builds.build(find_embedded_source(), tmp_path_factory.mktemp("plain"))


def make_files(program: Path, rival: Path | None = None) -> ContestFiles:
    return ContestFiles(
        programs={Side.REFERENCE: program, Side.RIVAL: rival or program},
        model=MODELS / "tiny-vgg.sample",
        inputs={"data": MODELS / "tiny-vgg.data.npy"},
    )


def write_script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def make_contestant(
    files: ContestFiles, side: Side, *more: str, experiment: str = BASELINE
) -> Contestant:
    """Return an experiment on one side; ``more``: flags of its measured step."""
    engine = SampleEngine(find_embedded_source(), PROCESSES)
    commands = make_commands(
        find_experiments([experiment])[0],
        files.names_of(side),
        dialect=engine.dialect(),
        backend=Backend.CPU,
        architecture="x86_64",
    )
    last = replace(commands[-1], argv=(*commands[-1].argv, *more))
    name = BASELINE if side is Side.REFERENCE else RIVAL
    return Contestant(name=name, commands=(*commands[:-1], last))


def hold(
    files: ContestFiles,
    folder: Path,
    *more: str,
    experiment: str = BASELINE,
    budget: ContestBudget | None = None,
) -> tuple[Contest, ContestResult, list[str]]:
    contest = Contest(
        criterion=Criterion(threshold=0.05),
        reference=make_contestant(files, Side.REFERENCE),
        rival=make_contestant(files, Side.RIVAL, *more, experiment=experiment),
        budget=budget or ContestBudget(),
        tolerance=find_experiments([experiment])[0].tolerance,
        timeout_s=60.0,
        seed=1,
    )
    said: list[str] = []
    result = measure(contest, files, Local("here", PROCESSES, folder / "runs"), say=said.append)
    return contest, result, said


def compare(contest: Contest, result: ContestResult) -> RatioResult:
    pairs = match_pairs(result.samples, BASELINE, RIVAL)
    seen = compare_at_looks(pairs, contest.criterion, plan_looks(contest.budget))
    assert seen is not None
    return seen


def test_a_planted_slowdown_is_found_before_the_budget_ends(program: Path, tmp_path: Path) -> None:
    """A program that takes 20 % longer differs by more than the threshold of 5 %."""
    contest, result, said = hold(make_files(program), tmp_path, "--slow-down", "20")

    assert result.status is PerformanceStatus.MEASURED, result.reason
    seen = compare(contest, result)
    assert seen.exceeds is Answer.YES
    assert seen.different is Answer.YES
    assert 1.1 < seen.ratio < 1.6  # a machine that does other work stretches what takes longer
    assert any(line.startswith("    time  round 12 of 40, ratio 1.") for line in said)
    assert len(match_pairs(result.samples, BASELINE, RIVAL)) == seen.pairs  # the first clear look
    assert result.outputs == "1 output equal"


def test_a_program_does_not_differ_from_itself(program: Path, tmp_path: Path) -> None:
    contest, result, _ = hold(make_files(program), tmp_path)

    assert result.status is PerformanceStatus.MEASURED, result.reason
    assert compare(contest, result).exceeds is not Answer.YES


def test_a_search_in_each_process_is_made_in_no_other_run(program: Path, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    counting = write_script(tmp_path / "counting", f'echo >> {calls}\nexec {program} "$@"')
    budget = ContestBudget(rounds=SEARCH_ROUNDS)
    files = make_files(program, counting)
    _, result, said = hold(files, tmp_path, experiment="fast-run", budget=budget)

    assert result.status is PerformanceStatus.MEASURED, result.reason
    rival = [sample for sample in result.samples if sample.contestant == RIVAL]
    assert len(calls.read_text().splitlines()) == 1 + len(rival)
    assert SEARCH_ROUNDS <= len(rival) <= 1.5 * SEARCH_ROUNDS
    assert said[0] == "    time  a search in each process, so 8 rounds at most"
    plain = [sample for sample in result.samples if sample.contestant == BASELINE]
    assert median(first_warm_ups(rival)) > 2 * median(first_warm_ups(plain))


def first_warm_ups(samples: Iterable[Sample]) -> list[float]:
    return [time for each in samples if (time := each.time_ms(TimeStage.WARM_UP)) is not None]


def test_outputs_of_fake_first_are_compared_where_the_engine_cannot_dump_them(
    program: Path, tmp_path: Path
) -> None:
    """MegEngine from 1.7 on crashes if it is to dump after a run that computed nothing."""
    crash = 'case "$*" in *--fake-first*--bin-out-dump*) kill -SEGV $$ ;; esac'
    crashing = write_script(tmp_path / "crashing", f'{crash}\nexec {program} "$@"')
    files = make_files(program, crashing)
    budget = ContestBudget(rounds=12)
    _, result, _ = hold(files, tmp_path, experiment="fake-first", budget=budget)

    assert result.status is PerformanceStatus.MEASURED, result.reason
    assert result.outputs == "1 output equal"
    rival = [sample for sample in result.samples if sample.contestant == RIVAL]
    assert all(len(sample.warm_ups_ms) == 2 for sample in rival)


def test_a_busy_machine_marks_its_samples(program: Path, tmp_path: Path) -> None:
    files = make_files(write_script(tmp_path / "slow", f'sleep 0.2\nexec {program} "$@"'))
    contest = Contest(
        criterion=Criterion(other_load=0.5), reference=make_contestant(files, Side.REFERENCE)
    )
    spin = Command(argv=("sh", "-c", "while :; do :; done"), timeout_s=60)
    with ExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            stack.enter_context(PROCESSES.background(spin))
        machine = Local("here", PROCESSES, tmp_path / "runs")
        result = measure(contest, files, machine, say=lambda _: None)

    assert result.status is PerformanceStatus.MEASURED
    assert result.conditions == ("other programs took more than 50% of the CPUs' time",)
    assert {each.marks for each in result.samples} == {(Mark.BUSY,)}
    assert len(result.samples) == 1.5 * FEWEST_ROUNDS
