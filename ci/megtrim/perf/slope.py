"""The time of an iteration where a program prints none: from runs of different lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRun:
    """One process: its iterations, and its wall time from start to end."""

    iterations: int
    wall_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatedTime:
    """An estimate of the time of one iteration, with its interval."""

    iteration_ms: float
    lower_ms: float
    upper_ms: float


def estimate_iteration(runs: Sequence[WholeRun], *, confidence: float = 0.95) -> EstimatedTime:
    """Fit the slope of wall time over iterations by Theil and Sen."""
    if len({run.iterations for run in runs}) < 2:
        msg = "a slope takes runs of at least two lengths"
        raise ValueError(msg)
    walls = [run.wall_ms for run in runs]
    fit = stats.theilslopes(walls, [run.iterations for run in runs], alpha=confidence)
    return EstimatedTime(
        iteration_ms=float(fit.slope), lower_ms=float(fit.low_slope), upper_ms=float(fit.high_slope)
    )
