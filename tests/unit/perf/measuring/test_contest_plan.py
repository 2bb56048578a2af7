import os
from pathlib import Path
from typing import Any, cast

import pytest

from megtrim.build.engines.sample import SampleEngine, find_embedded_source
from megtrim.chain.graph import PLAIN, REDUCED, Stage, Task
from megtrim.chain.session import Session
from megtrim.experiments.contest import FEWEST_ROUNDS, SEARCH_ROUNDS, Contest, Criterion, Side
from megtrim.experiments.experiment import REORDERED
from megtrim.load_and_run.dialects import LITE
from megtrim.load_and_run.parity import Tolerance
from megtrim.perf.measuring.contest_plan import find_files, plan_contest
from megtrim.perf.plan import perf_tasks
from megtrim.util.process import ProcessRunner
from unit.trim.stages.built import built
from unit.trim.stages.fake_device import GOOD
from unit.trim.stages.support import changed

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
    engine = SampleEngine(find_embedded_source(), ProcessRunner(os.environ))
    everything = cast("Any", _Everything(engine))
    return changed(made, engine=everything)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return open_session(tmp_path)


class _Everything:
    def __init__(self, engine: SampleEngine) -> None:
        self.identity = engine.identity
        self.kept = engine.kept

    def dialect(self) -> Any:
        return LITE


def find_task(session: Session, name: str, *, since_base: bool = False) -> Task:
    every = perf_tasks(session.request.config, since_base=since_base)
    return next(task for task in every if task.stage is Stage.PERF and task.name == name)


def plan(session: Session, name: str) -> Contest:
    planned = plan_contest(find_task(session, name), session)
    assert isinstance(planned, Contest), planned
    return planned


def last_words(contest: Contest, side: Side) -> tuple[str, ...]:
    return dict(contest.sides)[side].commands[-1].argv


def test_an_experiment_meets_the_baseline_on_one_program(session: Session, tmp_path: Path) -> None:
    contest = plan(session, "m/s@any#record-1")
    files = find_files(find_task(session, "m/s@any#record-1"), session)

    assert last_words(contest, Side.REFERENCE) == (
        *("a-program", "model.mge", "--verbose", "--cpu", "--warmup-iter", "1", "--iter", "10"),
        *("--input", "data:input0.npy"),
    )
    assert "--record-comp-seq" in last_words(contest, Side.RIVAL)
    assert "--weight-preprocess" not in last_words(contest, Side.RIVAL)
    assert len(set(files.programs.values())) == 1
    assert files.inputs == {"data": tmp_path / "d.npy"}
    assert contest.criterion == Criterion(threshold=0.03, other_load=0.5)
    assert (contest.budget.rounds, contest.budget.limit_s, contest.timeout_s) == (16, 300.0, 90.0)


@pytest.mark.parametrize(
    ("experiment", "tolerance"),
    [
        ("record-1", Tolerance(absolute=0.5)),
        ("fast-run", Tolerance(absolute=0.5, relative=REORDERED.relative)),
    ],
)
def test_outputs_may_differ_as_experiment_or_scenario_allows(
    session: Session, experiment: str, tolerance: Tolerance
) -> None:
    assert plan(session, f"m/s@any#{experiment}").tolerance == tolerance


def test_the_baseline_is_timed_alone(session: Session, tmp_path: Path) -> None:
    """Nothing is decided by it, so no setting is a reason to time it again."""
    strict = CONFIG.replace("3%", "1%").replace("rounds: 16", "rounds: 40")
    (tmp_path / "other").mkdir()
    contest = plan(session, "m/s@any#baseline")

    assert contest.rival is None
    assert contest.budget.rounds == FEWEST_ROUNDS
    assert contest == plan(open_session(tmp_path / "other", strict), "m/s@any#baseline")


@pytest.mark.parametrize(
    ("experiment", "rounds"),
    [("fast-run", SEARCH_ROUNDS), ("layout-online", SEARCH_ROUNDS), ("fast-run-cache", 16)],
)
def test_who_searches_in_each_process_takes_few_rounds(
    session: Session, experiment: str, rounds: int
) -> None:
    budget = plan(session, f"m/s@any#{experiment}").budget

    assert (budget.rounds, budget.limit_s) == (rounds, 300.0)


def test_a_trimmed_program_runs_as_the_scenario_says(session: Session) -> None:
    """It misses the kernels of everything else; only the counts are those of a measured run."""
    contest = plan(session, "m/s@any#trimming-reduced")
    files = find_files(find_task(session, "m/s@any#trimming-reduced"), session)

    assert [each.name for _, each in contest.sides] == ["plain", "reduced"]
    assert last_words(contest, Side.RIVAL) == (
        *("b-program", "model.mge", "--cpu", "--verbose", "--weight-preprocess"),
        *("--warmup-iter", "3", "--iter", "10", "--input", "data:input0.npy"),
    )
    assert contest.tolerance == Tolerance(absolute=0.5)
    assert len(set(files.programs.values())) == 2


def test_what_cannot_run_says_why(session: Session) -> None:
    reasons = {
        name: plan_contest(find_task(session, name), session)
        for name in ("m/s@any#nchw88", "m/s@any#chwn4", "m/a@any#baseline")
    }
    assert reasons == {
        "m/s@any#nchw88": "needs x86_64, and this is aarch64",
        "m/s@any#chwn4": "not run here: needs an NVIDIA GPU",
        "m/a@any#baseline": (
            "the scenario runs an application, which prints no times that megtrim reads"
        ),
    }


def test_each_contest_has_an_order_of_its_own(session: Session) -> None:
    names = ("m/s@any#fast-run", "m/s@any#full-run", "m/s@any#fast-run")
    first, second, again = (plan(session, name).seed for name in names)

    assert first == again != second


def test_several_threads_reach_the_contest(tmp_path: Path) -> None:
    session = open_session(tmp_path, CONFIG.replace("tolerance: 0.5", "threads: 4"))
    contest = plan(session, "m/s@any#fast-run")

    assert contest.threads == 4
    assert "--multithread" in last_words(contest, Side.RIVAL)
