import itertools
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import pytest
from junitparser import JUnitXml

from megtrim.core.config.problems import Place
from megtrim.core.report import comment, html, junit, table
from megtrim.core.timing.spec import PerformanceStatus, TimeStage
from megtrim.core.timing.times import Answer, StageTime, ratio_with_interval
from megtrim.core.verdict.join import join
from megtrim.core.verdict.performance import Performance, PerformanceRow, performance_checks
from megtrim.libs.render.formatting import milliseconds
from megtrim.times.report import tables
from megtrim.times.report.pictures import (
    HISTORY_HEIGHT,
    MOST_BARS,
    history_pictures,
    time_pictures,
)
from megtrim.times.report.tables import PROPERTIES_LIMIT, direction, properties, time_with_interval
from unit.core.report.test_html import Page
from unit.core.verdict.examples import HOSTILE, facts, passing
from unit.core.verdict.performance_examples import (
    REGRESSED,
    TRIMMING,
    hostile_performance,
    many,
    nights,
    performance,
    ratio,
    row,
    since,
    skipped,
    timed,
    times,
)

SHORT = performance(
    rows=(
        row(),
        row("fast-run", times=times(3.9, warm_up_ms=1821.5), ratios=(ratio(0.75),)),
        skipped("nchw44-dot", PerformanceStatus.SKIPPED, "the device has no dot product"),
    ),
    trimming=(),
    history=(),
)


def test_for_a_terminal() -> None:
    assert tables.text(SHORT).splitlines() == [
        "times: 2 measured, 1 skipped",
        "",
        "resnet18-s/default@any",
        (
            "  experiment            prepare (ms)            warm-up (ms)          inference (ms)"
            "       ratio to baseline  ratio to earlier  result"
        ),
        (
            "  ----------  ----------------------  ----------------------  ----------------------"
            "  ----------------------  ----------------  --------------------------------------"
        ),
        (
            "  baseline    1.600 (1.568 to 1.632)  28.50 (27.93 to 29.07)  5.200 (5.096 to 5.304)"
            "                       -                 -  measured"
        ),
        (
            "  fast-run    1.600 (1.568 to 1.632)  1,822 (1,785 to 1,858)  3.900 (3.822 to 3.978)"
            "  0.750 (0.730 to 0.770)                 -  measured"
        ),
        (
            "  nchw44-dot                       -                       -                       -"
            "                       -                 -  skipped: the device has no dot product"
        ),
    ]
    verdict = join(facts(performance=SHORT))
    assert tables.text(SHORT) in table.render(verdict)
    for width, head in (
        (
            150,
            "  experiment            prepare (ms)            warm-up (ms)          inference (ms) ",
        ),
        (
            130,
            "  experiment            warm-up (ms)          inference (ms)       ratio to baseline ",
        ),
        (100, "  experiment          inference (ms)       ratio to baseline  result"),
    ):
        assert f"\n{head}" in table.render(verdict, width=width)


def whole_row(experiment: str = "baseline", **changes: Any) -> PerformanceRow:
    time = StageTime(
        stage=TimeStage.WHOLE_RUN,
        median_ms=20.0,
        lower_ms=19.5,
        upper_ms=21.0,
        processes=60,
        spread=0.02,
    )
    return row(experiment, **{"scenario": "pack@any", "whole": True, "times": (time,), **changes})


def test_commands_have_whole_runs_and_no_words_of_models() -> None:
    """Where models are beside them, each kind has a table of its own."""
    (time,) = whole_row().times
    compared = replace(since(1.1), stage=TimeStage.WHOLE_RUN)
    status = PerformanceStatus.REGRESSED
    slower = whole_row("baseline", ratios=(compared,), status=status)
    named = whole_row(
        "fast-run", times=(), status=PerformanceStatus.SKIPPED, reason="it has no such flag"
    )
    variants = [replace(each, time=time, ratio=None) for each in TRIMMING.variants]
    trimmed = replace(
        TRIMMING,
        scenario="pack@any",
        whole=True,
        variants=tuple(variants),
        status=PerformanceStatus.MEASURED,
        reason="",
    )
    series = replace(nights(), scenario="pack@any", whole=True)
    found = performance(rows=(slower, named), trimming=(trimmed,), history=(series,))
    shown = tables.text(found).splitlines()
    whole_page = html.render(join(facts(performance=found)))
    page = whole_page.partition('<section id="performance"')[2].partition("</section>")[0]
    texts = (*shown, *tables.markdown(found), *performance_texts(found), page)

    assert re.split(r"\s{2,}", shown[3].strip()) == list(tables.HEAD_OF_COMMANDS)
    assert "20.00 (19.50 to 21.00)" in shown[5]
    assert any("variant" in line and "whole run (ms)" in line for line in shown)
    assert "pack@any baseline.whole run.median_ms" in properties(found)
    assert ">whole run, by experiment" in page
    assert "whole run (ms) over nights" in page
    of_models = re.compile(r"inference|warm-up|prepare|iteration|model")
    assert [of_models.findall(text) for text in texts] == [[]] * len(texts)
    both = tables.trimming_tables(performance(trimming=(TRIMMING, trimmed)))
    assert [table.head[3] for table in both] == ["inference (ms)", "whole run (ms)"]


def performance_texts(found: Performance) -> list[str]:
    checks = performance_checks(found, start=Place(file="megtrim.yaml", line=1), places={})
    return [f"{each.text} {each.detail} {each.hint}" for each in checks]


def test_for_markdown() -> None:
    short = tables.markdown_summary(performance())
    page = comment.render(timed())

    assert "regressed: `resnet18-s/default@any nchw44`" in short
    assert "❔ unproven: `resnet18-s/default@any weight-preprocess`" in short
    assert "nchw44-dot" not in short
    assert short in page
    assert "| `nchw44-dot` | - | - | - | - | - | ◽ skipped: the device has no dot pro" in page
    assert "prepare (ms) | warm-up (ms) | inference (ms)" in page
    assert "What trimming does to speed" in page


def test_what_a_reader_must_know_of_a_row() -> None:
    fast_run = tables.tables(performance())[0].lines[1]
    assert fast_run.numbers[1] == "1,822 (1,785 to 1,858) / 12.25 (12.00 to 12.50)"
    estimated = tuple(replace(each, by_run_length=True) for each in times(5.0))
    odd = row(emulated=True, times=estimated)
    (found,) = tables.tables(performance(rows=(odd,)))
    (hot,) = tables.tables(performance(rows=(REGRESSED,)))

    assert found.lines[0].remarks == (
        "emulated: this tells you nothing about a device",
        "times from runs of different lengths",
    )
    assert hot.lines[0].remarks == (
        "left out: 3, throttled",
        "throttled after the run: policy4 is held to 1800 MHz of 2400 MHz",
    )
    assert (hot.lines[0].chip, hot.lines[0].processes) == ("fail", "12 processes, spread 1.8%")


@pytest.mark.parametrize(("inconclusive", "chip"), [("fail", "fail"), ("warn", "inconclusive")])
def test_an_open_answer_is_called_unproven(inconclusive: str, chip: str) -> None:
    line = tables.tables(performance(inconclusive=inconclusive))[0].lines[5]

    assert (line.word, line.chip) == ("unproven", chip)


def test_many_rows_are_bounded_where_space_is() -> None:
    verdict = join(facts(performance=many()))
    page = html.render(verdict)

    assert "400 more in the HTML report" in tables.text(many())
    assert len(comment.render(verdict).encode()) <= comment.LIMIT
    assert page.count("<code>experiment-7</code>") == 10
    assert tables.text(many(0)) == "times: none"


def test_without_times_nothing_changes() -> None:
    assert "median_ms" not in junit.render(passing())
    for text in (html.render(passing()), comment.render(passing()), table.render(passing())):
        assert "performance" not in text
        assert "time-bar" not in text
        assert "inference" not in text


def test_hostile_names_stay_text() -> None:
    assert HOSTILE not in junit.render(replace(timed(), warnings=(HOSTILE,)))
    verdict = join(facts(performance=hostile_performance()))
    page = html.render(verdict)
    remark = comment.render(verdict)

    for text in (page, remark, table.render(verdict)):
        assert "\x1b" not in text
        assert "\ud800" not in text
        assert "x" * 20_001 not in text
    outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", remark, flags=re.DOTALL | re.MULTILINE)
    for text in (page, outside):
        assert "<script>alert" not in text
    assert len(outside) < len(remark)


@pytest.mark.parametrize(
    ("time_ms", "shown"),
    [(0.0, "0.000"), (5.2131, "5.213"), (28.54, "28.54"), (120.06, "120.1"), (1821.5, "1,822")],
)
def test_four_digits_count(time_ms: float, shown: str) -> None:
    assert milliseconds(time_ms) == shown


def test_an_interval_may_have_no_upper_end() -> None:
    time = times(4.0)[-1]
    change = ratio(0.5)

    assert time_with_interval(replace(time, upper_ms=None)).endswith(" or more)")
    assert ratio_with_interval(change) == "0.500 (0.480 to 0.520)"
    assert ratio_with_interval(replace(change, upper=None)) == "0.500 (0.480 or more)"


@pytest.mark.parametrize(
    ("different", "value", "word"),
    [
        (Answer.YES, 0.5, "50% faster"),
        (Answer.YES, 0.75, "25% faster"),
        (Answer.YES, 1.051, "5.1% slower"),
        (Answer.NO, 0.5, "no difference"),
        (Answer.INCONCLUSIVE, 0.5, "unproven"),
    ],
)
def test_only_a_difference_has_a_direction(different: Answer, value: float, word: str) -> None:
    assert direction(replace(ratio(value), different=different)) == word


def test_what_needs_a_person_comes_first() -> None:
    wrong = skipped("a", PerformanceStatus.WRONG_OUTPUTS, "other outputs")
    failed = skipped("b", PerformanceStatus.FAILED, "it crashed")
    absent = skipped("c", PerformanceStatus.SKIPPED, "needs a GPU")

    shown = tables.markdown_summary(performance(rows=(absent, row(), failed, wrong), trimming=()))
    found = [line.partition(": ")[0][2:] for line in shown.splitlines()[2:]]
    assert found == ["❌ wrong outputs", "❌ failed"]


def suite(what: Performance) -> ET.Element:
    root = ET.fromstring(junit.render(join(facts(performance=what))))
    (found,) = (each for each in root if each.attrib["name"] == "megtrim.perf")
    return found


def test_a_case_for_each_row() -> None:
    cases = {case.attrib["name"]: case for case in suite(performance()).iter("testcase")}
    by_row = {name.partition(" ")[2]: [child.tag for child in case if child.tag != "system-out"]
              for name, case in cases.items() if "tuned" not in name}  # fmt: skip

    assert by_row == {
        "baseline": [], "fast-run": [], "full-run": [], "nchw44": ["failure"], "nchw88": [],
        "weight-preprocess": ["skipped"], "nchw44-dot": ["skipped"],
        "layout-transform": ["failure"], "fuse": ["failure"], "load_and_run trimming": [],
    }  # fmt: skip
    for name, message in (
        ("nchw44", "slower by more than the threshold"),
        ("nchw44-dot", "skipped: the device has no dot product"),
        ("weight-preprocess", "inconclusive: unproven: 20 minutes"),
    ):
        (child, *_) = cases[f"latency:resnet18-s/default@any {name}"]
        assert child.attrib["message"].startswith(message)


def test_numbers_are_properties() -> None:
    every = suite(performance()).iter("property")
    found = {each.attrib["name"]: each.attrib["value"] for each in every}
    name = "resnet18-s/default@any nchw44"

    assert found[f"{name}.status"] == "regressed"
    assert found[f"{name}.inference.median_ms"] == "4.9"
    assert found[f"{name}.inference.upper_ms"] == "4.998"
    assert found[f"{name}.inference.against main at 2981d114c5d7.ratio"] == "1.051"
    assert found[f"{name}.inference.against baseline.exceeds"] == "yes"
    assert found["resnet18-s/default@any load_and_run trimming.reduced.median_ms"] == "5.18"


@pytest.mark.parametrize("what", [many(1), many(), hostile_performance()])
def test_another_reader_reads_it(what: Performance) -> None:
    text = junit.render(join(facts(performance=what)))
    found = {each.name: each for each in JUnitXml.fromstring(text.encode())}

    assert found["megtrim.perf"].tests == len(what.all_rows)
    assert len(text.encode()) <= junit.LIMIT


def test_properties_are_bounded() -> None:
    rows = tuple(row(f"e{number}", scenario="&" * 400 + str(number)) for number in range(500))
    found = properties(performance(rows=rows))
    bytes_ = sum(len(name) + len(value) for name, value in found.items()) * 6

    assert 0 < bytes_ <= PROPERTIES_LIMIT
    assert f"{rows[0].subject}.status" in found
    assert f"{rows[-1].subject}.status" not in found


NOTHING = performance(rows=(), trimming=(), history=())


def test_bars_share_a_scale_from_zero() -> None:
    slow = row(times=times(4.0, warm_up_ms=9_000))
    fast = row("b", times=times(2.0), ratios=(ratio(0.5),))
    (picture,) = time_pictures(performance(rows=(slow, fast)))
    first, second = picture.bars

    assert picture.baseline == first.width
    assert first.time.startswith("4.000")
    assert float(first.width[:-1]) == pytest.approx(2 * float(second.width[:-1]), abs=0.01)
    assert (first.tone, first.word) == ("neither", "")
    assert (second.tone, second.word) == ("faster", "50% faster than baseline")
    assert second.ratio == "0.500 (0.480 to 0.520)"
    assert float(first.lower[:-1]) < float(first.width[:-1]) < float(first.upper[:-1]) < 100
    assert picture.ticks[0].text == "0 ms" and picture.ticks[0].anchor == "start"


def test_the_picture_of_a_regression_is_no_better_than_its_row() -> None:
    """An experiment that beats the baseline can be slower than it was."""
    [made] = [
        each for each in time_pictures(performance()) if any(b.name == "nchw44" for b in each.bars)
    ]
    [bar] = [each for each in made.bars if each.name == "nchw44"]

    assert bar.tone == "slower"
    assert bar.word.startswith("regressed: 5.1% slower than main at 2981d114c5d7, 5.8% faster")


def test_a_bar_that_is_too_long_or_has_no_end_reaches_the_edge() -> None:
    time = replace(times(5.0)[-1], upper_ms=None)
    ((bar,),) = (each.bars for each in time_pictures(performance(rows=(row(times=(time,)),))))
    assert (bar.open_ended, bar.cut, bar.upper) == (True, False, "100.000%")
    assert bar.time == "5.000 (4.900 or more) ms"
    (picture,) = time_pictures(performance(rows=(row(), row("slow", times=times(520.0)))))

    assert [(bar.cut, bar.open_ended) for bar in picture.bars] == [(False, False), (True, True)]
    assert picture.bars[1].width == "100.000%"
    assert float(picture.baseline[:-1]) > 30


def test_only_times_that_count_are_drawn_and_a_bounded_number() -> None:
    wrong = row("wrong", status=PerformanceStatus.WRONG_OUTPUTS, reason="differs")
    (picture,) = time_pictures(performance(rows=(row(), wrong)))

    assert [bar.name for bar in picture.bars] == ["baseline"]
    assert picture.note == "1 without a time that counts are in the table"
    lost = skipped("a", PerformanceStatus.SKIPPED, "no CUDA here")
    assert time_pictures(performance(rows=(lost,))) == ()
    (picture,) = time_pictures(performance(rows=tuple(row(f"e{n}") for n in range(500))))
    assert (len(picture.bars), picture.note) == (MOST_BARS, "440 more are in the table")


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
    before = picture.nights[35]
    after = picture.nights[36]
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
