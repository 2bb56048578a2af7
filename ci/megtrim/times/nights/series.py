"""Series of nights, and their changes: nights whose comparison with an earlier program decided one.

Another device, or another way of measuring, begins a separate series: what it changes is no
change of the program. The times themselves decide nothing: an update or an old battery raises
them, too. What counts is the paired comparison of each night, in one run, on one device.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from megtrim.core.timing.spec import TimeStage
from megtrim.core.timing.times import Answer, RatioResult, Reference
from megtrim.core.verdict.performance import PerformanceRow, Point
from megtrim.libs.util.value import Value
from megtrim.times.nights.history import HistoryRun


class Direction(StrEnum):
    SLOWER = "slower"
    FASTER = "faster"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SeriesKey:
    scenario: str
    contestant: str
    stage: TimeStage
    device: str
    method: int

    def __str__(self) -> str:
        return f"{self.scenario} {self.contestant} {self.stage.label}"


class Change(Value):
    """A night that was slower or faster than an earlier program, by more than the threshold."""

    point: Point
    ratio: RatioResult

    @property
    def direction(self) -> Direction:
        return Direction.SLOWER if self.ratio.ratio > 1 else Direction.FASTER


class Series(Value):
    key: SeriesKey
    device_name: str
    points: tuple[Point, ...]
    compared: int
    """Nights whose comparison with an earlier program was decided."""
    changes: tuple[Change, ...]
    follows: str = ""


def make_series(runs: Sequence[HistoryRun], *, scenario: str = "") -> tuple[Series, ...]:
    """Sorted; ``scenario``: of that id alone. Rows that were skipped or failed are no points."""
    nights: dict[SeriesKey, list[tuple[Point, RatioResult | None]]] = {}
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
                nights.setdefault(key, []).append((point, _find_decided(row, time.stage)))
    points = {key: tuple(point for point, _ in found) for key, found in nights.items()}
    return tuple(
        Series(
            key=key,
            device_name=names[key.device],
            points=points[key],
            compared=sum(1 for _, ratio in nights[key] if ratio is not None),
            changes=_list_changes(nights[key]),
            follows=_find_reason(key, points),
        )
        for key in sorted(nights)
    )


def _find_decided(row: PerformanceRow, stage: TimeStage) -> RatioResult | None:
    for ratio in row.ratios:
        of_stage = ratio.against is Reference.BASE and ratio.stage is stage
        if of_stage and ratio.exceeds is not Answer.INCONCLUSIVE:
            return ratio
    return None


def _list_changes(nights: Iterable[tuple[Point, RatioResult | None]]) -> tuple[Change, ...]:
    """While an issue is open the base stays: nights that repeat what one said are no new change."""
    found: list[Change] = []
    said: dict[str, Direction] = {}
    for point, ratio in nights:
        if ratio is None:
            continue
        if ratio.exceeds is not Answer.YES:
            said.pop(ratio.name, None)
            continue
        change = Change(point=point, ratio=ratio)
        if said.get(ratio.name) is not change.direction:
            found.append(change)
        said[ratio.name] = change.direction
    return tuple(found)


def _find_reason(key: SeriesKey, points: Mapping[SeriesKey, tuple[Point, ...]]) -> str:
    """Return why it is not the series before it; empty if there is none."""
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
    reasons = []
    if before.device != key.device:
        reasons.append("a new device")
    if before.method != key.method:
        reasons.append("a new way of measuring")
    return " and ".join(reasons)
