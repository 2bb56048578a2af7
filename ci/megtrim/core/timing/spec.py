"""How long programs are timed, which difference counts, and how a row of times may end. Pure."""

import math
from enum import StrEnum
from functools import cache

from megtrim.libs.util.value import Value

LOOKS = (12, 16, 24, 40)
"""Numbers of pairs after which a comparison is looked at; each look costs the last one power."""
FEWEST_ROUNDS = LOOKS[0]
MOST_ROUNDS = 400
SEARCH_ROUNDS = 8
"""Where each process searches: seven pairs must all agree, of eight one may disagree a little."""
_ALPHA = 0.02
"""Error rate of all looks together."""


class TimeStage(StrEnum):
    PREPARE = "prepare"
    """From the loaded model to the first run (配置)."""
    WARM_UP = "warm-up"
    """The first run that does not count (预热)."""
    SECOND_WARM_UP = "second-warm-up"
    """The first that computes, where the first warm-up of all is a fake one."""
    INFERENCE = "inference"
    """One iteration (推理)."""


class PerformanceStatus(StrEnum):
    """How a row ended; a contest alone is measured, has failed, or has wrong outputs."""

    MEASURED = "measured"
    SKIPPED = "skipped"
    FAILED = "failed"
    INFRASTRUCTURE = "infrastructure"
    INCONCLUSIVE = "inconclusive"
    REGRESSED = "regressed"
    WRONG_OUTPUTS = "wrong-outputs"

    @property
    def has_times(self) -> bool:
        return self in (self.MEASURED, self.INCONCLUSIVE, self.REGRESSED)


class SamplingPlan(Value):
    looks: tuple[int, ...] = LOOKS

    def __post_init__(self) -> None:
        if not self.looks or self.looks[0] < 1 or list(self.looks) != sorted(set(self.looks)):
            msg = f"looks must increase from at least 1, not {self.looks}"
            raise ValueError(msg)

    def level(self, look: int) -> float:
        return _levels(self.looks)[look]


@cache
def _levels(looks: tuple[int, ...]) -> tuple[float, ...]:
    """Solve for the levels that spend alpha as O'Brien and Fleming do (Lan and DeMets).

    Statistics of two looks at n and m pairs, n below m, correlate by the root of n / m.
    """
    import numpy as np
    import scipy

    pairs = np.asarray(looks, dtype=float)
    correlation = np.sqrt(np.minimum.outer(pairs, pairs) / np.maximum.outer(pairs, pairs))
    quantile = scipy.stats.norm.isf(_ALPHA / 2)
    spent = 2 * scipy.stats.norm.sf(quantile / np.sqrt(pairs / pairs[-1]))
    bounds: list[float] = []
    for look, goal in enumerate(spent):
        covariance = correlation[: look + 1, : look + 1]

        def excess(bound: float, covariance: np.ndarray = covariance, goal: float = goal) -> float:
            box = np.array([*bounds, bound])
            normal = scipy.stats.multivariate_normal(cov=covariance, seed=1)
            return float(1 - normal.cdf(box, lower_limit=-box) - goal)

        bounds.append(float(scipy.optimize.brentq(excess, 1.0, 9.0, xtol=1e-4)))
    return tuple(float(2 * scipy.stats.norm.sf(bound)) for bound in bounds)


class Criterion(Value):
    """What counts as a change: a share such as 0.01, and a floor in milliseconds."""

    threshold: float = 0.01
    floor_ms: float = 0.0
    other_load: float = 1.0
    """Share of all CPUs' time above which other programs disturb a time; 1: never."""

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1 or not 0 <= self.floor_ms < math.inf:
            msg = f"no criterion: {self.threshold=}, {self.floor_ms=}"
            raise ValueError(msg)
        if not 0 < self.other_load <= 1:
            msg = f"no criterion: {self.other_load=}"
            raise ValueError(msg)


class ContestBudget(Value):
    rounds: int = LOOKS[-1]
    limit_s: float | None = None

    def __post_init__(self) -> None:
        if not SEARCH_ROUNDS <= self.rounds <= MOST_ROUNDS:
            msg = f"found {self.rounds} rounds, expected {SEARCH_ROUNDS} to {MOST_ROUNDS}"
            raise ValueError(msg)
        if self.limit_s is not None and not self.limit_s > 0:
            msg = f"found a budget of {self.limit_s} s, expected more than 0"
            raise ValueError(msg)

    @property
    def plan(self) -> SamplingPlan:
        looks = (*(look for look in LOOKS if look < self.rounds), self.rounds)
        return SamplingPlan(looks=looks)
