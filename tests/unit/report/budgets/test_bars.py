"""How much of a budget is used, drawn."""

from __future__ import annotations

import pytest

from megtrim.report.budgets.bars import BudgetBar, draw_budget
from unit.verdict.examples import budget


def size_bar(**changes: int | None) -> BudgetBar | None:
    """Return the bar of a size alone."""
    return next(iter(draw_budget(budget(growth_max_bytes=None, **changes))), None)


def growth_bar(**changes: int | None) -> BudgetBar | None:
    """Return the bar of growth alone."""
    return next(iter(draw_budget(budget(max_bytes=None, **changes))), None)


def test_a_budget_shows_what_is_left_and_where_the_limit_is() -> None:
    """Within its limit the bar ends before the mark, beyond it after."""
    within = size_bar(size_bytes=1024, max_bytes=2048)
    beyond = size_bar(size_bytes=4096, max_bytes=2048)
    exact = size_bar(size_bytes=2048, max_bytes=2048)

    assert within is not None and beyond is not None and exact is not None
    assert (within.used, within.limit, within.tone) == ("48.098%", "96.195%", "within")
    assert within.text == "1 KiB of 2 KiB, 1 KiB (50.0%) left"
    assert (beyond.used, beyond.limit, beyond.tone) == ("100.000%", "50.000%", "over")
    assert beyond.text == "4 KiB of 2 KiB, 2 KiB too many"
    assert (exact.tone, exact.text) == ("within", "2 KiB of 2 KiB, 0 B (0.0%) left")
    assert size_bar(max_bytes=None) is None


@pytest.mark.parametrize(
    ("size_bytes", "tone", "room"),
    [
        (1023, "within", "513 B (33.4%) left"),
        (1536, "near", "0 B above"),
        (2048, "near", "512 B above"),
        (2049, "over", "513 B above"),
    ],
)
def test_a_soft_limit_has_a_mark_of_its_own(size_bytes: int, tone: str, room: str) -> None:
    """From it on there is a warning; beyond the hard one there is a failure."""
    bar = size_bar(size_bytes=size_bytes, max_bytes=2048, warn_bytes=1536)

    assert bar is not None
    assert (bar.tone, bar.warn < bar.limit) == (tone, True)
    assert bar.text.endswith(f"; warning from 1.5 KiB on, {room}")


def test_a_soft_limit_may_stand_alone() -> None:
    """Then nothing fails."""
    bar = size_bar(size_bytes=3072, max_bytes=None, warn_bytes=1024)

    assert bar is not None
    assert (bar.limit, bar.warn, bar.tone) == ("", "33.333%", "near")
    assert bar.text == "3 KiB; warning from 1 KiB on, 2 KiB above"


def test_growth_has_a_bar_of_its_own() -> None:
    """Shrinking uses nothing of it; without a baseline there is nothing to draw."""
    grown = growth_bar(growth_bytes=32_768)
    shrunken = growth_bar(growth_bytes=-1024)
    first = growth_bar(growth_bytes=None)
    soft = growth_bar(growth_bytes=512, growth_max_bytes=None, warn_growth_bytes=1024)

    assert grown is not None and shrunken is not None and first is not None and soft is not None
    assert (grown.used, grown.limit, grown.tone) == ("100.000%", "50.000%", "over")
    assert grown.text == "+32 KiB of 16 KiB allowed, 16 KiB too many"
    assert (shrunken.used, shrunken.tone) == ("0.000%", "within")
    assert shrunken.text == "-1 KiB of 16 KiB allowed, 17 KiB (106.2%) left"
    assert (first.used, first.text) == ("0.000%", "no baseline to compare with")
    assert soft.text == "+512 B; warning from 1 KiB on, 512 B (50.0%) left"
    assert growth_bar(growth_max_bytes=None) is None
    assert growth_bar(growth_bytes=0, growth_max_bytes=0) is not None


def test_a_budget_of_one_byte_is_drawn_to_scale() -> None:
    """Small numbers are no special case."""
    bar = size_bar(size_bytes=1, max_bytes=1)

    assert bar is not None
    assert (bar.used, bar.limit) == ("100.000%", "100.000%")


def test_size_and_growth_are_next_to_each_other() -> None:
    """A budget may have both."""
    assert [bar.title for bar in draw_budget(budget())] == ["size", "growth"]
