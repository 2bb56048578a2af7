"""The picture of size against speed."""

from __future__ import annotations

import itertools
from dataclasses import replace

from megtrim.experiments.contest import PerformanceStatus
from megtrim.perf.report.size_speed import size_speed_pictures
from unit.verdict.performance_examples import (
    TRIMMING,
    performance,
    variant,
)


def test_size_against_speed() -> None:
    """Smaller is to the left, faster is down, and names that would overlap are apart."""
    (picture,) = size_speed_pictures(performance())
    plain, region, reduced = picture.points

    assert float(plain.x[:-1]) > float(region.x[:-1]) > float(reduced.x[:-1])
    assert float(reduced.y) > float(plain.y)
    assert abs(float(region.label_y) - float(reduced.label_y)) >= 17
    assert (plain.anchor, reduced.anchor) == ("end", "start")
    assert "region: 2.8 MiB, 5.240 (5.135 to 5.345) ms, ratio to plain 1.008" in picture.text
    unmeasured = replace(
        TRIMMING, variants=(replace(variant("plain", 9, 1.0), time=None),),
        status=PerformanceStatus.FAILED, reason="it crashed",
    )  # fmt: skip
    assert size_speed_pictures(performance(trimming=(unmeasured,))) == ()


def test_equal_variants_do_not_hide_their_names() -> None:
    """Five points in one place have five lines."""
    names = tuple(variant(f"v{number}", 1000, 5.0) for number in range(5))
    (picture,) = size_speed_pictures(performance(trimming=(replace(TRIMMING, variants=names),)))
    heights = sorted(float(point.label_y) for point in picture.points)

    assert all(after - before >= 15 for before, after in itertools.pairwise(heights))
