"""Series of nights, and their change points: from which night on times are on another level.

Another device, or another way of measuring, begins a series of its own: what it changes is no
change of the program. Times are compared as ratios, so everything is computed on logarithms:

1. Nights far from their neighbours, one or two in a row, are replaced by the median around them.
2. ruptures' PELT proposes changes, each with at least :data:`SHORTEST` nights on both sides.
3. A change stays only if two tests of the nights before and after it say so, Student's and that
   of Mann and Whitney (scipy), corrected for the number of nights on which it could have
   happened, and for neighbouring nights that resemble each other.
4. If a slope describes the nights better than steps do, there is a drift, which has no date.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.lib.stride_tricks import sliding_window_view

from megtrim.core.timing.spec import TimeStage
from megtrim.core.verdict.performance import Point
from megtrim.libs.util.value import Value
from megtrim.times.nights.history import HistoryRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEWEST_NIGHTS = 14
"""Below this there is no history to compare with."""
SHORTEST = 5
"""Nights on each side of a change."""
_FALSE_BY_MEAN = 0.01
_FALSE_BY_RANK = 0.05
"""Share of quiet series in which a test may find a change."""
_SMALLEST_P = 1e-300
_OUTLIER_SCALES = 4.0
_NEIGHBOURHOOD = 7
"""Nights whose median replaces an outlier: two in a row are no majority of it."""
_PENALTY = 3.0
_MOST_ALIKE = 0.6
_SHORTEST_DRIFT = 15
_RAMP_STEP = 5
_DRIFT_PARAMETERS = 4
_STEP_PARAMETERS = 3
"""For each step: its size, and its place, which is chosen among many."""
_DRIFT_MARGIN = 6.0
_STAIRS_MARGIN = 0.0
"""By how much (BIC) a slope must describe the nights better than steps; less than for one step
or a repaired one where steps lead up or down a stair, as those that imitate a slope do."""
_DATE_CONFIDENCE = 0.99
_SMALLEST_NOISE = 1e-9


class Pattern(StrEnum):
    QUIET = "quiet"
    CHANGED = "changed"
    DRIFT = "drift"
    TOO_SHORT = "not enough history"


class Direction(StrEnum):
    SLOWER = "slower"
    FASTER = "faster"


class Change(Value):
    first: int
    last_good: int
    first_bad: int
    """The change lies after ``last_good``, and at ``first_bad`` at the latest, with about 95 %."""
    ratio: float
    lower: float
    upper: float
    """New level over old level, with its interval (95 %)."""

    @property
    def direction(self) -> Direction:
        return Direction.SLOWER if self.ratio > 1 else Direction.FASTER


class Findings(Value):
    pattern: Pattern
    nights: int
    missing: int = 0
    changes: tuple[Change, ...] = ()
    drift_ratio: float = 1.0
    """Level at the end over level at the start."""

    @property
    def drift(self) -> Direction | None:
        if self.pattern is not Pattern.DRIFT:
            return None
        return Direction.SLOWER if self.drift_ratio > 1 else Direction.FASTER


def find_changes(times_ms: Sequence[float]) -> Findings:
    """Times are in milliseconds, above 0, oldest night first."""
    nights = len(times_ms)
    if nights < FEWEST_NIGHTS:
        missing = FEWEST_NIGHTS - nights
        return Findings(pattern=Pattern.TOO_SHORT, nights=nights, missing=missing)
    levels = _replace_outliers(np.log(np.asarray(times_ms, dtype=float)))
    steps = _keep_significant(levels, _propose(levels))
    drift = _find_drift(levels, steps)
    if drift is not None:
        return Findings(pattern=Pattern.DRIFT, nights=nights, drift_ratio=drift)
    if not steps:
        return Findings(pattern=Pattern.QUIET, nights=nights)
    changes = tuple(_describe(levels, steps, place) for place in range(len(steps)))
    return Findings(pattern=Pattern.CHANGED, nights=nights, changes=changes)


def _replace_outliers(levels: NDArray[np.float64]) -> NDArray[np.float64]:
    medians = np.median(sliding_window_view(levels, _NEIGHBOURHOOD), axis=1)
    around = np.pad(medians, _NEIGHBOURHOOD // 2, mode="edge")
    distances = np.abs(levels - around)
    spread = scipy.stats.median_abs_deviation(levels - around, scale="normal")
    scale = max(float(spread), _SMALLEST_NOISE)
    return np.where(distances > _OUTLIER_SCALES * scale, around, levels)


def _propose(levels: NDArray[np.float64]) -> list[int]:
    import ruptures  # it takes half a second

    scaled = (levels - np.median(levels)) / _estimate_noise(levels)
    # PELT with the sum of squares as cost, in C.
    search = ruptures.KernelCPD(kernel="linear", min_size=SHORTEST).fit(scaled.reshape(-1, 1))
    return [int(each) for each in search.predict(pen=_PENALTY * math.log(len(levels)))][:-1]


def _estimate_noise(levels: NDArray[np.float64]) -> float:
    spread = scipy.stats.median_abs_deviation(np.diff(levels), scale="normal")
    return max(float(spread) / math.sqrt(2), _SMALLEST_NOISE)


def _keep_significant(levels: NDArray[np.float64], proposed: Sequence[int]) -> list[int]:
    steps = list(proposed)
    while steps:
        alike = _resemblance(_residuals(levels, steps))
        doubts = [_doubt(*_sides(levels, steps, place), alike) for place in range(len(steps))]
        worst = max(range(len(steps)), key=lambda place: doubts[place])
        if doubts[worst] * len(levels) <= 1.0:
            break
        del steps[worst]
        steps = _refine(levels, steps)
    return _refine(levels, steps)


def _doubt(before: NDArray[np.float64], after: NDArray[np.float64], alike: float) -> float:
    """Return the larger of two p-values, each over the share of false calls that it may make."""
    by_mean, _ = _compare_means(before, after)
    score = float(scipy.stats.norm.isf(max(by_mean, _SMALLEST_P) / 2))
    score /= math.sqrt(_inflation(alike))
    by_rank = float(scipy.stats.mannwhitneyu(before, after).pvalue)
    return max(float(2 * scipy.stats.norm.sf(score)) / _FALSE_BY_MEAN, by_rank / _FALSE_BY_RANK)


def _compare_means(
    before: NDArray[np.float64], after: NDArray[np.float64]
) -> tuple[float, tuple[float, float]]:
    """Return the p-value of Student's test, and the interval of the difference (95 %)."""
    difference = float(after.mean() - before.mean())
    if max(float(np.ptp(before)), float(np.ptp(after))) < _SMALLEST_NOISE:
        return float(abs(difference) < _SMALLEST_NOISE), (difference, difference)
    with warnings.catch_warnings():
        # A side whose nights are all equal, as a simulator's may be, is no reason to warn.
        warnings.simplefilter("ignore", RuntimeWarning)
        found = scipy.stats.ttest_ind(after, before)
        interval = found.confidence_interval()
    return float(found.pvalue), (float(interval.low), float(interval.high))


def _resemblance(rest: NDArray[np.float64]) -> float:
    if float(np.ptp(rest)) < _SMALLEST_NOISE:
        return 0.0
    return float(np.clip(np.corrcoef(rest[:-1], rest[1:])[0, 1], 0.0, _MOST_ALIKE))


def _inflation(alike: float) -> float:
    return (1 + alike) / (1 - alike)


def _residuals(levels: NDArray[np.float64], steps: Sequence[int]) -> NDArray[np.float64]:
    parts = np.split(levels, list(steps))
    return np.concatenate([part - part.mean() for part in parts])


def _sides(
    levels: NDArray[np.float64], steps: Sequence[int], place: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    edges = [0, *steps, len(levels)]
    return levels[edges[place] : edges[place + 1]], levels[edges[place + 1] : edges[place + 2]]


def _refine(levels: NDArray[np.float64], steps: Sequence[int]) -> list[int]:
    found = list(steps)
    for place in range(len(found)):
        start = found[place - 1] if place else 0
        end = found[place + 1] if place + 1 < len(found) else len(levels)
        costs = _split_costs(levels[start:end])
        found[place] = start + SHORTEST + int(np.argmin(costs))
    return found


def _split_costs(levels: NDArray[np.float64]) -> NDArray[np.float64]:
    places = range(SHORTEST, len(levels) - SHORTEST + 1)
    return np.array([np.square(_residuals(levels, (place,))).sum() for place in places])


def _find_drift(levels: NDArray[np.float64], steps: Sequence[int]) -> float | None:
    nights = len(levels)
    ramps = _ramps(nights)
    centred = ramps - ramps.mean(axis=1, keepdims=True)
    rises = centred @ levels / np.square(centred).sum(axis=1)
    rests = levels - levels.mean() - rises[:, None] * centred
    best = int(np.argmin(np.square(rests).sum(axis=1)))
    by_drift = _bic(rests[best], _DRIFT_PARAMETERS)
    by_steps = _bic(_residuals(levels, steps), _STEP_PARAMETERS * len(steps) + 1)
    margin = _STAIRS_MARGIN if _is_staircase(levels, steps) else _DRIFT_MARGIN
    return float(np.exp(rises[best])) if by_steps - by_drift > margin else None


def _is_staircase(levels: NDArray[np.float64], steps: Sequence[int]) -> bool:
    means = [part.mean() for part in np.split(levels, list(steps))]
    return len(steps) > 1 and abs(int(np.sign(np.diff(means)).sum())) == len(steps)


def _ramps(nights: int) -> NDArray[np.float64]:
    place = np.arange(nights, dtype=float)
    ends = sorted({*range(0, nights, _RAMP_STEP), nights - 1})
    rows = [
        np.clip((place - start) / (end - start), 0.0, 1.0)
        for start in ends
        for end in ends
        if end - start >= min(_SHORTEST_DRIFT, nights - 1)
    ]
    return np.array(rows)


def _bic(rest: NDArray[np.float64], parameters: int) -> float:
    nights = len(rest)
    fresh = rest.copy()
    fresh[1:] -= _resemblance(rest) * rest[:-1]  # what the previous night did not foretell
    variance = max(float(np.square(fresh).mean()), _SMALLEST_NOISE**2)
    return nights * math.log(variance) + parameters * math.log(nights)


def _describe(levels: NDArray[np.float64], steps: Sequence[int], place: int) -> Change:
    before, after = _sides(levels, steps, place)
    alike = _resemblance(_residuals(levels, steps))
    start = steps[place] - len(before)
    first = steps[place]
    last_good, first_bad = _date_range(np.concatenate([before, after]), alike)
    size = float(after.mean() - before.mean())
    _, (low, high) = _compare_means(before, after)
    wider = math.sqrt(_inflation(alike))
    return Change(
        first=first,
        last_good=min(start + last_good, first - 1),
        first_bad=max(start + first_bad, first),
        ratio=math.exp(size),
        lower=math.exp(size + wider * (low - size)),
        upper=math.exp(size + wider * (high - size)),
    )


def _date_range(levels: NDArray[np.float64], alike: float) -> tuple[int, int]:
    costs = _split_costs(levels)
    variance = max(float(costs.min()) / len(levels), _SMALLEST_NOISE**2)
    limit = variance * _inflation(alike) * float(scipy.stats.chi2.ppf(_DATE_CONFIDENCE, df=1))
    possible = np.flatnonzero(costs - costs.min() <= limit) + SHORTEST
    return int(possible[0]) - 1, int(possible[-1])


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SeriesKey:
    scenario: str
    contestant: str
    stage: TimeStage
    device: str
    method: int

    def __str__(self) -> str:
        return f"{self.scenario} {self.contestant} {self.stage}"


class DatedChange(Value):
    change: Change
    last_good: Point
    first_bad: Point


class Series(Value):
    key: SeriesKey
    device_name: str
    points: tuple[Point, ...]
    findings: Findings
    changes: tuple[DatedChange, ...]
    follows: str = ""


def make_series(runs: Sequence[HistoryRun], *, scenario: str = "") -> tuple[Series, ...]:
    """Sorted; ``scenario``: of that id alone. Rows that were skipped or failed are no points."""
    points: dict[SeriesKey, list[Point]] = {}
    names: dict[str, str] = {}
    for run in sorted(runs, key=lambda each: each.id):
        for row in run.rows:
            names[run.device] = row.device
            for time in row.bounded_times if scenario in ("", row.scenario) else ():
                key = SeriesKey(
                    scenario=row.scenario,
                    contestant=row.experiment,
                    stage=time.stage,
                    device=run.device,
                    method=run.method,
                )
                point = Point(
                    run=run.id, commit=run.commit.sha, measured_at=run.measured_at, time=time
                )
                points.setdefault(key, []).append(point)
    found = []
    for key in sorted(points):
        nights = points[key]
        findings = find_changes([point.time.median_ms for point in nights])
        changes = tuple(
            DatedChange(
                change=one, last_good=nights[one.last_good], first_bad=nights[one.first_bad]
            )
            for one in findings.changes
        )
        series = Series(
            key=key,
            device_name=names[key.device],
            points=tuple(nights),
            findings=findings,
            changes=changes,
            follows=_predecessor(key, points),
        )
        found.append(series)
    return tuple(found)


def _predecessor(key: SeriesKey, points: dict[SeriesKey, list[Point]]) -> str:
    row = (key.scenario, key.contestant, key.stage)
    older = [
        point
        for point in points
        if (point.scenario, point.contestant, point.stage) == row
        and points[point][0].run < points[key][0].run
    ]
    if not older:
        return ""
    before = max(older, key=lambda each: points[each][0].run)
    reasons = ("a new device",) * (before.device != key.device)
    reasons += ("a new way of measuring",) * (before.method != key.method)
    return " and ".join(reasons)
