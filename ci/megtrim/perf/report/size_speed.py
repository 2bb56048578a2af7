"""The picture of size against speed: a point for each variant of an artifact. Pure.

To the left is smaller, down is faster. Both axes start at zero, so that distances are shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from megtrim.config.units import format_bytes
from megtrim.perf.report.numbers import ratio_with_interval, time_with_interval
from megtrim.perf.rows.model import Performance, TrimmingRow, VariantTime
from megtrim.perf.times import StageTime
from megtrim.render.markup import one_line
from megtrim.render.scale import (
    Scale,
    Tick,
    anchor,
    from_zero,
    round_values,
    short_number,
)

HEIGHT = 230.0
"""Pixels of the area of the points."""
MOST_PICTURES = 40
_MOST_POINTS = 8
_TICKS = 4
_LONGEST_NAME = 14
_NEAR_X, _NEAR_Y = 0.24, 17.0
"""Closer than this, as a share of the width and in pixels, two names would overlap."""
_ABOVE, _BELOW = -13.0, 22.0
_LINE = 16.0


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantMark:
    """One variant."""

    name: str
    x: str
    y: str
    lower: str
    upper: str
    label_y: str
    anchor: str
    colour: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeSpeedPicture:
    """The variants of one artifact in one scenario."""

    title: str
    artifact: str
    text: str
    height: str
    points: tuple[VariantMark, ...]
    sizes: tuple[Tick, ...]
    times: tuple[Tick, ...]


def size_speed_pictures(performance: Performance) -> tuple[SizeSpeedPicture, ...]:
    """Return a picture for each row of trimming that has a time, at most forty."""
    found = (_picture(row) for row in performance.trimming)
    return tuple(each for each in found if each is not None)[:MOST_PICTURES]


def _picture(row: TrimmingRow) -> SizeSpeedPicture | None:
    timed = [(each, each.time) for each in row.variants if each.time][:_MOST_POINTS]
    if not timed:
        return None
    sizes = from_zero(max(each.size_bytes for each, _ in timed))
    times = from_zero(max(_upper(time) for _, time in timed) * 1.12)
    return SizeSpeedPicture(
        title=one_line(row.scenario),
        artifact=one_line(row.artifact),
        text="; ".join(_describe(each, time) for each, time in timed),
        height=f"{HEIGHT:.0f}",
        points=tuple(_marks(timed, sizes, times)),
        sizes=tuple(_size_ticks(sizes)),
        times=tuple(
            Tick(position=times.y(value, HEIGHT), text=short_number(value), anchor="end")
            for value in round_values(times, _TICKS)
        ),
    )


def _upper(time: StageTime) -> float:
    return time.median_ms if time.upper_ms is None else time.upper_ms


def _describe(variant: VariantTime, time: StageTime) -> str:
    ratio = f", ratio to plain {ratio_with_interval(variant.ratio)}" if variant.ratio else ""
    size = format_bytes(variant.size_bytes)
    return f"{one_line(variant.variant)}: {size}, {time_with_interval(time)} ms{ratio}"


def _marks(
    timed: Sequence[tuple[VariantTime, StageTime]], sizes: Scale, times: Scale
) -> Iterator[VariantMark]:
    taken: list[tuple[float, float]] = []
    for number, (variant, time) in enumerate(timed):
        part = sizes.part(variant.size_bytes)
        label_y = _place_label(part, HEIGHT * (1 - times.part(_upper(time))), taken)
        taken.append((part, label_y))
        name = one_line(variant.variant)
        yield VariantMark(
            name=name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…",
            x=sizes.x(variant.size_bytes),
            y=times.y(time.median_ms, HEIGHT),
            lower=times.y(time.lower_ms, HEIGHT),
            upper=times.y(_upper(time), HEIGHT),
            label_y=f"{label_y:.1f}",
            anchor=anchor(part),
            colour=number,
            text=_describe(variant, time),
        )


def _place_label(part: float, top: float, taken: Sequence[tuple[float, float]]) -> float:
    """Return the height of a name: over its point, or the next free line under it."""
    places = [top + _ABOVE, *(top + _BELOW + _LINE * number for number in range(len(taken) + 1))]
    for place in places:
        near = (abs(part - x) < _NEAR_X and abs(place - y) < _NEAR_Y for x, y in taken)
        if not any(near):
            return place
    return places[-1]


def _size_ticks(sizes: Scale) -> Iterator[Tick]:
    mebibytes = Scale(low=0.0, high=sizes.high / 2**20)
    for value in round_values(mebibytes, _TICKS):
        part = mebibytes.part(value)
        text = f"{short_number(value)} MiB"
        yield Tick(position=mebibytes.x(value), text=text, anchor=anchor(part))
