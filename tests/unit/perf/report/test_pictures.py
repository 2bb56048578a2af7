import itertools
import re
from dataclasses import replace

import pytest

from megtrim.experiments.contest import PerformanceStatus
from megtrim.perf.report.pictures import (
    HISTORY_HEIGHT,
    MOST_BARS,
    history_pictures,
    size_speed_pictures,
    time_pictures,
)
from megtrim.perf.rows import Performance
from megtrim.report import html
from megtrim.verdict.join import join
from unit.report.test_html import Page
from unit.verdict.examples import facts
from unit.verdict.performance_examples import (
    TRIMMING,
    hostile_performance,
    many,
    nights,
    performance,
    ratio,
    row,
    skipped,
    times,
    variant,
)

NOTHING = performance(rows=(), trimming=(), history=())


def test_bars_share_a_scale_from_zero() -> None:
    (picture,) = time_pictures(
        performance(rows=(row(times=times(4.0)), row("b", times=times(2.0), ratios=(ratio(0.5),))))
    )
    first, second = picture.bars

    assert picture.baseline == first.width
    assert float(first.width[:-1]) == pytest.approx(2 * float(second.width[:-1]), abs=0.01)
    assert (first.tone, second.tone, second.word) == ("neither", "faster", "faster")
    assert second.ratio == "0.500 (0.480 to 0.520)"
    assert float(first.lower[:-1]) < float(first.width[:-1]) < float(first.upper[:-1]) < 100
    assert picture.ticks[0].text == "0 ms" and picture.ticks[0].anchor == "start"


def test_a_bar_that_is_too_long_is_cut_and_says_so() -> None:
    (picture,) = time_pictures(performance(rows=(row(), row("slow", times=times(520.0)))))

    assert [(bar.cut, bar.open_ended) for bar in picture.bars] == [(False, False), (True, True)]
    assert picture.bars[1].width == "100.000%"
    assert float(picture.baseline[:-1]) > 30


def test_an_interval_without_an_end_reaches_the_edge() -> None:
    time = replace(times(5.0)[-1], upper_ms=None)
    (picture,) = time_pictures(performance(rows=(row(times=(time,)),)))

    assert picture.bars[0].open_ended
    assert (picture.bars[0].upper, picture.bars[0].time) == ("100.000%", "5.000 (4.900 or more) ms")


def test_only_times_that_count_are_drawn() -> None:
    wrong = row("wrong", status=PerformanceStatus.WRONG_OUTPUTS, reason="differs")
    (picture,) = time_pictures(performance(rows=(row(), wrong)))

    assert [bar.name for bar in picture.bars] == ["baseline"]
    assert picture.note == "1 without a time that counts are in the table"
    lost = skipped("a", PerformanceStatus.SKIPPED, "no CUDA here")
    assert time_pictures(performance(rows=(lost,))) == ()


def test_many_bars_are_bounded() -> None:
    rows = tuple(row(f"e{number}") for number in range(500))
    (picture,) = time_pictures(performance(rows=rows))

    assert len(picture.bars) == MOST_BARS
    assert picture.note == "440 more are in the table"


@pytest.mark.parametrize(
    "what", [performance(), NOTHING, many(1), many(), hostile_performance()], ids=str.__class__
)
def test_the_page_is_well_formed(what: Performance) -> None:
    verdict = join(facts(performance=what))
    text = html.render(verdict)
    page = Page(text)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]

    assert page.open == []
    assert len(set(ids)) == len(ids)
    assert text == html.render(verdict)
    for tag, attributes in page.elements:
        assert set(attributes.get("aria-labelledby", "").split()) <= set(ids)
        assert "style" not in attributes
        if tag == "svg" and attributes.get("role") == "img":
            assert attributes["aria-labelledby"]
        for name in ("x", "x1", "x2", "cx", "width"):
            if attributes.get(name, "").endswith("%"):
                assert 0 <= float(attributes[name][:-1]) <= 100
    assert text.count('id="performance"') == text.count('href="#performance"') == 1
    assert not re.search(r">nan|\bNone\b|inf%", text)


def test_the_times_of_a_stage_are_those_shown() -> None:
    (picture,) = time_pictures(performance(rows=(row(times=times(4.0, warm_up_ms=9_000)),)))

    assert picture.bars[0].time.startswith("4.000")


def test_missing_nights_are_gaps() -> None:
    (picture,) = history_pictures((nights(10, gap=range(4, 6)),))

    assert len(picture.nights) == 8
    assert len(picture.lines) == 6
    assert "2 missing" in picture.text
    places = [float(night.x[:-1]) for night in picture.nights]
    steps = [after - before for before, after in itertools.pairwise(places)]
    assert max(steps) == pytest.approx(3 * min(steps), abs=0.01)
    assert (picture.first, picture.last) == ("2026-03-01", "2026-03-10")


def test_a_change_stands_between_two_nights() -> None:
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
    series = replace(nights(count), changes=())
    (picture,) = history_pictures((series,))

    assert len(picture.lines) == count - 1
    for night in picture.nights:
        assert 0 <= float(night.upper) <= float(night.y) <= float(night.lower) <= HISTORY_HEIGHT
        assert 0 < float(night.x[:-1]) < 100
    assert history_pictures((replace(series, points=()),)) == ()


def test_size_against_speed() -> None:
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
    names = tuple(variant(f"v{number}", 1000, 5.0) for number in range(5))
    (picture,) = size_speed_pictures(performance(trimming=(replace(TRIMMING, variants=names),)))
    heights = sorted(float(point.label_y) for point in picture.points)

    assert all(after - before >= 15 for before, after in itertools.pairwise(heights))
