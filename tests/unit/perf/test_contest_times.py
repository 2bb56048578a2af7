from __future__ import annotations

import random
from dataclasses import replace

import pytest

from megtrim.experiments.contest import (
    ContestBudget,
    ContestResult,
    Mark,
    PerformanceStatus,
    Sample,
)
from megtrim.experiments.experiment import TimeStage
from megtrim.perf.comparison import compare_sides, count_left_out, find_p_value, summarize_stages
from megtrim.perf.times import Answer, Reference
from unit.experiments.test_contest import CONTEST


def make_result(ratio: float, *, rounds: int = 40, spread: float = 0.002) -> ContestResult:
    noise = random.Random(1)
    samples = [
        Sample(
            contestant=name,
            round_number=number,
            position=position,
            prepare_ms=1.0,
            warm_ups_ms=(3.0, 2.0),
            iterations_ms=(10 * factor * noise.uniform(1 - spread, 1 + spread),),
        )
        for number in range(rounds)
        for position, (name, factor) in enumerate((("baseline", 1.0), ("fast-run-cache", ratio)))
    ]
    return ContestResult(status=PerformanceStatus.MEASURED, samples=tuple(samples))


@pytest.mark.parametrize(
    ("ratio", "rounds", "different", "exceeds"),
    [
        (1.2, 40, Answer.YES, Answer.YES),
        (0.8, 40, Answer.YES, Answer.YES),
        (1.0, 40, Answer.NO, Answer.NO),
        (1.2, 7, Answer.INCONCLUSIVE, Answer.INCONCLUSIVE),
    ],
)
@pytest.mark.parametrize("most", [8, 40])
def test_two_answers_belong_to_a_ratio(
    ratio: float, rounds: int, different: Answer, exceeds: Answer, most: int
) -> None:
    contest = replace(CONTEST, budget=ContestBudget(rounds=most))
    result = make_result(ratio, rounds=rounds)
    p_value = find_p_value(contest, result)
    seen = compare_sides(contest, result, Reference.BASELINE, adjusted_p=p_value)

    assert seen is not None
    assert (seen.different, seen.exceeds) == (different, exceeds)
    assert seen.ratio == pytest.approx(ratio, rel=0.01)
    assert seen.stage is TimeStage.INFERENCE


def test_a_difference_counts_among_all_comparisons() -> None:
    result = make_result(1.2)
    seen = compare_sides(CONTEST, result, Reference.BASELINE, adjusted_p=0.5)

    assert seen is not None
    assert (seen.different, seen.exceeds) == (Answer.INCONCLUSIVE, Answer.YES)


def test_times_have_intervals_and_spreads() -> None:
    times = summarize_stages(make_result(1.2), "fast-run-cache")

    assert [each.stage for each in times] == list(TimeStage)
    inference = times[-1]
    assert inference.processes == 40
    assert inference.upper_ms is not None
    assert inference.lower_ms < inference.median_ms < inference.upper_ms
    assert inference.median_ms == pytest.approx(12.0, rel=0.01)
    assert 0 < inference.spread < 0.002
    assert times[0].spread == 0


def test_few_processes_have_no_ends() -> None:
    (*_, inference) = summarize_stages(make_result(1.0, rounds=5), "baseline")

    assert (inference.lower_ms, inference.upper_ms) == (0.0, None)


def test_marked_samples_are_counted_and_left_out() -> None:
    result = make_result(1.2, rounds=8)
    marked = tuple(replace(each, marks=(Mark.THROTTLED,)) for each in result.samples)
    result = replace(result, samples=marked)

    assert summarize_stages(result, "baseline") == ()
    assert compare_sides(CONTEST, result, Reference.BASELINE, adjusted_p=0.0) is None
    assert find_p_value(CONTEST, result) == 1.0
    assert [(each.reason, each.count) for each in count_left_out(marked)] == [("throttled", 16)]


def test_a_contest_of_one_compares_nothing() -> None:
    alone = replace(CONTEST, rival=None)
    result = make_result(1.0)

    assert compare_sides(alone, result, Reference.BASELINE, adjusted_p=0.0) is None
    assert find_p_value(alone, result) == 1.0
