"""How sizes changed over commits."""

from __future__ import annotations

from dataclasses import replace

from megtrim.config.model import Budget
from megtrim.size.history import make_trends
from support.size_history import make_sizes


def test_points_are_in_the_order_of_commits() -> None:
    """Each with its growth since the one before."""
    entries = [make_sizes(3, 90), make_sizes(1, 100), make_sizes(2, 130)]

    (trend,) = make_trends(entries, variant="reduced")

    assert (trend.config, trend.artifact, trend.variant) == ("megtrim.yaml", "app", "reduced")
    assert [
        (int(each.commit, 16), each.size_bytes, each.growth_bytes) for each in trend.points
    ] == [
        (1, 100, None),
        (2, 130, 30),
        (3, 90, -40),
    ]
    assert trend.growth_bytes == -10


def test_a_commit_counts_once() -> None:
    """The larger size does, in whatever order they are read: none hides growth."""
    entries = [make_sizes(1, 100, run=7), make_sizes(1, 90, run=12), make_sizes(1, 80)]

    for order in (entries, entries[::-1]):
        (trend,) = make_trends(order, variant="reduced")
        assert [each.size_bytes for each in trend.points] == [100]


def test_configurations_and_quick_trims_keep_apart() -> None:
    """One commit has a size under each; quick trims start from another build."""
    entries = [
        make_sizes(1, 100),
        make_sizes(1, 50, quick=True),
        make_sizes(1, 70, config="megtrim.yaml#arm64"),
    ]

    found = make_trends(entries, variant="reduced")

    assert [(each.config, each.quick, each.points[-1].size_bytes) for each in found] == [
        ("megtrim.yaml", False, 100),
        ("megtrim.yaml", True, 50),
        ("megtrim.yaml#arm64", False, 70),
    ]


def test_every_variant_has_a_trend() -> None:
    """By name."""
    assert [each.variant for each in make_trends([make_sizes(1, 1)])] == ["plain", "reduced"]


def test_a_point_says_which_components_changed_most() -> None:
    """The largest changes first, three at most; what one of both does not say is not guessed."""
    entries = [
        make_sizes(1, 100),
        make_sizes(2, 100, a=10, b=10, c=10, d=10),
        make_sizes(3, 140, a=10, b=40, c=5, d=11, e=1),
    ]

    (trend,) = make_trends(entries, variant="reduced")

    changes = [
        [(each.component, each.growth_bytes) for each in point.components] for point in trend.points
    ]
    assert changes == [[], [], [("b", 30), ("other", 13), ("c", -5)]]


def test_the_largest_steps_come_first() -> None:
    """Growth or not; what stayed as it was is no step."""
    sizes = (100, 130, 130, 90, 95)
    (trend,) = make_trends(
        [make_sizes(day, size) for day, size in enumerate(sizes, start=1)], variant="reduced"
    )

    assert [each.growth_bytes for each in trend.find_steps()] == [-40, 30, 5]
    assert [each.growth_bytes for each in trend.find_steps(1)] == [-40]


def test_any_measure_has_a_trend() -> None:
    """A commit that does not say it has no point."""
    silent = make_sizes(2, 100)
    silent = replace(
        silent,
        artifacts={"app": {"reduced": replace(silent.artifacts["app"]["reduced"], measures={})}},
    )

    (trend,) = make_trends([make_sizes(1, 100), silent], variant="reduced", measure="deflated")

    assert (trend.measure, [each.size_bytes for each in trend.points]) == ("deflated", [50])
    assert make_trends([silent], measure="loaded") == ()


def test_a_budget_is_shown_with_what_it_leaves() -> None:
    """Of the same file and measure; a share is one of the plain build."""

    def find(budget: dict[str, object]) -> tuple[int | None, int | None]:
        budgets = {"megtrim.yaml": (Budget.model_validate({"artifact": "app", **budget}),)}
        (trend,) = make_trends([make_sizes(1, 1000)], variant="reduced", budgets=budgets)
        return trend.max_bytes, trend.left_bytes

    assert find({"max": "900 B"}) == (900, -100)
    assert find({"max": "20%"}) == (1800, 800)
    assert find({"max": "900 B", "size": "deflated"}) == (None, None)
    assert find({"growth": "1 KiB"}) == (None, None)
