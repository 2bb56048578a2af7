"""Races: who leaves, when they end, and how seldom the fastest leaves."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from itertools import pairwise

import pytest

from megtrim.perf.samples import Mark, Sample
from megtrim.perf.schedule import Turn
from megtrim.perf.tuning.racing import (
    MOST_RUNS,
    STAGES,
    RaceEnd,
    RaceStage,
    Retired,
    race,
    rank,
)

TIMES = {"a": 10.0, "b": 10.9, "c": 12.0, "d": 15.0}


def timer(
    times: Mapping[str, float], *, spread: float, seed: int
) -> Callable[[Turn], Sample | Retired]:
    """Return who takes noisy times, on a machine that drifts."""
    generator = random.Random(seed)

    def take(turn: Turn) -> Sample | Retired:
        drift = 1 + 0.02 * turn.round_number
        time_ms = times[turn.contestant] * drift * math.exp(generator.gauss(0, spread))
        return make_sample(turn, time_ms)

    return take


def make_sample(turn: Turn, time_ms: float, *marks: Mark) -> Sample:
    return Sample(
        contestant=turn.contestant,
        round_number=turn.round_number,
        position=turn.position,
        iterations_ms=(time_ms,),
        marks=marks,
    )


def test_the_fastest_wins_and_others_leave_when_it_is_sure() -> None:
    """The slowest leave first, each surely slower than the leader; the rest is not run."""
    stages: list[RaceStage] = []
    take = timer(TIMES, spread=0.03, seed=1)
    found = race(list(TIMES), take, cpus=[0], seed=1, report=stages.append)
    assert (found.winner, found.end) == ("a", RaceEnd.ONE_LEFT)
    assert tuple(stages) == found.stages
    left = [each for stage in stages for each in stage.left]
    assert {each.contestant for each in left} == {"b", "c", "d"}
    assert left[-1].contestant == "b"
    assert all(each.lower > 1 for each in left)
    rounds = [0, *(stage.rounds for stage in stages)]
    assert found.runs == sum(
        (after - before) * (len(stage.left) + len(stage.remaining))
        for stage, (before, after) in zip(stages, pairwise(rounds), strict=True)
    )


def test_equal_arguments_give_equal_races() -> None:
    """The order of names does not matter; the seed does."""
    forward = race(list(TIMES), timer(TIMES, spread=0.03, seed=1), cpus=[0], seed=1)
    backward = race(list(TIMES)[::-1], timer(TIMES, spread=0.03, seed=1), cpus=[0], seed=1)
    other = race(list(TIMES), timer(TIMES, spread=0.03, seed=1), cpus=[0], seed=2)
    assert forward == backward
    assert forward != other


def test_among_equals_it_ends_when_it_does_not_matter() -> None:
    """No one within noise leaves; the race ends as soon as 2% are excluded."""
    found = race(
        list("abc"), timer(dict.fromkeys("abc", 5.0), spread=0.004, seed=1), cpus=[0], seed=1
    )
    assert found.end is RaceEnd.CLOSE
    assert len(found.stages[-1].remaining) == 3
    assert found.stages[-1].rounds < STAGES[-1]


def test_a_race_that_cannot_be_decided_stops_at_its_share_of_runs() -> None:
    """With much noise among equals, no more than a third of all runs are made."""
    names = [f"c{number}" for number in range(10)]
    take = timer(dict.fromkeys(names, 5.0), spread=0.2, seed=1)
    found = race(names, take, cpus=[0], seed=1)
    assert found.end is RaceEnd.RUNS
    assert found.runs <= MOST_RUNS * len(names) * STAGES[-1]


def test_the_fastest_seldom_leaves() -> None:
    """Of 100 races of ten who differ by 1% each, at most 5% lose the fastest by mistake."""
    times = {f"c{number}": 10 * 1.01**number for number in range(10)}
    lost = 0
    for seed in range(100):
        found = race(list(times), timer(times, spread=0.02, seed=seed), cpus=[0], seed=seed)
        lost += any(each.contestant == "c0" for stage in found.stages for each in stage.left)
    assert lost <= 5


def test_one_slow_process_does_not_decide() -> None:
    """The fastest has one process of twice the time, and still wins."""
    steady = timer(TIMES, spread=0.01, seed=3)

    def take(turn: Turn) -> Sample | Retired:
        taken = steady(turn)
        assert isinstance(taken, Sample)
        slow = turn.contestant == "a" and turn.round_number == 1
        return make_sample(turn, 2 * taken.iterations_ms[0]) if slow else taken

    assert race(list(TIMES), take, cpus=[0], seed=3).winner == "a"


def test_who_fails_leaves_with_the_reason() -> None:
    """A crash in the middle costs its contestant, not the race."""
    steady = timer(TIMES, spread=0.01, seed=1)

    def take(turn: Turn) -> Sample | Retired:
        failed = turn.contestant == "a" and turn.round_number == 2
        return Retired(reason="it ended with 139") if failed else steady(turn)

    found = race(list(TIMES), take, cpus=[0], seed=1)
    assert found.winner == "b"
    assert "it ended with 139" in [each.reason for stage in found.stages for each in stage.left]


def test_marked_samples_do_not_count() -> None:
    """One whose samples are all marked has no place, and cannot win or be called slower."""
    steady = timer(TIMES, spread=0.01, seed=1)

    def take(turn: Turn) -> Sample | Retired:
        return make_sample(turn, 1.0, Mark.THROTTLED) if turn.contestant == "d" else steady(turn)

    found = race(list(TIMES), take, cpus=[0], seed=1)
    assert found.winner == "a"
    assert "d" not in [each.contestant for stage in found.stages for each in stage.left]


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_a_budget_ends_it_before_a_round(rounds: int) -> None:
    """What was seen until then is ranked; none leaves for that."""
    asked = iter([True] * rounds + [False])
    found = race(
        ["a", "b"],
        timer({"a": 5, "b": 5}, spread=0.2, seed=1),
        cpus=[0],
        seed=1,
        goes_on=lambda: next(asked),
    )
    assert found.end is RaceEnd.BUDGET
    assert found.runs == 2 * rounds
    assert found.winner in ("a", "b")
    assert found.stages[-1].rounds <= max(rounds, 0)


def test_a_race_takes_contestants() -> None:
    with pytest.raises(ValueError, match="takes contestants"):
        race([], timer({}, spread=0, seed=1), cpus=[0], seed=1)


def test_ranks_need_two_times() -> None:
    """Of one time nothing can be said: it stands last, surely above nothing."""
    logs = {"a": {0: 0.0, 1: 0.1, 2: 0.0}, "b": {0: 0.5, 1: 0.6, 2: 0.5}, "c": {0: -9.0}}
    standings = rank(logs)
    assert [each.contestant for each in standings] == ["a", "b", "c"]
    assert standings[1].ratio == pytest.approx(math.exp(0.5))
    assert (standings[2].ratio, standings[2].lower) == (math.inf, 0)
