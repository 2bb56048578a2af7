"""Sampling plans spend no more than they have."""

import numpy as np
import pytest
from scipy import stats

from megtrim.experiments.contest import SamplingPlan


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
