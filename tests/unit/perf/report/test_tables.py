"""The tables of times: in a terminal, in Markdown, on the page."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from megtrim.experiments.contest import PerformanceStatus
from megtrim.perf.report import tables
from megtrim.report import comment, html, table
from megtrim.verdict.join import join
from unit.verdict.examples import facts, passing
from unit.verdict.performance_examples import (
    REGRESSED,
    hostile_performance,
    many,
    performance,
    ratio,
    row,
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
    """The columns of the engine's own pages, aligned although Chinese characters are wider."""
    assert tables.text(SHORT).splitlines() == [
        "times: 2 measured, 1 skipped",
        "",
        "resnet18-s/default@any",
        (
            "  experiment   模型配置 prepare (ms)   模型预热 warm-up (ms)  模型推理 inference (ms)"
            "       ratio to baseline  ratio to earlier  result"
        ),
        (
            "  ----------  ----------------------  ----------------------  -----------------------"
            "  ----------------------  ----------------  --------------------------------------"
        ),
        (
            "  baseline    1.600 (1.568 to 1.632)  28.50 (27.93 to 29.07)   5.200 (5.096 to 5.304)"
            "                       -                 -  measured"
        ),
        (
            "  fast-run    1.600 (1.568 to 1.632)  1,822 (1,785 to 1,858)   3.900 (3.822 to 3.978)"
            "  0.750 (0.730 to 0.770)                 -  measured"
        ),
        (
            "  nchw44-dot                       -                       -                        -"
            "                       -                 -  skipped: the device has no dot product"
        ),
    ]
    assert tables.text(SHORT) in table.render(join(facts(performance=SHORT)))


def test_both_warm_ups_are_shown() -> None:
    """Where a program has two."""
    fast_run = tables.tables(performance())[0].lines[1]

    assert fast_run.numbers[1] == "1,822 (1,785 to 1,858) / 12.25 (12.00 to 12.50)"


def test_for_markdown() -> None:
    """A line in short, rows that need a person by name, and a folded table; in a comment, too."""
    short = tables.markdown_summary(performance())
    page = comment.render(timed())

    assert "regressed: `resnet18-s/default@any nchw44`" in short
    assert "❔ unproven: `resnet18-s/default@any weight-preprocess`" in short
    assert "nchw44-dot" not in short
    assert short in page
    assert (
        "| `nchw44-dot` | - | - | - | - | - | ◽ skipped: the device has no dot product |" in page
    )
    assert "模型配置 prepare (ms) | 模型预热 warm-up (ms) | 模型推理 inference (ms)" in page
    assert "What trimming does to speed" in page


def test_what_a_reader_must_know_of_a_row() -> None:
    """Samples left out, conditions, emulation, and times that no log printed."""
    estimated = tuple(replace(each, by_run_length=True) for each in times(5.0))
    odd = row(emulated=True, times=estimated)
    (found,) = tables.tables(performance(rows=(odd,)))
    (hot,) = tables.tables(performance(rows=(REGRESSED,)))

    assert found.lines[0].remarks == (
        "emulated: says nothing about a device",
        "times from runs of different lengths",
    )
    assert hot.lines[0].remarks == (
        "left out: 3, throttled",
        "throttled after the run: policy4 is held to 1800 MHz of 2400 MHz",
    )
    assert hot.lines[0].chip == "fail"
    assert hot.lines[0].processes == "12 processes, spread 1.8%"


@pytest.mark.parametrize(("inconclusive", "chip"), [("fail", "fail"), ("warn", "inconclusive")])
def test_an_open_answer_is_called_unproven(inconclusive: str, chip: str) -> None:
    """In the colour of its check."""
    line = tables.tables(performance(inconclusive=inconclusive))[0].lines[5]

    assert (line.word, line.chip) == ("unproven", chip)


def test_many_rows_are_bounded_where_space_is() -> None:
    """A terminal and a comment show a hundred and say so; the page has all."""
    verdict = join(facts(performance=many()))
    page = html.render(verdict)

    assert "400 more in the HTML report" in tables.text(many())
    assert len(comment.render(verdict).encode()) <= comment.LIMIT
    assert page.count("<code>experiment-7</code>") == 10
    assert tables.text(many(0)) == "times: none"


def test_without_times_nothing_changes() -> None:
    """Neither words nor style."""
    for text in (html.render(passing()), comment.render(passing()), table.render(passing())):
        assert "performance" not in text
        assert "time-bar" not in text
        assert "inference" not in text


def test_hostile_names_stay_text() -> None:
    """In no form do they become markup, and long remarks are bounded."""
    verdict = join(facts(performance=hostile_performance()))
    page, remark = html.render(verdict), comment.render(verdict)

    for text in (page, remark, table.render(verdict)):
        assert "\x1b" not in text
        assert "\ud800" not in text
        assert "x" * 20_001 not in text
    outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", remark, flags=re.DOTALL | re.MULTILINE)
    for text in (page, outside):
        assert "<script>alert" not in text
    assert len(outside) < len(remark)
