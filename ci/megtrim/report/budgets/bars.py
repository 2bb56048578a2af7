"""How much of each limit of a budget is used, as a bar with marks at the limits. Pure.

A hard limit fails, a soft one warns. Positions are percentages of the bar's width.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from megtrim.config.units import format_bytes, format_growth
from megtrim.report.budgets.uses import list_limits
from megtrim.report.formatting import percent, width_of
from megtrim.verdict.model import BudgetRow


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetBar:
    """One limit, or a soft and a hard one of the same number."""

    title: str
    used: str
    limit: str
    """Position of the hard limit, or empty."""
    warn: str
    """Position of the soft one, or empty."""
    tone: str
    """within, near (at or beyond the soft limit), or over (beyond the hard one)."""
    text: str
    """What is used and what is left, and of what."""


def draw_budget(row: BudgetRow) -> tuple[BudgetBar, ...]:
    """Return the bars of a budget's size and growth, as far as they are limited."""
    bars = (_draw(*each) for each in list_limits(row))
    return tuple(bar for bar in bars if bar is not None)


def _draw(title: str, used: int | None, limit: int | None, warn: int | None) -> BudgetBar | None:
    highest = max((each for each in (limit, warn) if each is not None), default=None)
    if highest is None:
        return None
    drawn = max(used or 0, 0)
    # Some space beyond the limits shows them as marks, not as the edge of the chart.
    scale = max(drawn, highest * 26 // 25, 1)
    tone = "within"
    if used is not None and limit is not None and used > limit:
        tone = "over"
    elif used is not None and warn is not None and used >= warn:
        tone = "near"
    return BudgetBar(
        title=title,
        used=width_of(drawn, scale),
        limit="" if limit is None else width_of(limit, scale),
        warn="" if warn is None else width_of(warn, scale),
        tone=tone,
        text="; ".join(_describe(title, used, limit, warn)),
    )


def _describe(title: str, used: int | None, limit: int | None, warn: int | None) -> Iterator[str]:
    growth = title == "growth"
    if used is None:
        yield "no baseline to compare with"
        return
    size = format_growth(used) if growth else format_bytes(used)
    if limit is None:
        yield size
    else:
        allowed = f"{format_bytes(limit)} allowed" if growth else format_bytes(limit)
        yield f"{size} of {allowed}, {_describe_room(limit, used)}"
    if warn is not None:
        room = f"{format_bytes(used - warn)} above" if used >= warn else _describe_room(warn, used)
        yield f"warning from {format_bytes(warn)} on, {room}"


def _describe_room(limit_bytes: int, used_bytes: int) -> str:
    """Return what is left of a limit, in bytes and percent: ``12 KiB (4.1%) left``."""
    left = limit_bytes - used_bytes
    share = f" ({percent(left / limit_bytes)})" if limit_bytes else ""
    return f"{format_bytes(left)}{share} left" if left >= 0 else f"{format_bytes(-left)} too many"
