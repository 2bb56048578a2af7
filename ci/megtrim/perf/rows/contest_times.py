"""From the samples of a contest to times with intervals, and to the comparison of its sides.

Samples that are marked count in nothing.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from megtrim.experiments.contest import Contest, ContestResult, Mark, Sample
from megtrim.experiments.experiment import TimeStage
from megtrim.perf.comparison import (
    Pair,
    compare,
    compare_at_looks,
    judge_difference,
    match_pairs,
    sequential_p_value,
)
from megtrim.perf.times import Answer, RatioResult, Reference, SamplesLeftOut, StageTime
from megtrim.util.wording import count

_CONFIDENCE = 0.95
_FALSE_SHARE = 0.05
"""Share of false calls among all rows of a verdict that are called different."""

_MARKED: Mapping[Mark, str] = {
    Mark.THROTTLED: "the machine was throttled",
    Mark.BUSY: "the machine was busy",
    Mark.LOW_BATTERY: "the battery was low",
    Mark.DAMAGED_LOG: "the log was damaged",
}


def summarize_stages(result: ContestResult, contestant: str) -> tuple[StageTime, ...]:
    mine = [each for each in result.samples if each.contestant == contestant and each.counts]
    found = {
        stage: [time_ms for sample in mine if (time_ms := sample.time_ms(stage)) is not None]
        for stage in TimeStage
    }
    return tuple(
        _summarize(stage, times_ms, by_run_length=result.by_run_length)
        for stage, times_ms in found.items()
        if times_ms
    )


def compare_sides(
    contest: Contest, result: ContestResult, against: Reference, *, adjusted_p: float
) -> RatioResult | None:
    """Of the rival's iterations to the reference's; None without any pair.

    ``adjusted_p``: that of :func:`find_p_value`, adjusted for all rows of the verdict.
    """
    pairs = _pairs_of(contest, result)
    if not pairs:
        return None
    plan = contest.budget.plan
    seen = compare_at_looks(pairs, contest.criterion, plan, against=against)
    if seen is None:
        seen = compare(pairs, contest.criterion, level=plan.level(0), against=against)
        seen = replace(seen, exceeds=Answer.INCONCLUSIVE)
    found = seen.different is Answer.YES and adjusted_p <= _FALSE_SHARE
    return replace(seen, different=judge_difference(seen.exceeds, found=found))


def find_p_value(contest: Contest, result: ContestResult) -> float:
    pairs = _pairs_of(contest, result)
    return sequential_p_value(pairs, contest.budget.plan) if pairs else 1.0


def count_left_out(samples: Iterable[Sample]) -> tuple[SamplesLeftOut, ...]:
    counts = Counter(str(mark) for sample in samples for mark in sample.marks)
    return tuple(SamplesLeftOut(reason=reason, count=counts[reason]) for reason in sorted(counts))


def describe_left_out(samples: Sequence[Sample]) -> str:
    counts = Counter(mark for sample in samples for mark in sample.marks)
    of = f"of {count(len(samples), 'process', 'processes')}"
    return ", ".join(f"{_MARKED[mark]} in {counts[mark]} {of}" for mark in Mark if counts[mark])


def _pairs_of(contest: Contest, result: ContestResult) -> Sequence[Pair]:
    if contest.rival is None:
        return ()
    names = contest.reference.name, contest.rival.name
    return match_pairs(result.samples, *names, TimeStage.INFERENCE)


def _summarize(stage: TimeStage, times_ms: Sequence[float], *, by_run_length: bool) -> StageTime:
    import scipy

    median_ms = statistics.median(times_ms)
    low, high = _interval(times_ms)
    return StageTime(
        stage=stage,
        median_ms=median_ms,
        lower_ms=min(low, median_ms) if math.isfinite(low) else 0.0,
        upper_ms=max(high, median_ms) if math.isfinite(high) else None,
        processes=len(times_ms),
        spread=float(scipy.stats.median_abs_deviation(times_ms, scale="normal")) / median_ms,
        by_run_length=by_run_length,
    )


def _interval(times_ms: Sequence[float]) -> tuple[float, float]:
    import numpy as np
    import scipy

    test = scipy.stats.quantile_test(np.asarray(times_ms), q=0, p=0.5)
    interval = test.confidence_interval(_CONFIDENCE)
    return float(interval.low), float(interval.high)
