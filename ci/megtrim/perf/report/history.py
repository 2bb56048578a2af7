"""The picture of one series over nights: medians, intervals, gaps, change points. Pure.

Each night has its place by its date. A line joins two nights only if they follow each other, so
that a missing night is a gap. Change points are numbered; the list under the picture explains them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from megtrim.perf.report.numbers import milliseconds
from megtrim.perf.rows.model import ChangePoint, HistoryPoint, HistorySeries
from megtrim.render.markup import one_line
from megtrim.render.scale import (
    Join,
    Scale,
    Tick,
    around,
    round_values,
    short_number,
)
from megtrim.util.wording import count

HEIGHT = 170.0
"""Pixels of the area of the points."""
MOST_NIGHTS = 400
MOST_PICTURES = 60
_MOST_CHANGES = 20
_TICKS = 5
_EDGE = 0.5
"""Nights of space at both ends, so that no point is cut in half."""
_LONGEST_COMMIT = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class NightMark:
    """One night: its median and interval."""

    x: str
    y: str
    lower: str
    upper: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeMark:
    """A change point: a line between two nights, and its number."""

    x: str
    number: int
    tone: str
    """faster or slower."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPicture:
    """One series."""

    title: str
    experiment: str
    text: str
    """What it shows, in one sentence, for those who do not see it."""
    height: str
    nights: tuple[NightMark, ...]
    lines: tuple[Join, ...]
    changes: tuple[ChangeMark, ...]
    times: tuple[Tick, ...]
    first: str
    last: str


def history_pictures(history: Sequence[HistorySeries]) -> tuple[HistoryPicture, ...]:
    """Return a picture for each series with a night, at most sixty; those that changed first."""
    with_points = [each for each in history if each.points]
    ordered = sorted(with_points, key=lambda each: not each.changes)
    return tuple(_picture(each) for each in ordered[:MOST_PICTURES])


def _picture(series: HistorySeries) -> HistoryPicture:
    points = series.points[-MOST_NIGHTS:]
    first, last = _day(points[0].date), _day(points[-1].date)
    nights = Scale(low=first - _EDGE, high=last + _EDGE)
    times = around(min(each.lower_ms for each in points), max(each.upper_ms for each in points))
    changes = [each for each in series.changes if first <= _day(each.date) <= last]
    missing = last - first + 1 - len(points)
    return HistoryPicture(
        title=one_line(series.scenario),
        experiment=one_line(series.experiment),
        text=_describe(points, missing, len(changes)),
        height=f"{HEIGHT:.0f}",
        nights=tuple(_mark(each, nights, times) for each in points),
        lines=tuple(_lines(points, nights, times)),
        changes=tuple(_changes(changes[-_MOST_CHANGES:], nights)),
        times=tuple(
            Tick(position=times.y(value, HEIGHT), text=short_number(value), anchor="end")
            for value in round_values(times, _TICKS)
        ),
        first=points[0].date,
        last=points[-1].date,
    )


def _day(text: str) -> int:
    return date.fromisoformat(text).toordinal()


def _describe(points: Sequence[HistoryPoint], missing: int, changes: int) -> str:
    lowest = milliseconds(min(each.median_ms for each in points))
    highest = milliseconds(max(each.median_ms for each in points))
    nights = count(len(points), "night")
    changed = count(changes, "change")
    return f"{nights}, {missing} missing, medians from {lowest} to {highest} ms, {changed}"


def _mark(point: HistoryPoint, nights: Scale, times: Scale) -> NightMark:
    interval = f"{milliseconds(point.lower_ms)} to {milliseconds(point.upper_ms)}"
    commit = one_line(point.commit, limit=_LONGEST_COMMIT * 4)[:_LONGEST_COMMIT]
    at = f" at {commit}" if commit else ""
    return NightMark(
        x=nights.x(_day(point.date)),
        y=times.y(point.median_ms, HEIGHT),
        lower=times.y(point.lower_ms, HEIGHT),
        upper=times.y(point.upper_ms, HEIGHT),
        text=f"{point.date}{at}: {milliseconds(point.median_ms)} ms ({interval})",
    )


def _lines(points: Sequence[HistoryPoint], nights: Scale, times: Scale) -> Iterator[Join]:
    for before, after in pairwise(points):
        if _day(after.date) - _day(before.date) == 1:
            yield Join(
                x1=nights.x(_day(before.date)),
                y1=times.y(before.median_ms, HEIGHT),
                x2=nights.x(_day(after.date)),
                y2=times.y(after.median_ms, HEIGHT),
            )


def _changes(changes: Sequence[ChangePoint], nights: Scale) -> Iterator[ChangeMark]:
    for number, each in enumerate(changes, start=1):
        tone = "slower" if each.ratio > 1 else "faster"
        yield ChangeMark(
            # The level changed since the night before.
            x=nights.x(_day(each.date) - _EDGE),
            number=number,
            tone=tone,
            text=f"{each.date}: {tone}, ratio {each.ratio:.3f}",
        )
