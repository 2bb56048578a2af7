import json
from dataclasses import replace
from datetime import date
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.experiments.contest import PerformanceStatus
from megtrim.experiments.experiment import TimeStage
from megtrim.perf.nights.history import (
    LARGEST_RUN_BYTES,
    RUN_FILES,
    HistoryRun,
    combine,
    compare_runs,
    parse_run,
)
from megtrim.perf.times import Answer, SamplesLeftOut, StageTime
from megtrim.util.errors import InputError
from megtrim.util.strict_json import dump
from support.history_entries import make_lost_row, make_row, make_run

RUN = make_run(
    3, [make_row(), make_lost_row(PerformanceStatus.SKIPPED, "needs dot product", scenario="b")]
)


def write(run: HistoryRun) -> tuple[str, bytes]:
    return run.path, dump(run).encode()


def test_what_is_written_is_read_back() -> None:
    left_out = replace(
        make_row(scenario="c"), left_out=(SamplesLeftOut(reason="throttled", count=4),)
    )
    lost = make_lost_row(PerformanceStatus.FAILED, "signal 11", scenario="d")
    run = replace(RUN, rows=(*RUN.rows, left_out, lost))

    assert RUN_FILES.parse_file(*write(run)) == run


def test_the_name_says_when_what_and_which_content() -> None:
    folder, _, name = RUN.path.rpartition("/")

    assert folder == "runs/2026/01"
    assert name.startswith("20260104T020000Z-000000000000-")
    assert RUN.path == f"runs/2026/01/{RUN.id}.json"


@pytest.mark.parametrize(
    "other",
    [
        make_run(3, RUN.rows, device="pixel-7"),
        make_run(3, RUN.rows, job="1/2"),
        make_run(3, [make_row(40.000001)]),
    ],
)
def test_runs_of_one_second_and_commit_have_names_of_their_own(other: HistoryRun) -> None:
    assert other.path != RUN.path


def test_a_file_that_was_changed_is_refused() -> None:
    path, data = write(RUN)

    with pytest.raises(InputError, match="expected it under its own name"):
        RUN_FILES.parse_file(path, data.replace(b'"processes": 12', b'"processes": 13'))


def test_a_newer_version_asks_for_a_newer_megtrim() -> None:
    text = dump(RUN).replace('"version": 1', '"version": 2')

    with pytest.raises(InputError, match=r"x\.json:1: version: found 2, expected 1") as caught:
        parse_run(text, source="x.json")
    assert "update megtrim" in caught.value.hint


def test_a_broken_file_costs_itself_alone() -> None:
    early, late = make_run(0), make_run(40)
    path, data = write(RUN)
    line = data[: data.index(b'"device"')].count(b"\n") + 1
    broken = data.replace(b'"device": {', b'"device": {{')

    found = RUN_FILES.collect([write(late), (path, broken), write(early)])

    assert found.entries == (early, late)
    assert [each.path for each in found.unreadable] == [path]
    assert found.unreadable[0].message.startswith(f"{path}:{line}: found no JSON here")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"sha": "0', '"sha": "../', "commit"),
        ('"measured_at": "2026-01-04', '"measured_at": "2026-02-30', "measured_at"),
        ('"lower_ms": 39.6', '"lower_ms": 40.5', "interval"),
        ('"status": "measured"', '"status": "failed"', "reason"),
        ('"name": "pixel-6"', '"name": "pixel\\u001b[2J"', "one line"),
        ('"method": 1', '"method": 0', "method"),
        ('"processes": 12', '"processes": -1', "processes"),
        ('"spread": 0.012', '"spread": NaN', "finite"),
        ('"engine": "e', '"engine": "E', "sha256"),
        ('"job": ""', '"job": "", "extra": 1', "extra"),
    ],
)
def test_what_does_not_fit_is_refused(old: str, new: str, expected: str) -> None:
    text = dump(RUN)
    assert old in text

    with pytest.raises(InputError, match=expected) as caught:
        parse_run(text.replace(old, new), source="x.json")
    assert caught.value.message.startswith("x.json:1: ")


def test_a_row_comes_once() -> None:
    with pytest.raises(ValueError, match="twice"):
        make_run(0, [make_row(1.0), make_row(2.0)])


def test_a_huge_file_is_refused() -> None:
    with pytest.raises(InputError, match="at most 1,048,576"):
        RUN_FILES.parse_file(RUN.path, b" " * (LARGEST_RUN_BYTES + 1))


@pytest.mark.parametrize(
    "path",
    [
        "runs/2026/01/../../../etc/passwd",
        "/runs/2026/01/x.json",
        RUN.path + "\n",
        RUN.path.replace("/01/", "/02/"),
        RUN.path.replace("runs/", "runs//"),
        RUN.path.upper(),
        "",
    ],
)
def test_other_paths_are_no_runs(path: str) -> None:
    assert not RUN_FILES.is_path(path)
    assert RUN_FILES.select([path]) == ()


@given(st.text(), st.text(max_size=8))
def test_no_path_of_a_run_leads_out(start: str, end: str) -> None:
    for text in (start, start + RUN.path, RUN.path + end, RUN.path.replace("2026", start)):
        assert not RUN_FILES.is_path(text) or ".." not in PurePosixPath(text).parts


def test_since_is_decided_by_names() -> None:
    paths = [make_run(night).path for night in (0, 31, 62)]

    assert RUN_FILES.select(reversed(paths), date(2026, 2, 1)) == tuple(paths[1:])
    assert RUN_FILES.select(paths) == tuple(paths)


@given(st.binary(max_size=300) | st.from_regex(r"\{.*\}", fullmatch=True).map(str.encode))
def test_any_bytes_are_a_run_or_one_error(data: bytes) -> None:
    try:
        RUN_FILES.parse_file(RUN.path, data)
    except InputError as error:
        assert error.message.startswith(RUN.path)


@given(
    median_ms=st.floats(1e-6, 1e9),
    shares=st.tuples(st.floats(0, 0.9), st.floats(0, 10)),
    contestant=st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=30),
    stage=st.sampled_from(TimeStage),
)
def test_any_times_survive_a_file(
    median_ms: float, shares: tuple[float, float], contestant: str, stage: TimeStage
) -> None:
    time = StageTime(
        stage=stage,
        processes=3,
        median_ms=median_ms,
        lower_ms=median_ms * (1 - shares[0]),
        upper_ms=median_ms * (1 + shares[1]),
        spread=0.1,
    )
    row = replace(make_row(contestant=contestant), times=(time,))
    run = make_run(1, [row])

    assert RUN_FILES.parse_file(*write(run)) == run


def test_the_text_is_ordered_json() -> None:
    assert list(json.loads(dump(RUN)))[:3] == ["version", "job", "commit"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"status": PerformanceStatus.SKIPPED, "times": ()}, "reason"),
        ({"status": PerformanceStatus.FAILED, "reason": "it hung"}, "found failed with 1 times"),
        ({"times": ()}, "found measured with 0 times"),
        ({"times": make_row().times * 2}, "found measured with 2 times"),
    ],
)
def test_a_row_has_times_or_says_why(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(make_row(), **fields)


def make_times(lower_ms: float, median_ms: float, upper_ms: float) -> StageTime:
    return StageTime(
        stage=TimeStage.INFERENCE,
        processes=9,
        lower_ms=lower_ms,
        median_ms=median_ms,
        upper_ms=upper_ms,
        spread=0.0,
    )


def test_the_ratio_is_the_second_over_the_first() -> None:
    (row,) = compare_runs([make_run(0, [make_row(40)])], [make_run(1, [make_row(42)])])
    (found,) = row.ratios

    assert found.ratio == pytest.approx(1.05)
    assert found.lower == pytest.approx(1.05 * (1 - 0.01 * 2**0.5), rel=1e-3)
    assert found.upper == pytest.approx(1.05 * (1 + 0.01 * 2**0.5), rel=1e-3)
    assert found.different is Answer.YES


def test_the_interval_holds_the_true_ratio_as_often_as_those_of_the_runs() -> None:
    """19 of 20, for intervals of 95 % of medians that are normal on the logarithmic scale."""
    draw = np.random.default_rng(8)
    held = 0
    for _ in range(2000):
        sigmas = (0.01, 0.03)
        centres = [float(np.exp(sigma * draw.standard_normal())) for sigma in sigmas]
        before, after = (
            make_times(c * np.exp(-1.96 * s), c, c * np.exp(1.96 * s))
            for c, s in zip(centres, sigmas, strict=True)
        )
        low, _, high = combine(before, after)
        held += low <= 1 <= high
    assert 0.935 <= held / 2000 <= 0.965


def test_a_lopsided_interval_leans_the_same_way() -> None:
    low, ratio, high = combine(make_times(10, 10, 10), make_times(10, 10, 13))

    assert (low, ratio, high) == pytest.approx((1.0, 1.0, 1.3))


@given(*[st.floats(0.1, 1e6)] * 2, *[st.floats(0.0, 0.9)] * 4)
def test_the_other_way_round_is_the_reciprocal(
    first: float, second: float, a: float, b: float, c: float, d: float
) -> None:
    before = make_times(first * (1 - a), first, first * (1 + b))
    after = make_times(second * (1 - c), second, second * (1 + d))

    low, ratio, high = combine(before, after)

    assert low <= ratio * (1 + 1e-9)
    assert ratio <= high * (1 + 1e-9)
    back = combine(after, before)
    assert back == pytest.approx((1 / high, 1 / ratio, 1 / low))


LOST = make_run(1, [make_lost_row(PerformanceStatus.FAILED, "device lost")])
ROW = "mobilenet/plain-run@armv82 reduced inference on pixel-6"


@pytest.mark.parametrize(
    ("first", "second", "unpaired"),
    [
        (
            *(make_run(0, device="a"), make_run(1, device="b")),
            ["only in the first", "only in the second"],
        ),
        (make_run(0), make_run(1, method=2), ["measured in two ways"]),
        (make_run(0), LOST, ["reduced inference: failed: device lost"]),
    ],
    ids=["two devices", "two ways of measuring", "a failed row"],
)
def test_what_is_not_compared_is_listed_with_the_reason(
    first: HistoryRun, second: HistoryRun, unpaired: list[str]
) -> None:
    found = compare_runs([first], [second])

    for row, said in zip(found, unpaired, strict=True):
        assert row.ratios == ()
        assert said in f"{row.subject} {row.reason}"


def test_the_newest_run_of_a_side_counts() -> None:
    side = [make_run(5, [make_row(50)]), make_run(2, [make_row(20)])]

    (found,) = compare_runs([make_run(0, [make_row(25)])], side)

    assert found.ratios[0].ratio == pytest.approx(2.0)


def test_another_engine_is_noted() -> None:
    (found,) = compare_runs([make_run(0)], [make_run(1, engine="f")])

    assert found.conditions == ("another engine",)
