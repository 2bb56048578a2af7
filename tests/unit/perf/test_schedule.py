"""Schedules are balanced and repeatable."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.perf.schedule import plan_turns


@given(st.integers(2, 8), st.integers(0, 2**32))
def test_positions_and_neighbours_are_balanced(count: int, seed: int) -> None:
    """Over one cycle each contestant is equally often in each place and after each other one."""
    names = [f"c{index}" for index in range(count)]
    rounds = count if count % 2 == 0 else 2 * count
    turns = plan_turns(names, rounds, cpus=[0, 1], seed=seed)
    places = Counter((turn.contestant, turn.position) for turn in turns)
    followers = Counter(
        (before.contestant, after.contestant)
        for before, after in pairwise(turns)
        if before.round_number == after.round_number
    )
    assert len(places) == count * count
    assert len(set(places.values())) == 1
    assert len(followers) == count * (count - 1)
    assert len(set(followers.values())) == 1


def test_equal_seeds_give_equal_turns() -> None:
    """The order of the names does not matter; the seed does."""
    turns = plan_turns(["a", "b"], 20, cpus=[0, 1], seed=1)
    assert turns == plan_turns(["b", "a"], 20, cpus=[0, 1], seed=1)
    assert turns != plan_turns(["a", "b"], 20, cpus=[0, 1], seed=2)


def test_a_round_stays_on_one_cpu() -> None:
    """Both sides of a pair meet the same CPU, and all CPUs are used equally."""
    turns = plan_turns(["a", "b"], 40, cpus=[0, 1], seed=1)
    assert len({(turn.round_number, turn.cpu) for turn in turns}) == 40
    assert Counter(turn.cpu for turn in turns) == {0: 40, 1: 40}
    assert len({turn.padding_bytes for turn in turns}) > 40


def test_contestants_are_distinct() -> None:
    """A name twice would pair a process with itself."""
    with pytest.raises(ValueError, match="distinct"):
        plan_turns(["a", "a"], 1, cpus=[0], seed=1)
