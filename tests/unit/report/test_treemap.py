"""Tiles fill their frame in the ratio of their values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.report.treemap import Tile, layout


def test_the_example_of_the_paper() -> None:
    """Values 6, 6, 4, 3, 2, 2, 1 in a frame of 6 by 4 (Bruls, Huizing, van Wijk, figure 6)."""
    tiles = layout([6, 6, 4, 3, 2, 2, 1], width=6, height=4)

    rounded = [
        tuple(round(value, 2) for value in (tile.x, tile.y, tile.width, tile.height))
        for tile in tiles
    ]
    assert rounded == [
        (0, 0, 3, 2),
        (0, 2, 3, 2),
        (3, 0, 1.71, 2.33),
        (4.71, 0, 1.29, 2.33),
        (3, 2.33, 1.2, 1.67),
        (4.2, 2.33, 1.2, 1.67),
        (5.4, 2.33, 0.6, 1.67),
    ]


def test_nothing_and_one() -> None:
    """No value, no tile; one value, the whole frame."""
    assert layout([], width=3, height=2) == ()
    assert layout([7], width=3, height=2) == (Tile(x=0, y=0, width=3, height=2),)


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=60))
def test_areas_are_in_ratio_and_inside(values: list[int]) -> None:
    """Whatever the values, nothing lies outside, overlaps are ruled out by the sum of areas."""
    values.sort(reverse=True)
    tiles = layout(values, width=100, height=34)

    for value, tile in zip(values, tiles, strict=True):
        assert tile.width * tile.height == pytest.approx(3400 * value / sum(values), rel=1e-6)
        assert -1e-6 <= tile.x <= tile.x + tile.width <= 100 + 1e-6
        assert -1e-6 <= tile.y <= tile.y + tile.height <= 34 + 1e-6
    corners = [(round(tile.x, 6), round(tile.y, 6)) for tile in tiles]
    assert len(set(corners)) == len(corners)
