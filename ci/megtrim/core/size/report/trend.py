"""How the size of each file changed over the commits of the default branch, and its budget."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from megtrim.core.checks.statuses import CheckKind
from megtrim.core.config.units import format_growth
from megtrim.core.size.history import SizePoint, SizeTrend
from megtrim.core.size.rows import BudgetRow
from megtrim.core.verdict.model import Verdict
from megtrim.libs.render.formatting import group_digits
from megtrim.libs.render.markup import one_line
from megtrim.libs.render.scale import Join, Scale, Tick, around, round_values
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count

HEIGHT = 150.0
"""Pixels of the area of the points."""
MOST_COMMITS = 200
MOST_PICTURES = 30
_MOST_ROWS = 20
_TICKS = 4
_NEAR = 1.25
"""A limit is drawn if it is at most this many times the largest size."""
_COMMIT_DIGITS = 12
_EDGE = 0.5
_KIB = 1024.0
_MOST_BYTES = 10_240
"""That are shown as bytes."""


class CommitMark(Value):
    x: str
    y: str
    text: str


class LimitLine(Value):
    y: str
    tone: str
    text: str


class TrendPicture(Value):
    artifact: str
    variant: str
    text: str
    height: str
    marks: tuple[CommitMark, ...]
    lines: tuple[Join, ...]
    limits: tuple[LimitLine, ...]
    far: tuple[str, ...]
    """Limits that are too far from the sizes to be drawn."""
    ticks: tuple[Tick, ...]
    first: str
    last: str
    rows: tuple[tuple[str, str, str, str, str], ...]
    """(day, commit, bytes, change, components that changed most), the newest first."""


def draw_trends(verdict: Verdict) -> tuple[TrendPicture, ...]:
    known = sorted(
        (trend for trend in verdict.trends if trend.points),
        key=lambda trend: (trend.variant != "reduced", trend.artifact),
    )
    limits = {
        (row.artifact, row.variant, row.measure): row
        for row in reversed(verdict.budgets)
        if row.kind is CheckKind.SIZE
    }
    return tuple(
        _draw(trend, limits.get((trend.artifact, trend.variant, trend.measure)))
        for trend in known[:MOST_PICTURES]
    )


def _draw(trend: SizeTrend, budget: BudgetRow | None) -> TrendPicture:
    points = trend.points[-MOST_COMMITS:]
    every = [each.size_bytes for each in points]
    limits = tuple(_iter_limits(budget))
    near = [limit for limit in limits if limit[1] <= max(every) * _NEAR]
    drawn = [*every, *(size_bytes for _, size_bytes in near)]
    sizes = around(min(drawn), max(drawn))
    places = Scale(low=-_EDGE, high=len(points) - 1 + _EDGE)
    marks = tuple(
        CommitMark(
            x=places.x(number), y=sizes.y(point.size_bytes, HEIGHT), text=_describe_point(point)
        )
        for number, point in enumerate(points)
    )
    return TrendPicture(
        artifact=one_line(trend.artifact),
        variant=one_line(f"{trend.variant} {trend.measure}"),
        text=_describe(points),
        height=f"{HEIGHT:.0f}",
        marks=marks,
        lines=tuple(Join(x1=one.x, y1=one.y, x2=two.x, y2=two.y) for one, two in pairwise(marks)),
        limits=tuple(
            LimitLine(
                y=sizes.y(size_bytes, HEIGHT), tone=tone, text=_describe_limit(tone, size_bytes)
            )
            for tone, size_bytes in near
        ),
        far=tuple(_describe_limit(*limit) for limit in limits if limit not in near),
        ticks=tuple(_iter_ticks(sizes)),
        first=points[0].committed_at[:10],
        last=points[-1].committed_at[:10],
        rows=tuple(map(_row, reversed(points[-_MOST_ROWS:]))),
    )


def _iter_limits(budget: BudgetRow | None) -> Iterator[tuple[str, int]]:
    if budget is not None and budget.max_bytes is not None:
        yield "limit", budget.max_bytes
    if budget is not None and budget.warn_bytes is not None:
        yield "warn", budget.warn_bytes


def _describe_limit(tone: str, size_bytes: int) -> str:
    size = _format_size(size_bytes)
    return f"budget {size}" if tone == "limit" else f"warning from {size} on"


def _iter_ticks(sizes: Scale) -> Iterator[Tick]:
    unit = _KIB if sizes.high - sizes.low > _TICKS * _KIB else 1.0
    scale = Scale(low=sizes.low / unit, high=sizes.high / unit)
    for value in round_values(scale, _TICKS):
        size_bytes = round(value * unit)
        text = _format_size(size_bytes)
        yield Tick(position=sizes.y(size_bytes, HEIGHT), text=text, anchor="end")


def _describe(points: Sequence[SizePoint]) -> str:
    commits = count(len(points), "commit")
    growth = points[-1].size_bytes - points[0].size_bytes
    sizes = [point.size_bytes for point in points]
    lowest = min(sizes)
    highest = max(sizes)
    return (
        f"{commits}, from {_format_size(lowest)} to {_format_size(highest)}, "
        f"{format_growth(growth)} altogether"
    )


def _describe_point(point: SizePoint) -> str:
    change = "" if point.growth_bytes is None else f" ({format_growth(point.growth_bytes)})"
    day, commit, size, *_ = _row(point)
    return f"{day} at {commit}: {size} bytes{change}"


def _format_size(size_bytes: int) -> str:
    """Format a size so that commits differ: ``1,655.1 KiB``."""
    if size_bytes < _MOST_BYTES:
        return f"{size_bytes:,} B"
    return f"{size_bytes / _KIB:,.1f}".removesuffix(".0") + " KiB"


def _row(point: SizePoint) -> tuple[str, str, str, str, str]:
    change = "" if point.growth_bytes is None else format_growth(point.growth_bytes)
    commit = one_line(point.commit)[:_COMMIT_DIGITS]
    day = one_line(point.committed_at)[:10]
    size = group_digits(point.size_bytes)
    largest = (
        f"{one_line(component.component)} {format_growth(component.growth_bytes)}"
        for component in point.components
    )
    return day, commit, size, change, ", ".join(largest)
