"""Compares summaries of two runs: the ratio of two medians, with an interval from both.

Pure. The history holds medians with intervals, not samples, so this is no test of samples as
:mod:`megtrim.perf.comparison` is. The interval of the ratio combines both intervals on the
logarithmic scale by the method of variance estimates recovery (MOVER; Donner and Zou 2012), which
needs nothing else of either side. It assumes that the two runs are independent of each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from megtrim.perf.nights.history import HistoryRow, HistoryRun, RowStatus, Times

_RowKey = tuple[str, str, str, str]
"""Scenario, contestant, stage, identity of the device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRatio:
    """One row of two runs on one device: the second side over the first."""

    scenario: str
    contestant: str
    stage: str
    device: str
    before_ms: float
    after_ms: float
    ratio: float
    low: float
    high: float
    note: str = ""

    @property
    def differs(self) -> bool:
        """Whether the interval leaves no room for equal times."""
        return not self.low <= 1 <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """All rows of both sides."""

    ratios: tuple[RunRatio, ...]
    unpaired: tuple[str, ...]
    """Rows that cannot be compared, each with the reason, one line each."""


def compare_runs(before: Iterable[HistoryRun], after: Iterable[HistoryRun]) -> RunComparison:
    """Compare two sides; where a side has several runs of a row, its newest one counts."""
    first, second = _newest_rows(before), _newest_rows(after)
    ratios: list[RunRatio] = []
    unpaired: list[str] = []
    for key in sorted({*first, *second}):
        name = (first.get(key) or second[key]).run.device.name
        if key not in first or key not in second:
            reason = f"only in the {'second' if key in second else 'first'}"
        elif not (reason := _reason_against(first[key], second[key])):
            ratios.append(_make_ratio(first[key], second[key]))
            continue
        unpaired.append(f"{' '.join(key[:3])} on {name}: {reason}")
    return RunComparison(ratios=tuple(ratios), unpaired=tuple(unpaired))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A row and its run."""

    run: HistoryRun
    row: HistoryRow


def _newest_rows(runs: Iterable[HistoryRun]) -> dict[_RowKey, _Found]:
    ordered = sorted(runs, key=lambda each: each.id)
    return {
        (*row.key, run.device.identity): _Found(run=run, row=row)
        for run in ordered
        for row in run.rows
    }


def _reason_against(first: _Found, second: _Found) -> str:
    if first.run.method != second.run.method:
        return "measured in two ways, which are not compared"
    for found in (first, second):
        if found.row.status is not RowStatus.MEASURED:
            return f"{found.row.status}: {found.row.reason}"
    return ""


def _make_ratio(first: _Found, second: _Found) -> RunRatio:
    before, after = first.row.times, second.row.times
    if before is None or after is None:
        msg = "a measured row has times"
        raise ValueError(msg)
    low, ratio, high = combine(before, after)
    scenario, contestant, stage = first.row.key
    other = first.run.engine != second.run.engine
    return RunRatio(
        scenario=scenario,
        contestant=contestant,
        stage=stage,
        device=first.run.device.name,
        before_ms=before.median_ms,
        after_ms=after.median_ms,
        ratio=ratio,
        low=low,
        high=high,
        note="another engine" if other else "",
    )


def combine(before: Times, after: Times) -> tuple[float, float, float]:
    """Return the ratio of two medians between the ends of its interval."""
    ratio = math.log(after.median_ms / before.median_ms)
    down = math.hypot(
        math.log(after.median_ms / after.low_ms), math.log(before.high_ms / before.median_ms)
    )
    up = math.hypot(
        math.log(after.high_ms / after.median_ms), math.log(before.median_ms / before.low_ms)
    )
    return math.exp(ratio - down), math.exp(ratio), math.exp(ratio + up)
