"""How sizes changed over commits."""

from __future__ import annotations

from megtrim.size.budgets import Baseline
from megtrim.size.history import make_trends

REDUCED = ("app", "reduced")


def stored(commit: str, day: int, size_bytes: int, *, quick: bool = False) -> Baseline:
    at = f"2026-11-{day:02}T02:00:00Z" if commit else ""
    sizes = {REDUCED: size_bytes, ("app", "plain"): 9 * size_bytes}
    return Baseline(source="", sizes=sizes, quick=quick, commit=commit, committed_at=at)


def test_points_are_in_the_order_of_commits() -> None:
    """Each with its growth since the one before; a commit counts once."""
    files = [stored("c", 3, 90), stored("a", 1, 100), stored("b", 2, 130), stored("b", 2, 130)]

    (trend,) = make_trends(files, variant="reduced")

    assert (trend.artifact, trend.variant) == REDUCED
    assert [(each.commit, each.size_bytes, each.growth_bytes) for each in trend.points] == [
        ("a", 100, None),
        ("b", 130, 30),
        ("c", 90, -40),
    ]


def test_what_has_no_place_is_left_out() -> None:
    """Quick trims start from another build, and sizes without a commit have no order."""
    assert make_trends([stored("", 1, 100), stored("a", 1, 100, quick=True)]) == ()


def test_every_variant_has_a_trend() -> None:
    """By name."""
    assert [each.variant for each in make_trends([stored("a", 1, 1)])] == ["plain", "reduced"]
