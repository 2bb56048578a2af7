import math
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from megtrim.core.timing.spec import (
    SEARCH_ROUNDS,
    ContestBudget,
    Criterion,
    PerformanceStatus,
    TimeStage,
)
from megtrim.core.timing.times import Answer, Reference
from megtrim.times.comparison import (
    Pair,
    adjust_p_values,
    compare,
    compare_at_looks,
    compare_sides,
    count_left_out,
    estimate_shift,
    find_p_value,
    match_pairs,
    sequential_p_value,
    summarize_stages,
)
from megtrim.times.experiments.contest import ContestResult, Mark, Sample, SamplingPlan, plan_looks
from megtrim.times.measuring.timing_runs import plan_turns
from unit.times.experiments.test_contest import CONTEST

PLAN = SamplingPlan(looks=(16, 40))
EIGHT = plan_looks(ContestBudget(rounds=SEARCH_ROUNDS))
TIMES = st.floats(min_value=1, max_value=100)
PAIRS = st.lists(st.tuples(TIMES, TIMES), min_size=8, max_size=30)


def noisy_pairs(ratio: float, spread: float = 0.005, count: int = 40, seed: int = 3) -> list[Pair]:
    generator = random.Random(seed)
    return [
        (
            10 * math.exp(generator.gauss(0, spread)),
            10 * ratio * math.exp(generator.gauss(0, spread)),
        )
        for _ in range(count)
    ]


def make_samples(rounds: int = 4, *, mark_round: int | None = None) -> list[Sample]:
    return [
        Sample(
            contestant=name,
            round_number=number,
            position=position,
            iterations_ms=(number + position + 1.0,),
            marks=(Mark.BUSY,) if number == mark_round and name == "a" else (),
        )
        for number in range(rounds)
        for position, name in enumerate("ab")
    ]


@given(st.integers(8, 40), st.sampled_from([0.5, 0.1, 0.02]), st.integers(0, 2**16))
def test_the_interval_inverts_the_test(count: int, level: float, seed: int) -> None:
    """The interval excludes 0 exactly where scipy's exact test rejects."""
    values = np.random.default_rng(seed).normal(0.4, 1, count)
    _, lower, upper = estimate_shift(values, level)
    rejects = stats.wilcoxon(values, method="exact").pvalue <= level
    assert (not lower <= 0 <= upper) == rejects


@given(PAIRS, st.sampled_from([0.25, 2.0, 1024.0]))
def test_scale_changes_no_answer(pairs: list[Pair], scale: float) -> None:
    scaled = [(first * scale, second * scale) for first, second in pairs]
    before = compare(pairs, Criterion(), level=0.05)
    after = compare(scaled, Criterion(), level=0.05)
    assert (before.ratio, before.different) == (after.ratio, after.different)
    assert before.exceeds is after.exceeds


@given(PAIRS, st.randoms())
def test_the_order_of_pairs_does_not_matter(pairs: list[Pair], shuffler: random.Random) -> None:
    shuffled = list(pairs)
    shuffler.shuffle(shuffled)
    criterion = Criterion()
    assert compare(pairs, criterion, level=0.05) == compare(shuffled, criterion, level=0.05)


@given(PAIRS, st.floats(min_value=1.01, max_value=2))
def test_a_slower_second_never_lowers_the_interval(pairs: list[Pair], factor: float) -> None:
    slowed = [(first, second * factor) for first, second in pairs]
    before = compare(pairs, Criterion(), level=0.05)
    after = compare(slowed, Criterion(), level=0.05)
    assert after.ratio > before.ratio
    assert after.lower > before.lower
    assert (after.upper or math.inf) >= (before.upper or math.inf)


@pytest.mark.parametrize(
    ("pairs", "criterion", "different", "exceeds"),
    [
        # Two questions, two answers.
        (noisy_pairs(1.005, 0.001), Criterion(threshold=0.01), {Answer.YES}, Answer.NO),
        # 5% of 10 ms is 0.5 ms; a floor of 1 ms hides it from both answers.
        (noisy_pairs(1.05), Criterion(floor_ms=1.0), {*Answer} - {Answer.YES}, Answer.NO),
    ],
    ids=["two questions", "below the floor"],
)
def test_two_questions_have_two_answers(
    pairs: list[Pair], criterion: Criterion, different: set[Answer], exceeds: Answer
) -> None:
    result = compare(pairs, criterion, level=0.02)
    assert result.different in different
    assert result.exceeds is exceeds
    # No means less than three thresholds.
    loose = compare(noisy_pairs(1.002, 0.03), Criterion(threshold=0.01), level=0.02)
    assert (loose.exceeds, loose.lower < 1 / 1.01) == (Answer.NO, True)


@pytest.mark.parametrize(
    ("ratio", "spread", "plan", "pairs", "exceeds"),
    [
        # A clear change stops early, an unclear one is inconclusive at the last look.
        *((ratio, 0.005, PLAN, 16, Answer.YES) for ratio in (1.05, 1 / 1.05)),
        (1.02, 0.08, PLAN, 40, Answer.INCONCLUSIVE),
        # Eight pairs answer what is plain.
        (0.7, 0.03, EIGHT, 8, Answer.YES),
        (1.0, 0.003, EIGHT, 8, Answer.NO),
        (1.0, 0.03, EIGHT, 8, Answer.INCONCLUSIVE),
    ],
)
def test_looks_end_where_the_answer_is_plain(
    ratio: float, spread: float, plan: SamplingPlan, pairs: int, exceeds: Answer
) -> None:
    count = 8 if plan is EIGHT else 40
    seen = compare_at_looks(noisy_pairs(ratio, spread, count), Criterion(), plan)

    assert seen is not None
    assert (seen.pairs, seen.exceeds) == (pairs, exceeds)
    assert seen.different is Answer.YES or exceeds is not Answer.YES


@given(PAIRS, st.sampled_from([0.01, 0.05]))
def test_what_exceeds_is_different(pairs: list[Pair], level: float) -> None:
    result = compare(pairs, Criterion(), level=level)
    assert result.different is Answer.YES or result.exceeds is not Answer.YES


@pytest.mark.parametrize(("ratio", "answers"), [(1.0, Answer.NO), (1.03, Answer.YES)])
def test_equal_and_slower_programs_are_distinguished(ratio: float, answers: Answer) -> None:
    """Where processes differ by 3%: at most 5% open without a change, at least 75% of 3% found."""
    found = []
    for seed in range(100):
        pairs = noisy_pairs(ratio, spread=0.03, seed=seed)
        result = compare_at_looks(pairs, Criterion(), SamplingPlan())
        assert result is not None
        found.append(result.exceeds)
    # 96.4% and 76.0% of 40,000; the bounds are three standard deviations of 100 below.
    assert found.count(answers) / len(found) > {Answer.NO: 0.90, Answer.YES: 0.63}[answers]


def test_few_pairs_give_no_interval_and_no_answer() -> None:
    result = compare(noisy_pairs(2.0, count=3), Criterion(), level=0.02)
    assert (result.lower, result.upper) == (0, None)
    assert (result.different, result.exceeds) == (Answer.INCONCLUSIVE, Answer.INCONCLUSIVE)
    assert compare_at_looks(noisy_pairs(2.0, count=3), Criterion(), PLAN) is None
    assert sequential_p_value(noisy_pairs(1.0, count=3), PLAN) == 1


def test_a_marked_sample_drops_its_pair_and_two_of_a_round_are_refused() -> None:
    expected = [p for n, p in enumerate(match_pairs(make_samples(), "a", "b")) if n != 2]
    marked = make_samples(mark_round=2)
    assert match_pairs(marked, "a", "b") == expected
    assert match_pairs(marked[::-1], "a", "b") == expected
    with pytest.raises(ValueError, match="two samples of a in round 0"):
        match_pairs([*make_samples(), make_samples()[0]], "a", "b")


def test_p_values_survive_their_looks_and_grow_with_their_number() -> None:
    """Bonferroni over looks keeps a clear change clear."""
    assert sequential_p_value(noisy_pairs(1.05), PLAN) < 1e-6
    first = PLAN.looks[0]
    alike = sequential_p_value(noisy_pairs(1.5, count=first), PLAN)
    assert alike == pytest.approx(len(PLAN.looks) * 2 / 2**first)
    adjusted = adjust_p_values({"c": 0.5, "a": 0.001, "b": 0.02})
    expected = (0.001 * 3 / 1 * 11 / 6, 0.02 * 3 / 2 * 11 / 6, 0.5 * 3 / 3 * 11 / 6)
    assert list(adjusted) == ["a", "b", "c"]
    assert tuple(adjusted.values()) == pytest.approx(expected)
    assert adjust_p_values({}) == {}


@given(st.integers(2, 8), st.integers(0, 2**32))
def test_a_round_has_each_contestant_once(count: int, seed: int) -> None:
    names = [f"c{index}" for index in range(count)]
    turns = plan_turns(names, 3, cpus=[0, 1], seed=seed)
    for number in range(3):
        row = [turn for turn in turns if turn.round_number == number]
        assert sorted(turn.contestant for turn in row) == names
        assert [turn.position for turn in row] == list(range(count))


def test_what_a_place_costs_makes_no_difference() -> None:
    """An equal program whose time depends on round, place and CPU is seldom called different.

    The first process after a change of CPU is a tenth slower, and the machine drifts. In a design
    that repeats, one of the two would bear all of it.
    """
    called = 0
    for seed in range(300):
        times: dict[int, dict[str, float]] = {}
        last: tuple[int, ...] = ()
        for turn in plan_turns(["a", "b"], 24, cpus=[0, 1], seed=seed):
            costs = (1.1 if turn.cpus != last else 1.0) * (1 + 0.001 * turn.round_number**2)
            times.setdefault(turn.round_number, {})[turn.contestant] = 10 * costs
            last = turn.cpus
        pairs = [(each["a"], each["b"]) for each in times.values()]
        called += compare(pairs, Criterion(), level=0.02).different is Answer.YES
    assert called <= 12  # of 300, at 2%: 6; more than 12 in 1 of 100 seeds


def test_equal_seeds_give_equal_turns_of_distinct_contestants() -> None:
    turns = plan_turns(["a", "b"], 20, cpus=[0, 1], seed=1)
    assert turns == plan_turns(["b", "a"], 20, cpus=[0, 1], seed=1)
    assert turns != plan_turns(["a", "b"], 20, cpus=[0, 1], seed=2)
    with pytest.raises(ValueError, match="distinct"):
        plan_turns(["a", "a"], 1, cpus=[0], seed=1)


def test_a_round_stays_on_one_cpu_or_on_neighbours() -> None:
    turns = plan_turns(["a", "b"], 40, cpus=[0, 1], seed=1)
    assert len({(turn.round_number, turn.cpus) for turn in turns}) == 40
    assert Counter(turn.cpus for turn in turns) == {(0,): 40, (1,): 40}
    assert len({turn.padding_bytes for turn in turns}) > 40
    turns = plan_turns(["a", "b"], 8, cpus=[4, 5, 6, 7], width=2, seed=1)
    assert Counter(turn.cpus for turn in turns) == {(4, 5): 4, (5, 6): 4, (6, 7): 4, (4, 7): 4}
    few = plan_turns(["a", "b"], 8, cpus=[0, 1], width=2, seed=1)
    assert {turn.cpus for turn in few} == {()}


def make_result(ratio: float, *, rounds: int = 40) -> ContestResult:
    noise = random.Random(1)
    contestants = (("baseline", 10.0), ("fast-run-cache", 10 * ratio))
    samples = []
    for sample in make_samples(rounds):
        contestant, time_ms = contestants[sample.position]
        timed = replace(
            sample,
            contestant=contestant,
            prepare_ms=1.0,
            warm_ups_ms=(3.0, 2.0),
            iterations_ms=(time_ms * noise.uniform(0.998, 1.002),),
        )
        samples.append(timed)
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


def test_a_difference_counts_among_all_comparisons_and_one_side_has_none() -> None:
    result = make_result(1.2)
    seen = compare_sides(CONTEST, result, Reference.BASELINE, adjusted_p=0.5)

    assert seen is not None
    assert (seen.different, seen.exceeds) == (Answer.INCONCLUSIVE, Answer.YES)
    alone = replace(CONTEST, rival=None)
    assert compare_sides(alone, result, Reference.BASELINE, adjusted_p=0.0) is None
    assert find_p_value(alone, result) == 1.0


def test_times_have_intervals_and_spreads_but_of_few_processes_no_ends() -> None:
    times = summarize_stages(make_result(1.2), "fast-run-cache")

    assert [each.stage for each in times] == [
        TimeStage.PREPARE,
        TimeStage.WARM_UP,
        TimeStage.SECOND_WARM_UP,
        TimeStage.INFERENCE,
    ]
    inference = times[-1]
    assert inference.processes == 40
    assert inference.upper_ms is not None
    assert inference.lower_ms < inference.median_ms < inference.upper_ms
    assert inference.median_ms == pytest.approx(12.0, rel=0.01)
    assert 0 < inference.spread < 0.002
    assert times[0].spread == 0
    (*_, few) = summarize_stages(make_result(1.0, rounds=5), "baseline")
    assert (few.lower_ms, few.upper_ms) == (0.0, None)


def test_marked_samples_are_counted_and_left_out() -> None:
    result = make_result(1.2, rounds=8)
    marked = tuple(replace(each, marks=(Mark.THROTTLED,)) for each in result.samples)
    result = replace(result, samples=marked)

    assert summarize_stages(result, "baseline") == ()
    assert compare_sides(CONTEST, result, Reference.BASELINE, adjusted_p=0.0) is None
    assert find_p_value(CONTEST, result) == 1.0
    assert [(each.reason, each.count) for each in count_left_out(marked)] == [("throttled", 16)]
