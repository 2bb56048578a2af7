"""After how many pairs to look, and how much of the error rate each look may spend."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

LOOKS = (12, 16, 24, 40)
"""Numbers of pairs after which a comparison is looked at; each look costs the last one power."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingPlan:
    """Looks fixed before the first run, and the error rate of all looks together."""

    looks: tuple[int, ...] = LOOKS
    alpha: float = 0.02

    def __post_init__(self) -> None:
        """Refuse a plan without increasing looks, or without an error rate."""
        if not self.looks or self.looks[0] < 1 or list(self.looks) != sorted(set(self.looks)):
            msg = f"looks must increase from at least 1, not {self.looks}"
            raise ValueError(msg)
        if not 0 < self.alpha < 1:
            msg = f"alpha must be between 0 and 1, not {self.alpha}"
            raise ValueError(msg)

    def level(self, look: int) -> float:
        """Return the two-sided level of the test at a look; the first look is 0."""
        return _levels(self.looks, self.alpha)[look]


@cache
def _levels(looks: tuple[int, ...], alpha: float) -> tuple[float, ...]:
    """Solve for the levels that spend alpha as O'Brien and Fleming do (Lan and DeMets).

    Statistics of two looks at n and m pairs, n below m, correlate by the root of n / m.
    """
    import numpy as np
    import scipy

    pairs = np.asarray(looks, dtype=float)
    correlation = np.sqrt(np.minimum.outer(pairs, pairs) / np.maximum.outer(pairs, pairs))
    quantile = scipy.stats.norm.isf(alpha / 2)
    spent = 2 * scipy.stats.norm.sf(quantile / np.sqrt(pairs / pairs[-1]))
    bounds: list[float] = []
    for look, goal in enumerate(spent):
        covariance = correlation[: look + 1, : look + 1]

        def excess(
            bound: float,
            covariance: np.ndarray = covariance,
            goal: float = goal,
        ) -> float:
            box = np.array([*bounds, bound])
            normal = scipy.stats.multivariate_normal(cov=covariance, seed=1)
            return float(1 - normal.cdf(box, lower_limit=-box) - goal)

        bounds.append(float(scipy.optimize.brentq(excess, 1.0, 9.0, xtol=1e-4)))
    return tuple(float(2 * scipy.stats.norm.sf(bound)) for bound in bounds)
