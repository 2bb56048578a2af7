import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from megtrim.core.timing.catalogue import find_experiments
from megtrim.core.timing.experiment import Backend
from megtrim.core.timing.spec import ContestBudget, Criterion, PerformanceStatus, TimeStage
from megtrim.engines.load_and_run.dialects import LITE
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.strict_json import decode, encode
from megtrim.times.experiments.commands import make_commands
from megtrim.times.experiments.contest import (
    Contest,
    Contestant,
    ContestResult,
    Mark,
    Sample,
    SamplingPlan,
    Side,
    derive_seed,
    name_files,
    plan_looks,
)


def make_contestant(side: Side, experiment: str) -> Contestant:
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
SAMPLE: dict[str, Any] = {"contestant": "a", "round_number": 0, "position": 0}
CONTEST = Contest(criterion=Criterion(), reference=REFERENCE, rival=RIVAL)


def test_both_sides_have_names_of_one_length_and_inputs_their_suffix() -> None:
    """The length of a command line moves the stack, and so the time."""
    mine, other = (name_files(side, inputs={"data": ".npy"}) for side in Side)

    assert len(mine.program) == len(other.program)
    assert len(mine.algo_cache) == len(other.algo_cache)
    assert (mine.model, mine.inputs) == (other.model, other.inputs)
    assert {mine.program, mine.dumped_model, mine.algo_cache}.isdisjoint(
        {other.program, other.dumped_model, other.algo_cache}
    )
    names = name_files(Side.RIVAL, inputs={"im_info": ".json", "data": ".npy"})

    assert names.inputs == (("data", "input0.npy"), ("im_info", "input1.json"))


def test_a_contest_has_one_side_or_two_and_a_worker_a_cpu_of_its_own() -> None:
    """They wait for each other actively; in place there is one thread less."""
    recorded = make_contestant(Side.REFERENCE, "recipe-arm")
    in_place = replace(CONTEST, reference=recorded, rival=None)

    assert CONTEST.width == 2
    assert replace(CONTEST, threads=3).width == 4
    assert in_place.width == 1
    assert replace(CONTEST, rival=recorded).width == 2
    assert [each[0] for each in CONTEST.sides] == list(Side)
    assert len(replace(CONTEST, rival=None).sides) == 1


@pytest.mark.parametrize(
    ("rounds", "looks"),
    [(8, (8,)), (12, (12,)), (14, (12, 14)), (40, (12, 16, 24, 40)), (60, (12, 16, 24, 40, 60))],
)
def test_the_last_look_is_at_the_end_of_the_budget(rounds: int, looks: tuple[int, ...]) -> None:
    assert plan_looks(ContestBudget(rounds=rounds)).looks == looks


@pytest.mark.parametrize(
    ("make", "message"),
    [
        # Fewer than eight pairs show nothing.
        (lambda: ContestBudget(rounds=7), "found 7 rounds"),
        (lambda: ContestBudget(rounds=401), "found 401 rounds"),
        (lambda: ContestBudget(limit_s=0.0), "found a budget of 0.0 s"),
        (lambda: ContestBudget(limit_s=-1.0), "found a budget of -1.0 s"),
        # Samples of two sides of one name could not be distinguished.
        (lambda: replace(CONTEST, rival=REFERENCE), "both sides"),
        # Steps before the last one prepare.
        (lambda: Contestant(name="x", commands=RIVAL.commands[:-1]), "the last step is measured"),
        (lambda: ContestResult(status=PerformanceStatus.REGRESSED), "expected measured, failed or"),
        # A threshold is a share, a floor is a time; some process of the system always runs.
        *(
            (lambda values=values: Criterion(**values), "no criterion")
            for values in (
                *({"threshold": each} for each in (0.0, 1.0, -0.1)),
                *({"floor_ms": each} for each in (-1.0, math.inf)),
                *({"other_load": each} for each in (0.0, 1.1, -1.0, math.nan)),
            )
        ),
        *(
            (lambda looks=looks: SamplingPlan(looks=looks), "looks must increase")
            for looks in ((), (0, 4), (8, 8), (12, 8))
        ),
        *(
            (lambda ms=ms: Sample(**SAMPLE, iterations_ms=(ms,)), "a, round 0: a time is")
            for ms in (0.0, -1.0, math.nan, math.inf)
        ),
    ],
)
def test_what_decides_nothing_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises((ValueError, InputError), match=message):
        make()


@pytest.mark.parametrize(
    ("experiment", "searches"),
    [
        ("fast-run", True),
        ("full-run", True),
        ("layout-online", True),
        ("fast-run-cache", False),
        ("layout-dumped", False),
        ("weight-preprocess-cache", False),
    ],
)
def test_a_contestant_searches_unless_an_earlier_step_did(experiment: str, searches: bool) -> None:
    assert make_contestant(Side.RIVAL, experiment).searches is searches


def test_contests_travel_as_data() -> None:
    times: Any = {"prepare_ms": 0.5, "warm_ups_ms": (2.0,), "iterations_ms": (1.0, 1.5)}
    sample = Sample(**SAMPLE, **times, marks=(Mark.THROTTLED,))
    result = ContestResult(status=PerformanceStatus.MEASURED, samples=(sample,), time_s=1.5)

    assert decode(Contest, encode(CONTEST), "") == CONTEST
    assert decode(ContestResult, encode(result), "") == result


def test_a_seed_depends_on_its_text_alone() -> None:
    assert derive_seed("m/s@any nchw88") == derive_seed("m/s@any nchw88") == 612_559_251
    assert derive_seed("m/s@any nchw44") != derive_seed("m/s@any nchw88")


@pytest.mark.parametrize(
    ("fields", "stage", "time_ms"),
    [
        # One slow iteration does not move the time of a process.
        ({"iterations_ms": (5, 4, 90)}, TimeStage.INFERENCE, 5),
        ({"iterations_ms": (5, 4, 90)}, TimeStage.PREPARE, None),
        ({"iterations_ms": (5, 4, 90)}, TimeStage.WARM_UP, None),
        # With fake-first, two warm-ups are two different things.
        ({"warm_ups_ms": (5, 90)}, TimeStage.WARM_UP, 5),
        ({"warm_ups_ms": (5, 90)}, TimeStage.SECOND_WARM_UP, 90),
    ],
)
def test_stages_have_a_time(
    fields: dict[str, Any], stage: TimeStage, time_ms: float | None
) -> None:
    assert Sample(**SAMPLE, **fields).time_ms(stage) == time_ms
    assert Sample(**SAMPLE, **fields).counts
    assert not Sample(**SAMPLE, **fields, marks=(Mark.THROTTLED,)).counts


def test_all_looks_together_keep_alpha() -> None:
    """Of 200,000 walks without drift, 2% cross a bound at any look."""
    plan = SamplingPlan(looks=(8, 16, 40))
    steps = np.random.default_rng(5).standard_normal((200_000, 40)).cumsum(axis=1)
    crossed = np.zeros(len(steps), dtype=bool)
    for look, count in enumerate(plan.looks):
        bound = stats.norm.isf(plan.level(look) / 2)
        crossed |= np.abs(steps[:, count - 1]) / np.sqrt(count) > bound
    assert crossed.mean() == pytest.approx(0.02, abs=0.0015)
    assert plan.level(0) < plan.level(1) < plan.level(2) < 0.02
