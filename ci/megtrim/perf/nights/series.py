"""Series of nights: the same row of runs by one device and one way of measuring.

Another device, or another version of the way megtrim measures, begins a series of its own, so what
it changes is never called a change of the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from megtrim.experiments.experiment import TimeStage
from megtrim.perf.nights.change_points import Change, Findings, find_changes
from megtrim.perf.nights.history import HistoryRun
from megtrim.perf.times import StageTime
from megtrim.util.value import Value


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SeriesKey:
    scenario: str
    contestant: str
    stage: TimeStage
    device: str
    method: int

    def __str__(self) -> str:
        return f"{self.scenario} {self.contestant} {self.stage}"


class Point(Value):
    run: str
    commit: str
    measured_at: str
    time: StageTime


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
    """Sorted; ``scenario``: of that id alone.

    Rows that were skipped or failed are no points. ``runs`` may come in any order.
    """
    points: dict[SeriesKey, list[Point]] = {}
    names: dict[str, str] = {}
    for run in sorted(runs, key=lambda each: each.id):
        names[run.device.identity] = run.device.name
        for row in run.rows:
            for time in row.bounded_times if scenario in ("", row.scenario) else ():
                key = SeriesKey(
                    scenario=row.scenario,
                    contestant=row.contestant,
                    stage=time.stage,
                    device=run.device.identity,
                    method=run.method,
                )
                point = Point(
                    run=run.id, commit=run.commit.sha, measured_at=run.measured_at, time=time
                )
                points.setdefault(key, []).append(point)
    return tuple(
        _make_one(key, points[key], names[key.device], _predecessor(key, points))
        for key in sorted(points)
    )


def _make_one(key: SeriesKey, points: Sequence[Point], name: str, follows: str) -> Series:
    findings = find_changes([point.time.median_ms for point in points])
    dated = tuple(
        DatedChange(change=each, last_good=points[each.last_good], first_bad=points[each.first_bad])
        for each in findings.changes
    )
    return Series(
        key=key,
        device_name=name,
        points=tuple(points),
        findings=findings,
        changes=dated,
        follows=follows,
    )


def _predecessor(key: SeriesKey, points: dict[SeriesKey, list[Point]]) -> str:
    row = (key.scenario, key.contestant, key.stage)
    older = [
        each
        for each in points
        if (each.scenario, each.contestant, each.stage) == row
        and points[each][0].run < points[key][0].run
    ]
    if not older:
        return ""
    before = max(older, key=lambda each: points[each][0].run)
    reasons = ("a new device",) * (before.device != key.device)
    reasons += ("a new way of measuring",) * (before.method != key.method)
    return " and ".join(reasons)
