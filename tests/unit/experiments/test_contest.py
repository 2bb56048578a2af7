"""The values of a contest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from megtrim.experiments.commands import make_commands
from megtrim.experiments.contest import (
    Contest,
    Contestant,
    ContestBudget,
    ContestResult,
    Criterion,
    Mark,
    PerformanceStatus,
    Sample,
    SamplingPlan,
    Side,
    derive_seed,
    name_files,
)
from megtrim.experiments.experiment import Backend, TimeStage
from megtrim.experiments.table import find_experiments
from megtrim.load_and_run.dialects import LITE
from megtrim.util.errors import InputError
from megtrim.util.strict_json import decode, encode


def make_contestant(side: Side, experiment: str) -> Contestant:
    """Return a contestant as the stage makes it."""
    commands = make_commands(
        find_experiments([experiment])[0],
        name_files(side, inputs={"data": ".npy"}),
        dialect=LITE,
        backend=Backend.CPU,
        architecture="x86_64",
    )
    return Contestant(name=experiment, commands=commands)


REFERENCE = make_contestant(Side.REFERENCE, "baseline")
RIVAL = make_contestant(Side.RIVAL, "fast-run-cache")
CONTEST = Contest(criterion=Criterion(), reference=REFERENCE, rival=RIVAL)


def test_both_sides_have_names_of_one_length() -> None:
    """The length of a command line moves the stack, and so the time."""
    mine, other = (name_files(side, inputs={"data": ".npy"}) for side in Side)

    assert len(mine.program) == len(other.program)
    assert len(mine.algo_cache) == len(other.algo_cache)
    assert (mine.model, mine.inputs) == (other.model, other.inputs)
    assert {mine.program, mine.dumped_model, mine.algo_cache}.isdisjoint(
        {other.program, other.dumped_model, other.algo_cache}
    )


def test_a_worker_next_to_the_main_thread_needs_a_cpu_of_its_own() -> None:
    """They wait for each other actively; in place there is one thread less."""
    recorded = make_contestant(Side.REFERENCE, "recipe-arm")
    in_place = replace(CONTEST, reference=recorded, rival=None)

    assert CONTEST.width == 2
    assert replace(CONTEST, threads=3).width == 4
    assert in_place.width == 1
    assert replace(CONTEST, rival=recorded).width == 2


def test_inputs_keep_their_suffix_in_the_order_of_their_names() -> None:
    """The program reads the format from it."""
    names = name_files(Side.RIVAL, inputs={"im_info": ".json", "data": ".npy"})

    assert names.inputs == (("data", "input0.npy"), ("im_info", "input1.json"))


@pytest.mark.parametrize(
    ("rounds", "looks"),
    [(8, (8,)), (12, (12,)), (14, (12, 14)), (40, (12, 16, 24, 40)), (60, (12, 16, 24, 40, 60))],
)
def test_the_last_look_is_at_the_end_of_the_budget(rounds: int, looks: tuple[int, ...]) -> None:
    """Looks are fixed before the first run."""
    assert ContestBudget(rounds=rounds).plan.looks == looks


@pytest.mark.parametrize(("rounds", "limit_s"), [(7, None), (401, None), (40, 0.0), (40, -1.0)])
def test_a_budget_that_decides_nothing_is_refused(rounds: int, limit_s: float | None) -> None:
    """Fewer than eight pairs show nothing."""
    with pytest.raises(ValueError, match="found"):
        ContestBudget(rounds=rounds, limit_s=limit_s)


def test_two_sides_of_one_name_are_refused() -> None:
    """Their samples could not be distinguished."""
    with pytest.raises(ValueError, match="both sides"):
        replace(CONTEST, rival=REFERENCE)


def test_a_contestant_measures_its_last_step() -> None:
    """Steps before it prepare."""
    with pytest.raises(ValueError, match="the last step is measured"):
        Contestant(name="x", commands=RIVAL.commands[:-1])
    assert [each[0] for each in CONTEST.sides] == list(Side)
    assert len(replace(CONTEST, rival=None).sides) == 1


@pytest.mark.parametrize(
    ("experiment", "searches"),
    [
        *(("fast-run", True), ("full-run", True), ("layout-online", True)),
        *(("fast-run-cache", False), ("layout-dumped", False), ("weight-preprocess-cache", False)),
    ],
)
def test_a_contestant_searches_unless_an_earlier_step_did(experiment: str, searches: bool) -> None:
    """A cache, or a dumped model, takes the search out of the measured processes."""
    assert make_contestant(Side.RIVAL, experiment).searches is searches


def test_contests_travel_as_data() -> None:
    """Device jobs get and bring them."""
    sample = Sample(
        contestant="baseline",
        round_number=0,
        position=1,
        prepare_ms=0.5,
        warm_ups_ms=(2.0,),
        iterations_ms=(1.0, 1.5),
        marks=(Mark.THROTTLED,),
    )
    result = ContestResult(status=PerformanceStatus.MEASURED, samples=(sample,), time_s=1.5)

    assert decode(Contest, encode(CONTEST), "") == CONTEST
    assert decode(ContestResult, encode(result), "") == result


def test_a_seed_depends_on_its_text_alone() -> None:
    """An interrupted run continues in the order that it began with."""
    assert derive_seed("m/s@any nchw88") == derive_seed("m/s@any nchw88") == 612_559_251
    assert derive_seed("m/s@any nchw44") != derive_seed("m/s@any nchw88")


@pytest.mark.parametrize(
    ("threshold", "floor_ms"), [(0.0, 0.0), (1.0, 0.0), (-0.1, 0.0), (0.01, -1.0), (0.01, 1e999)]
)
def test_what_would_call_everything_or_nothing_a_change_is_refused(
    threshold: float, floor_ms: float
) -> None:
    """A threshold is a share, a floor is a time."""
    with pytest.raises(ValueError, match="no criterion"):
        Criterion(threshold=threshold, floor_ms=floor_ms)


@pytest.mark.parametrize("other_load", [0.0, 1.1, -1.0, float("nan")])
def test_what_would_leave_out_everything_is_refused(other_load: float) -> None:
    """Some process of the system always runs."""
    with pytest.raises(ValueError, match="other_load"):
        Criterion(other_load=other_load)


def test_a_stage_is_reduced_to_its_median() -> None:
    """One slow iteration does not move the time of a process."""
    sample = Sample(contestant="a", round_number=0, position=0, iterations_ms=(5, 4, 90))
    assert sample.time_ms(TimeStage.INFERENCE) == 5
    assert sample.time_ms(TimeStage.PREPARE) is None
    assert sample.time_ms(TimeStage.WARM_UP) is None


def test_each_warm_up_has_a_stage_of_its_own() -> None:
    """With fake-first they are two different things."""
    sample = Sample(contestant="a", round_number=0, position=0, warm_ups_ms=(5, 90))
    assert sample.time_ms(TimeStage.WARM_UP) == 5
    assert sample.time_ms(TimeStage.SECOND_WARM_UP) == 90


def test_a_mark_leaves_out() -> None:
    """A marked sample does not count, and still has its reason."""
    sample = Sample(contestant="a", round_number=0, position=0, marks=(Mark.THROTTLED,))
    assert not sample.counts
    assert sample.marks == ("throttled",)


@pytest.mark.parametrize("time_ms", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_times_are_refused(time_ms: float) -> None:
    """Zero, negative and infinite times are input errors that name the contestant."""
    with pytest.raises(InputError, match="plain, round 3"):
        Sample(contestant="plain", round_number=3, position=0, iterations_ms=(time_ms,))


def test_all_looks_together_keep_alpha() -> None:
    """Of 200,000 walks without drift, 2% cross a bound at any look."""
    plan = SamplingPlan(looks=(8, 16, 40))
    steps = np.random.default_rng(5).standard_normal((200_000, 40)).cumsum(axis=1)
    crossed = np.zeros(len(steps), dtype=bool)
    for look, count in enumerate(plan.looks):
        bound = stats.norm.isf(plan.level(look) / 2)
        crossed |= np.abs(steps[:, count - 1]) / np.sqrt(count) > bound
    assert crossed.mean() == pytest.approx(0.02, abs=0.0015)


def test_levels_rise() -> None:
    """Early looks get less than late ones, and none more than alpha."""
    plan = SamplingPlan(looks=(8, 16, 40))
    levels = [plan.level(look) for look in range(3)]
    assert levels == sorted(levels)
    assert levels[-1] < plan.alpha


@pytest.mark.parametrize("looks", [(), (0, 4), (8, 8), (12, 8)])
def test_looks_increase(looks: tuple[int, ...]) -> None:
    """A plan whose looks do not increase is refused."""
    with pytest.raises(ValueError, match="looks must increase"):
        SamplingPlan(looks=looks)
