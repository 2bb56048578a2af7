"""Compares two contestants by interleaved pairs of processes.

The ratio's interval inverts the exact signed-rank test, for log ratios symmetric around their
median: "it excludes 1" is "the test rejects". What exceeds must also be different.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from megtrim.core.timing.spec import Criterion, TimeStage
from megtrim.core.timing.times import Answer, RatioResult, Reference, SamplesLeftOut, StageTime
from megtrim.libs.util.wording import count
from megtrim.times.experiments.contest import (
    Contest,
    ContestResult,
    Mark,
    Sample,
    SamplingPlan,
    plan_looks,
)

if TYPE_CHECKING:
    import numpy as np

MARGIN = 3.0
"""Thresholds that a change surely stays below where the answer to "more than one?" is no."""

Pair: TypeAlias = tuple[float, float]
"""The medians of two processes of one round, in milliseconds."""
_CONFIDENCE = 0.95
_FALSE_SHARE = 0.05
"""Share of false calls among all rows of a verdict that are called different."""

_MARKED: Mapping[Mark, str] = {
    Mark.THROTTLED: "the machine was throttled",
    Mark.BUSY: "the machine was busy",
    Mark.LOW_BATTERY: "the battery was low",
    Mark.DAMAGED_LOG: "the log was damaged",
}


def match_pairs(
    samples: Iterable[Sample], first: str, second: str, *, stage: TimeStage = TimeStage.INFERENCE
) -> list[Pair]:
    times: dict[tuple[int, str], float] = {}
    for sample in samples:
        time_ms = sample.time_ms(stage)
        if not sample.counts or time_ms is None:
            continue
        key = (sample.round_number, sample.contestant)
        if key in times:
            msg = f"two samples of {key[1]} in round {key[0]}"
            raise ValueError(msg)
        times[key] = time_ms
    rounds = sorted({number for number, _ in times})
    return [
        (times[number, first], times[number, second])
        for number in rounds
        if (number, first) in times and (number, second) in times
    ]


def compare(
    pairs: Sequence[Pair],
    criterion: Criterion,
    *,
    level: float,
    against: Reference = Reference.BASELINE,
    stage: TimeStage = TimeStage.INFERENCE,
) -> RatioResult:
    """``level``: two-sided, of the interval, and of each one-sided answer of `exceeds`: yes is more
    than threshold and floor, no is surely less than :data:`MARGIN` thresholds.
    """
    import numpy as np

    if not pairs:
        msg = "a comparison takes at least one pair"
        raise ValueError(msg)
    first, second = np.array(pairs).T
    logs = np.log(second / first)
    center, lower, upper = (math.exp(x) for x in estimate_shift(logs, level))
    _, lowest, highest = (math.exp(x) for x in estimate_shift(logs, 2 * level))
    typical_ms = float(np.median(first))
    floor = criterion.floor_ms / typical_ms
    excludes_one = not lower <= 1 <= upper
    threshold = 1 + max(criterion.threshold, floor)
    margin = 1 + max(MARGIN * criterion.threshold, floor)
    exceeds = Answer.INCONCLUSIVE
    # The way back from slower is its inverse.
    if excludes_one and (lowest > threshold or highest < 1 / threshold):
        exceeds = Answer.YES
    elif 1 / margin <= lowest and highest <= margin:
        exceeds = Answer.NO
    found = excludes_one and typical_ms * abs(center - 1) >= criterion.floor_ms
    return RatioResult(
        against=against,
        stage=stage,
        ratio=center,
        lower=lower,
        upper=upper if math.isfinite(upper) else None,
        pairs=len(pairs),
        different=judge_difference(exceeds, found=found),
        exceeds=exceeds,
    )


def judge_difference(exceeds: Answer, *, found: bool) -> Answer:
    """``found``: the interval excludes 1 and reaches the floor. What cannot count is none."""
    if found:
        return Answer.YES
    return Answer.NO if exceeds is Answer.NO else Answer.INCONCLUSIVE


def compare_at_looks(
    pairs: Sequence[Pair],
    criterion: Criterion,
    plan: SamplingPlan,
    *,
    against: Reference = Reference.BASELINE,
    stage: TimeStage = TimeStage.INFERENCE,
) -> RatioResult | None:
    """Return that of the first clear look, or of the last; None: too few pairs for the first."""
    result = None
    for look, wanted in enumerate(plan.looks):
        if wanted > len(pairs):
            break
        level = plan.level(look)
        result = compare(pairs[:wanted], criterion, level=level, against=against, stage=stage)
        if result.exceeds is not Answer.INCONCLUSIVE:
            break
    return result


def sequential_p_value(pairs: Sequence[Pair], plan: SamplingPlan) -> float:
    """Return a p-value of "not different" that holds over all looks, by Bonferroni."""
    import numpy as np
    import scipy

    logs = np.log([second / first for first, second in pairs])
    reached = [count for count in plan.looks if count <= len(logs)]
    values = [float(scipy.stats.wilcoxon(logs[:count]).pvalue) for count in reached]
    return min(1.0, len(plan.looks) * min(values, default=1.0))


def adjust_p_values(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values adjusted by Benjamini and Yekutieli, by name, sorted.

    It holds however comparisons depend on each other, as those of one device and baseline do.
    """
    import scipy

    names = sorted(p_values)
    if not names:
        return {}
    adjusted = scipy.stats.false_discovery_control([p_values[name] for name in names], method="by")
    return {name: float(value) for name, value in zip(names, adjusted, strict=True)}


def estimate_shift(values: np.ndarray, level: float) -> tuple[float, float, float]:
    import numpy as np

    rows, columns = np.triu_indices(len(values))
    averages = np.sort((values[rows] + values[columns]) / 2)
    critical = _critical_rank_sum(len(values), level)
    center = float(np.median(averages))
    if critical is None:
        return center, -math.inf, math.inf
    return center, float(averages[critical]), float(averages[-1 - critical])


@cache
def _critical_rank_sum(count: int, level: float) -> int | None:
    low = -1
    high = count * (count + 1) // 4
    while low < high:
        middle = (low + high + 1) // 2
        if _p_value(count, middle) <= level:
            low = middle
        else:
            high = middle - 1
    return None if low < 0 else low


def _p_value(count: int, rank_sum: int) -> float:
    import numpy as np
    import scipy

    values = -np.arange(1.0, count + 1)
    rest = rank_sum
    for rank in range(count, 0, -1):
        if rank <= rest:
            values[rank - 1] = rank
            rest -= rank
    return float(scipy.stats.wilcoxon(values, method="exact").pvalue)


def summarize_stages(result: ContestResult, contestant: str) -> tuple[StageTime, ...]:
    import scipy

    mine = [each for each in result.samples if each.contestant == contestant and each.counts]
    found = []
    for stage in TimeStage:
        times_ms = []
        processes = 0
        for sample in mine:
            time_ms = sample.time_ms(stage)
            if time_ms is not None:
                times_ms.append(time_ms)
                processes += sample.processes
        if not times_ms:
            continue
        median_ms = statistics.median(times_ms)
        # By the ranks of the times; NaN where they are too few.
        test = scipy.stats.quantile_test(times_ms, q=0, p=0.5)
        low, high = map(float, test.confidence_interval(_CONFIDENCE))
        spread = float(scipy.stats.median_abs_deviation(times_ms, scale="normal"))
        lower_ms = min(low, median_ms) if math.isfinite(low) else 0.0
        upper_ms = max(high, median_ms) if math.isfinite(high) else None
        time = StageTime(
            stage=stage,
            median_ms=median_ms,
            lower_ms=lower_ms,
            upper_ms=upper_ms,
            processes=processes,
            spread=spread / median_ms,
            by_run_length=result.by_run_length,
        )
        found.append(time)
    return tuple(found)


def compare_sides(
    contest: Contest, result: ContestResult, against: Reference, *, adjusted_p: float
) -> RatioResult | None:
    """Of the rival's iterations or whole runs to the reference's; None without any pair."""
    pairs = match_sides(contest, result.samples)
    if not pairs:
        return None
    plan = plan_looks(contest.budget)
    stage = contest.stage
    seen = compare_at_looks(pairs, contest.criterion, plan, against=against, stage=stage)
    if seen is None:
        level = plan.level(0)
        seen = compare(pairs, contest.criterion, level=level, against=against, stage=stage)
        seen = replace(seen, exceeds=Answer.INCONCLUSIVE)
    found = seen.different is Answer.YES and adjusted_p <= _FALSE_SHARE
    return replace(seen, different=judge_difference(seen.exceeds, found=found))


def find_p_value(contest: Contest, result: ContestResult) -> float:
    pairs = match_sides(contest, result.samples)
    return sequential_p_value(pairs, plan_looks(contest.budget)) if pairs else 1.0


def count_left_out(samples: Iterable[Sample]) -> tuple[SamplesLeftOut, ...]:
    counts = Counter(str(mark) for sample in samples for mark in sample.marks)
    return tuple(SamplesLeftOut(reason=reason, count=counts[reason]) for reason in sorted(counts))


def describe_left_out(samples: Sequence[Sample]) -> str:
    counts: Counter[Mark] = Counter()
    for sample in samples:
        counts.update(dict.fromkeys(sample.marks, sample.processes))
    of = f"of {count(sum(each.processes for each in samples), 'process', 'processes')}"
    return ", ".join(f"{_MARKED[mark]} in {counts[mark]} {of}" for mark in Mark if counts[mark])


def match_sides(contest: Contest, samples: Iterable[Sample]) -> Sequence[Pair]:
    """Return none where the reference is alone."""
    if contest.rival is None:
        return ()
    first = contest.reference.name
    return match_pairs(samples, first, contest.rival.name, stage=contest.stage)
