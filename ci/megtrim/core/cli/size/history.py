"""``megtrim size history``: how sizes changed over the commits of a history."""

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

from megtrim.core.cli.echo import open_console, show, show_json
from megtrim.core.cli.history_selector import HistorySelector
from megtrim.core.config.config_id import is_inside, split
from megtrim.core.config.limits import Budget
from megtrim.core.config.load import load_config
from megtrim.core.config.units import format_bytes, format_growth
from megtrim.core.size.history import SIZE_FILES, SizeHistory, SizePoint, SizeTrend, make_trends
from megtrim.libs.render.formatting import align_columns, group_digits
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.wording import count

_COMMIT_DIGITS = 12
_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 60


def history(
    selector: HistorySelector,
    since: date | None,
    variant: str,
    measure: str,
    last: int,
    as_json: bool,
) -> None:
    stored = selector.read(SIZE_FILES, since)
    configs = {entry.config for entry in stored.entries}
    budgets = {config: _read_budgets(selector.repository, config) for config in sorted(configs)}
    trends = make_trends(stored.entries, variant=variant, measure=measure, budgets=budgets)
    if as_json:
        show_json(SizeHistory(trends=trends, unreadable=stored.unreadable))
        return
    what = f"{variant} {measure}".strip()
    shown = ("\n".join(_draw(trend, last)) for trend in trends)
    show("\n\n".join(shown) or f"found no size of {what} in {count(len(stored.entries), 'commit')}")


def _read_budgets(repository: Path, config: str) -> tuple[Budget, ...]:
    file, _ = split(config)
    if not is_inside(file) or not (repository / file).is_file():
        return ()
    try:
        return load_config(repository / config).config.budgets
    except InputError as error:
        open_console().warn(f"no budgets: {error.message}")
        return ()


def _draw(trend: SizeTrend, last: int) -> Iterator[str]:
    quick = "quick trims" if trend.quick else ""
    title = (trend.config, trend.artifact, trend.variant, trend.measure, quick)
    yield " ".join(filter(None, title))
    shown = trend.points[-last:] if last else trend.points
    if left := len(trend.points) - len(shown):
        yield f"  {left} earlier commit{'s' if left > 1 else ''}: --last 0 shows all"
    header = ("day", "commit", "bytes", "size", "change", "what changed most")
    left_aligned = ("day", "commit", "what changed most")
    yield from align_columns(header, [_make_row(each) for each in shown], left_aligned)
    yield from (f"  {line}" for line in _sum_up(trend))


def _make_row(point: SizePoint) -> tuple[str, ...]:
    return (
        point.committed_at[:10],
        point.commit[:_COMMIT_DIGITS],
        group_digits(point.size_bytes),
        format_bytes(point.size_bytes),
        "" if point.growth_bytes is None else format_growth(point.growth_bytes),
        ", ".join(f"{e.component} {format_growth(e.growth_bytes)}" for e in point.components),
    )


def _sum_up(trend: SizeTrend) -> Iterator[str]:
    first = trend.points[0]
    newest = trend.points[-1]
    if len(trend.points) > 1:
        share = f" ({trend.growth_bytes / first.size_bytes:+.1%})" if first.size_bytes else ""
        commits = f"{count(len(trend.points), 'commit')} since {first.committed_at[:10]}"
        yield f"{commits}: {format_growth(trend.growth_bytes)}{share}"
        yield f"trend: {_draw_bars([point.size_bytes for point in trend.points])}"
    for step in trend.find_steps():
        place = f"{step.commit[:_COMMIT_DIGITS]} on {step.committed_at[:10]}"
        yield f"changed most: {format_growth(step.growth_bytes or 0)} at {place}"
    if trend.max_bytes is not None and trend.left_bytes is not None:
        left = trend.left_bytes
        most = format_bytes(trend.max_bytes)
        state = f"{format_bytes(left)} left" if left >= 0 else f"{format_bytes(-left)} over it"
        yield f"budget: {format_bytes(newest.size_bytes)} of {most}, {state}"


def _draw_bars(sizes: Sequence[int]) -> str:
    shown = sizes[-_MOST_BARS:]
    low = min(shown)
    high = max(shown)
    highest = len(_BARS) - 1
    span = high - low or 1
    return "".join(_BARS[(each - low) * highest // span] for each in shown)
