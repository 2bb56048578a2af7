"""The picture of experiments by time: a bar for each, with its interval. Pure.

The names stand over the bars as text of the page, so that none is clipped. A dashed line marks
the baseline. A bar much longer than the baseline is cut off, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from megtrim.experiments.experiment import TimeStage
from megtrim.perf.report.numbers import (
    direction,
    find_ratio,
    find_time,
    ratio_with_interval,
    time_with_interval,
)
from megtrim.perf.rows.model import Performance, PerformanceRow
from megtrim.perf.times import Reference, StageTime
from megtrim.render.markup import one_line
from megtrim.render.scale import (
    Scale,
    Tick,
    anchor,
    from_zero,
    round_values,
    short_number,
)

MOST_BARS = 60
MOST_PICTURES = 40
_LONGEST_OF_BASELINE = 3.0
"""A bar this many times as long as the baseline is cut off."""
_TICKS = 5
_BASELINE = "baseline"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBar:
    """One experiment."""

    name: str
    time: str
    ratio: str
    """To the baseline; empty for the baseline itself, and without one."""
    word: str
    tone: str
    """faster, slower, or neither; selects the colour."""
    width: str
    lower: str
    upper: str
    open_ended: bool
    """Whether the interval has no upper end on the picture."""
    cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TimePicture:
    """The experiments of one scenario, drawn to one scale."""

    title: str
    bars: tuple[TimeBar, ...]
    ticks: tuple[Tick, ...]
    baseline: str
    """Where the baseline's median is; empty: it was not measured."""
    note: str
    """What is not on it, or empty."""


def time_pictures(performance: Performance) -> tuple[TimePicture, ...]:
    """Return a picture for each scenario that has times of inference, at most forty."""
    groups = groupby(performance.rows, key=lambda row: (row.scenario, row.cpu_class))
    found = (_picture(scenario, tuple(rows)) for (scenario, _), rows in groups)
    return tuple(each for each in found if each is not None)[:MOST_PICTURES]


def _picture(scenario: str, rows: tuple[PerformanceRow, ...]) -> TimePicture | None:
    timed = list(_select_timed(rows))
    if not timed:
        return None
    shown = timed[:MOST_BARS]
    baseline = next((time for row, time in timed if row.experiment == _BASELINE), None)
    scale = _scale([time for _, time in shown], baseline)
    notes = []
    if len(timed) > len(shown):
        notes.append(f"{len(timed) - len(shown)} more are in the table")
    if len(rows) > len(timed):
        notes.append(f"{len(rows) - len(timed)} without a time that counts are in the table")
    return TimePicture(
        title=one_line(scenario),
        bars=tuple(_bar(row, time, scale) for row, time in shown),
        ticks=tuple(_ticks(scale)),
        baseline=scale.x(baseline.median_ms) if baseline else "",
        note="; ".join(notes),
    )


def _select_timed(rows: tuple[PerformanceRow, ...]) -> Iterator[tuple[PerformanceRow, StageTime]]:
    for row in rows:
        time = find_time(row, TimeStage.INFERENCE)
        # The time of a wrong result is no time of this model.
        if time is not None and row.status.has_times:
            yield row, time


def _scale(times: list[StageTime], baseline: StageTime | None) -> Scale:
    ends = [each.median_ms if each.upper_ms is None else each.upper_ms for each in times]
    longest = max(ends)
    if baseline is not None and baseline.median_ms > 0:
        longest = min(longest, _LONGEST_OF_BASELINE * baseline.median_ms)
    return from_zero(longest)


def _bar(row: PerformanceRow, time: StageTime, scale: Scale) -> TimeBar:
    ratio = find_ratio(row, Reference.BASELINE)
    word = direction(ratio) if ratio else ""
    upper = scale.high if time.upper_ms is None else time.upper_ms
    return TimeBar(
        name=one_line(row.experiment),
        time=f"{time_with_interval(time)} ms",
        ratio=ratio_with_interval(ratio) if ratio else "",
        word=word,
        tone=word if word in ("faster", "slower") else "neither",
        width=scale.x(time.median_ms),
        lower=scale.x(time.lower_ms),
        upper=scale.x(upper),
        open_ended=time.upper_ms is None or time.upper_ms > scale.high,
        cut=time.median_ms > scale.high,
    )


def _ticks(scale: Scale) -> Iterator[Tick]:
    for value in round_values(scale, _TICKS):
        part = scale.part(value)
        yield Tick(position=scale.x(value), text=f"{short_number(value)} ms", anchor=anchor(part))
