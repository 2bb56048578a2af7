"""The picture of a series over nights, its changes and its gaps."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from megtrim.perf.report.history import HEIGHT, history_pictures
from unit.verdict.performance_examples import (
    nights,
)


def test_missing_nights_are_gaps() -> None:
    """Points have places by date, and no line crosses a night that is missing."""
    (picture,) = history_pictures((nights(10, gap=range(4, 6)),))

    assert len(picture.nights) == 8
    assert len(picture.lines) == 6
    assert "2 missing" in picture.text
    places = [float(night.x[:-1]) for night in picture.nights]
    steps = [after - before for before, after in itertools.pairwise(places)]
    assert max(steps) == pytest.approx(3 * min(steps), abs=0.01)
    assert (picture.first, picture.last) == ("2026-03-01", "2026-03-10")


def test_a_change_stands_between_two_nights() -> None:
    """Numbered, and explained in words; a change outside of the nights is not drawn."""
    (picture,) = history_pictures((nights(60),))
    (change,) = picture.changes

    assert (change.number, change.tone) == (1, "slower")
    assert change.text == "2026-04-10: slower, ratio 1.050"
    before, after = picture.nights[35], picture.nights[36]
    assert float(before.x[:-1]) < float(change.x[:-1]) < float(after.x[:-1])
    late = replace(nights(60), points=nights(60).points[:10])
    assert history_pictures((late,))[0].changes == ()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_short_histories(count: int) -> None:
    """One night is a point, and all is inside of the picture; none is no picture."""
    series = replace(nights(count), changes=())
    (picture,) = history_pictures((series,))

    assert len(picture.lines) == count - 1
    for night in picture.nights:
        assert 0 <= float(night.upper) <= float(night.y) <= float(night.lower) <= HEIGHT
        assert 0 < float(night.x[:-1]) < 100
    assert history_pictures((replace(series, points=()),)) == ()
