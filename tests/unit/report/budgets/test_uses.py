"""How much of each limit is used."""

from __future__ import annotations

import pytest

from megtrim.report.budgets.uses import list_uses, name_row
from unit.verdict.examples import budget


def test_a_soft_limit_stands_in_for_a_hard_one() -> None:
    """Where there are both, the hard one counts."""
    soft = budget(max_bytes=None, warn_bytes=9, growth_max_bytes=None, warn_growth_bytes=8)
    both = budget(warn_bytes=9, warn_growth_bytes=8)

    assert [(use.limits, use.limit_bytes) for use in list_uses(soft)] == [
        ("size, warns", 9),
        ("growth, warns", 8),
    ]
    assert [use.limits for use in list_uses(both)] == ["size", "growth"]
    assert list(list_uses(budget(max_bytes=None, growth_max_bytes=None))) == []


@pytest.mark.parametrize(
    ("size_bytes", "cells"),
    [
        (512, ("512 B", "1 KiB", "512 B", "50.0%")),
        (1024, ("1 KiB", "1 KiB", "0 B", "0.0%")),
        (1536, ("1.5 KiB", "1 KiB", "-512 B", "-50.0%")),
    ],
)
def test_what_is_left_has_bytes_and_percent(size_bytes: int, cells: tuple[str, ...]) -> None:
    """Too much is less than nothing."""
    (use, _) = list_uses(budget(size_bytes=size_bytes, max_bytes=1024))

    assert use.list_cells() == cells


def test_a_budget_has_the_name_that_a_waiver_uses() -> None:
    """With its variant and its measure."""
    assert name_row(budget(variant="plain", measure="loaded")) == "load_and_run/plain loaded"
