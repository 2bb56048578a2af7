"""The pictures of times.

A missing night is a gap. Bars start at zero, so that lengths are shares.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import groupby, pairwise

from megtrim.core.timing.spec import PerformanceStatus, TimeStage
from megtrim.core.timing.times import (
    Answer,
    RatioResult,
    Reference,
    StageTime,
    find_compared_time,
    ratio_with_interval,
)
from megtrim.core.verdict.performance import (
    ChangePoint,
    HistorySeries,
    Performance,
    PerformanceRow,
    Point,
)
from megtrim.libs.render.formatting import milliseconds
from megtrim.libs.render.markup import one_line
from megtrim.libs.render.scale import (
    Join,
    Scale,
    Tick,
    anchor,
    around,
    from_zero,
    round_values,
    short_number,
)
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count
from megtrim.times.report.tables import (
    direction,
    find_ratio,
    time_with_interval,
)

MOST_BARS = 60
_MOST_TIME_PICTURES = 40
_LONGEST_OF_BASELINE = 3.0
_TIME_TICKS = 5
_BASELINE = "baseline"


class TimeBar(Value):
    name: str
    time: str
    ratio: str
    word: str
    tone: str
    width: str
    lower: str
    upper: str
    open_ended: bool
    cut: bool


class TimePicture(Value):
    title: str
    measured: str
    bars: tuple[TimeBar, ...]
    ticks: tuple[Tick, ...]
    baseline: str
    note: str


def time_pictures(performance: Performance) -> tuple[TimePicture, ...]:
    groups = groupby(performance.rows, key=lambda row: (row.scenario, row.cpu_class))
    found = (_draw_times(scenario, tuple(rows)) for (scenario, _), rows in groups)
    return tuple(each for each in found if each is not None)[:_MOST_TIME_PICTURES]


def _draw_times(scenario: str, rows: tuple[PerformanceRow, ...]) -> TimePicture | None:
    # The time of a wrong result is no time of this model.
    timed = [
        (row, time)
        for row in rows
        if row.status.has_times and (time := find_compared_time(row.times)) is not None
    ]
    if not timed:
        return None
    shown = timed[:MOST_BARS]
    baseline = next((time for row, time in timed if row.experiment == _BASELINE), None)
    longest = max(_find_upper(time) for _, time in shown)
    if baseline is not None and baseline.median_ms > 0:
        longest = min(longest, _LONGEST_OF_BASELINE * baseline.median_ms)
    scale = from_zero(longest)
    notes = []
    if len(timed) > len(shown):
        notes.append(f"{len(timed) - len(shown)} more are in the table")
    if len(rows) > len(timed):
        notes.append(f"{len(rows) - len(timed)} without a time that counts are in the table")
    return TimePicture(
        title=one_line(scenario),
        measured=TimeStage.find_compared(whole=rows[0].whole).label,
        bars=tuple(_draw_bar(row, time, scale) for row, time in shown),
        ticks=tuple(_list_ticks(scale, _TIME_TICKS, "ms")),
        baseline=scale.x(baseline.median_ms) if baseline else "",
        note="; ".join(notes),
    )


def _draw_bar(row: PerformanceRow, time: StageTime, scale: Scale) -> TimeBar:
    ratio = find_ratio(row, Reference.BASELINE)
    upper = scale.high if time.upper_ms is None else time.upper_ms
    word = f"{direction(ratio)} than baseline" if ratio and _differs(ratio) else ""
    if ratio and not word:
        word = direction(ratio)
    tone = _find_tone(ratio)
    base = find_ratio(row, Reference.BASE)
    if row.status is PerformanceStatus.REGRESSED and base is not None:
        # The verdict is about the earlier program: the picture must not look better than it.
        than = one_line(base.name) or str(base.against)
        word = f"regressed: {direction(base)} than {than}{', ' if word else ''}{word}"
        tone = "slower"
    return TimeBar(
        name=one_line(row.experiment),
        time=f"{time_with_interval(time)} ms",
        ratio=ratio_with_interval(ratio) if ratio else "",
        word=word,
        tone=tone,
        width=scale.x(time.median_ms),
        lower=scale.x(time.lower_ms),
        upper=scale.x(upper),
        open_ended=time.upper_ms is None or time.upper_ms > scale.high,
        cut=time.median_ms > scale.high,
    )


def _differs(ratio: RatioResult) -> bool:
    return ratio.different is Answer.YES


def _find_tone(ratio: RatioResult | None) -> str:
    if ratio is None or not _differs(ratio):
        return "neither"
    return "slower" if ratio.ratio > 1 else "faster"


def _list_ticks(scale: Scale, most: int, unit: str) -> Iterator[Tick]:
    for value in round_values(scale, most):
        text = f"{short_number(value)} {unit}"
        yield Tick(position=scale.x(value), text=text, anchor=anchor(scale.part(value)))


def _list_heights(times: Scale, most: int, height: float) -> Iterator[Tick]:
    for value in round_values(times, most):
        yield Tick(position=times.y(value, height), text=short_number(value), anchor="end")


HISTORY_HEIGHT = 170.0
MOST_NIGHTS = 400
_MOST_HISTORY_PICTURES = 60
_MOST_CHANGES = 20
_HISTORY_TICKS = 5
_EDGE = 0.5
"""Nights of space at both ends, so that no point is cut in half."""
_LONGEST_COMMIT = 12


class NightMark(Value):
    x: str
    y: str
    lower: str
    upper: str
    text: str


class ChangeMark(Value):
    x: str
    number: int
    tone: str
    text: str


class HistoryPicture(Value):
    title: str
    experiment: str
    measured: str
    text: str
    height: str
    nights: tuple[NightMark, ...]
    lines: tuple[Join, ...]
    changes: tuple[ChangeMark, ...]
    times: tuple[Tick, ...]
    first: str
    last: str


def history_pictures(history: Sequence[HistorySeries]) -> tuple[HistoryPicture, ...]:
    with_points = [each for each in history if each.points]
    ordered = sorted(with_points, key=lambda each: not each.changes)
    return tuple(_draw_history(each) for each in ordered[:_MOST_HISTORY_PICTURES])


def _draw_history(series: HistorySeries) -> HistoryPicture:
    points = series.points[-MOST_NIGHTS:]
    first = _day(points[0].date)
    last = _day(points[-1].date)
    nights = Scale(low=first - _EDGE, high=last + _EDGE)
    lowest = min(point.time.lower_ms for point in points)
    times = around(lowest, max(_find_upper(point.time) for point in points))
    changes = [change for change in series.changes if first <= _day(change.date) <= last]
    missing = last - first + 1 - len(points)
    medians = [point.time.median_ms for point in points]
    return HistoryPicture(
        title=one_line(series.scenario),
        experiment=one_line(series.experiment),
        measured=TimeStage.find_compared(whole=series.whole).label,
        text=(
            f"{count(len(points), 'night')}, {missing} missing, medians from "
            f"{milliseconds(min(medians))} to {milliseconds(max(medians))} ms, "
            f"{count(len(changes), 'change')}"
        ),
        height=f"{HISTORY_HEIGHT:.0f}",
        nights=tuple(_mark_night(each, nights, times) for each in points),
        lines=tuple(_join_nights(points, nights, times)),
        changes=tuple(_mark_changes(changes[-_MOST_CHANGES:], nights)),
        times=tuple(_list_heights(times, _HISTORY_TICKS, HISTORY_HEIGHT)),
        first=points[0].date,
        last=points[-1].date,
    )


def _day(text: str) -> int:
    return date.fromisoformat(text).toordinal()


def _mark_night(point: Point, nights: Scale, times: Scale) -> NightMark:
    commit = one_line(point.commit, limit=_LONGEST_COMMIT * 4)[:_LONGEST_COMMIT]
    at = f" at {commit}" if commit else ""
    return NightMark(
        x=nights.x(_day(point.date)),
        y=times.y(point.time.median_ms, HISTORY_HEIGHT),
        lower=times.y(point.time.lower_ms, HISTORY_HEIGHT),
        upper=times.y(_find_upper(point.time), HISTORY_HEIGHT),
        text=f"{point.date}{at}: {time_with_interval(point.time)} ms",
    )


def _join_nights(points: Sequence[Point], nights: Scale, times: Scale) -> Iterator[Join]:
    for before, after in pairwise(points):
        if _day(after.date) - _day(before.date) == 1:
            yield Join(
                x1=nights.x(_day(before.date)),
                y1=times.y(before.time.median_ms, HISTORY_HEIGHT),
                x2=nights.x(_day(after.date)),
                y2=times.y(after.time.median_ms, HISTORY_HEIGHT),
            )


def _mark_changes(changes: Sequence[ChangePoint], nights: Scale) -> Iterator[ChangeMark]:
    for number, each in enumerate(changes, start=1):
        tone = "slower" if each.ratio > 1 else "faster"
        yield ChangeMark(
            # The level changed since the night before.
            x=nights.x(_day(each.date) - _EDGE),
            number=number,
            tone=tone,
            text=f"{each.date}: {tone}, ratio {each.ratio:.3f}",
        )


def _find_upper(time: StageTime) -> float:
    return time.median_ms if time.upper_ms is None else time.upper_ms
