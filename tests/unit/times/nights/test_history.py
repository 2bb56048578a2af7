import json
from dataclasses import replace
from datetime import date
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.timing.spec import PerformanceStatus, TimeStage
from megtrim.core.timing.times import Answer, SamplesLeftOut, StageTime
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import Verdict, parse_verdict, to_json
from megtrim.core.verdict.performance import ChangePoint, HistorySeries
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.strict_json import dump
from megtrim.times.nights.history import (
    LARGEST_RUN_BYTES,
    RUN_FILES,
    HistoryRun,
    MeasuredCommit,
    combine,
    compare_runs,
)
from megtrim.times.nights.night import NightFacts, add_history, make_runs
from megtrim.times.nights.series import make_series
from support.history_entries import make_lost_row, make_row, make_run
from unit.core.verdict.examples import RESNET, facts
from unit.core.verdict.performance_examples import (
    REGRESSED,
    ROWS,
    TRIMMING,
    UNPROVEN,
    hostile_performance,
    performance,
    row,
    skipped,
    times,
)

LOST_ROW = make_lost_row(PerformanceStatus.SKIPPED, "needs dot product", scenario="b")
RUN = make_run(3, [make_row(), LOST_ROW])


def write(run: HistoryRun) -> tuple[str, bytes]:
    return run.path, dump(run).encode()


def test_what_is_written_is_ordered_and_read_back() -> None:
    samples = (SamplesLeftOut(reason="throttled", count=4),)
    left_out = replace(make_row(scenario="c"), left_out=samples)
    lost = make_lost_row(PerformanceStatus.FAILED, "signal 11", scenario="d")
    run = replace(RUN, rows=(*RUN.rows, left_out, lost))

    assert RUN_FILES.parse_file(*write(run)) == run
    assert list(json.loads(dump(RUN)))[:3] == ["version", "job", "commit"]


def test_the_name_says_when_what_and_which_content() -> None:
    assert RUN.path == f"runs/2026/01/{RUN.id}.json"
    assert RUN.id.startswith("20260104T020000Z-000000000000-")
    others = (make_run(3, RUN.rows, device="b"), make_run(3, RUN.rows, job="1/2"), make_run(3))
    assert len({RUN.path, *(other.path for other in others)}) == 4


def test_a_changed_file_and_another_version_are_refused() -> None:
    path, data = write(RUN)

    with pytest.raises(InputError, match="expected it under its own name"):
        RUN_FILES.parse_file(path, data.replace(b'"processes": 12', b'"processes": 13'))
    for version, newer in ((1, False), (3, True)):
        text = dump(RUN).replace('"version": 2', f'"version": {version}')
        said = rf"x\.json:1: version: found {version}, expected 2"
        with pytest.raises(InputError, match=said) as caught:
            RUN_FILES.parse(text, source="x.json")
        assert ("update megtrim" in caught.value.hint) is newer


def test_a_broken_file_costs_itself_alone() -> None:
    early = make_run(0)
    late = make_run(40)
    path, data = write(RUN)
    line = data[: data.index(b'"device"')].count(b"\n") + 1
    broken = data.replace(b'"device": "id', b'"device": {"id')

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
        ('"device": "pixel-6"', '"device": "pixel\\u001b[2J"', "one line"),
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
        RUN_FILES.parse(text.replace(old, new), source="x.json")
    assert caught.value.message.startswith("x.json:1: ")


def test_a_row_that_comes_twice_and_a_huge_file_are_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        make_run(0, [make_row(1.0), make_row(2.0)])
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
    experiment=st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=30),
    stage=st.sampled_from(TimeStage),
)
def test_any_times_survive_a_file(
    median_ms: float, shares: tuple[float, float], experiment: str, stage: TimeStage
) -> None:
    time = make_times(median_ms * (1 - shares[0]), median_ms, median_ms * (1 + shares[1]))
    row = replace(make_row(experiment=experiment), times=(replace(time, stage=stage),))
    run = make_run(1, [row])

    assert RUN_FILES.parse_file(*write(run)) == run


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"status": PerformanceStatus.SKIPPED, "times": ()}, "reason"),
        ({"status": PerformanceStatus.FAILED, "reason": "it hung"}, "found failed with 1 times"),
        ({"times": ()}, "its status is measured, and it has no times"),
        ({"times": make_row().times * 2}, "found measured with 2 times"),
    ],
)
def test_a_row_has_times_or_says_why(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_run(0, [replace(make_row(), **fields)])


def make_times(lower_ms: float, median_ms: float, upper_ms: float) -> StageTime:
    (time,) = make_row(median_ms).times
    return replace(time, lower_ms=lower_ms, upper_ms=upper_ms)


def test_the_ratio_is_the_second_over_the_first() -> None:
    (compared,) = compare_runs([make_run(0, [make_row(40)])], [make_run(1, [make_row(42)])])
    (found,) = compared.ratios

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


@pytest.mark.parametrize(
    ("first", "second", "unpaired"),
    [
        (
            make_run(0, device="a"),
            make_run(1, device="b"),
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

    for compared, said in zip(found, unpaired, strict=True):
        assert compared.ratios == ()
        assert said in f"{compared.subject} {compared.reason}"


def test_the_newest_run_of_a_side_counts_and_another_engine_is_noted() -> None:
    side = [make_run(5, [make_row(50)]), make_run(2, [make_row(20)])]

    (found,) = compare_runs([make_run(0, [make_row(25)])], side)

    assert found.ratios[0].ratio == pytest.approx(2.0)
    (other,) = compare_runs([make_run(0)], [make_run(1, engine="f")])
    assert other.conditions == ("another engine",)


BOARD = DeviceIdentity(name="board-1", kind="adb", facts={"serial": "X1", "governor": "walt"})


def verdict(*rows: object, device: DeviceIdentity = BOARD, **changes: object) -> Verdict:
    found = performance(rows=rows, **{"trimming": (), "history": (), **changes})
    return replace(join(facts(performance=found)), devices=(device,))


def night(number: int = 3, *, hour: int = 2) -> NightFacts:
    return NightFacts(
        commit=MeasuredCommit(sha=f"{number:040x}", parent="", committed_at="2026-02-28T17:00:00Z"),
        measured_at=f"2026-03-{number:02}T{hour:02}:00:00Z",
        job="77",
    )


def make_one(found: Verdict, facts: NightFacts) -> HistoryRun:
    (run,) = make_runs(found, facts)
    return run


def show_series(found: Verdict, runs: list[HistoryRun]) -> HistorySeries:
    shown = add_history(found, runs)
    assert parse_verdict(to_json(shown), source="v") == shown
    (series,) = shown.performance.history if shown.performance else ()
    return series


def test_a_run_holds_what_one_device_measured() -> None:
    run = make_one(verdict(row(), REGRESSED, UNPROVEN, TRIMMING_FREE), night())

    assert {(each.device, each.cpu_class) for each in run.rows} == {("board-1", "any")}
    assert (run.job, [*run.rows[1].ratios]) == ("77", [*REGRESSED.ratios])
    assert run.commit.sha == f"{3:040x}"
    medians = {each.experiment: [t.median_ms for t in each.times][-1:] for each in run.rows}
    assert medians == {"baseline": [5.2], "nchw44": [4.9], "weight-preprocess": [5.1], "fuse": []}


TRIMMING_FREE = skipped("fuse", PerformanceStatus.FAILED, "it hung: ended after 60 s")


def test_a_row_that_was_lost_says_why() -> None:
    lost = skipped("nchw88", PerformanceStatus.INFRASTRUCTURE, "board-1 went offline")
    elsewhere = replace(lost, experiment="nchw44", device="")

    (run, without) = make_runs(verdict(row(), lost, elsewhere), night())

    (found,) = (each for each in run.rows if each.experiment != "baseline")
    assert (found.status, found.reason) == (lost.status, "board-1 went offline")
    (found,) = without.rows
    assert (found.device, found.experiment, found.times) == ("no device", "nchw44", ())
    assert (run.has_times, without.has_times) == (True, False)
    # What no device can run, none is waited for.
    cannot = replace(elsewhere, status=PerformanceStatus.SKIPPED)
    assert make_runs(verdict(cannot), night()) == ()


def test_too_few_processes_are_no_night_and_variants_are_rows() -> None:
    open_ended = tuple(replace(each, upper_ms=None) for each in times(5.2))
    assert make_series([make_one(verdict(row(times=open_ended)), night())]) == ()

    run = make_one(verdict(trimming=(TRIMMING,)), night())
    names = [f"load_and_run {variant}" for variant in ("plain", "region", "reduced")]
    assert [each.experiment for each in run.rows] == names


def test_every_status_can_be_written_and_read_and_a_job_be_repeated() -> None:
    assert make_one(verdict(row()), night()).id == make_one(verdict(row()), night()).id
    for found in (verdict(*ROWS), join(facts(performance=hostile_performance()))):
        for run in make_runs(found, night()):
            assert RUN_FILES.parse(dump(run), source="run.json") == run


def test_a_machine_is_known_by_what_stays() -> None:
    tuned = replace(BOARD, facts={"serial": "X1", "governor": "performance"})
    other = replace(BOARD, facts={"serial": "X2", "governor": "walt"})
    here = [
        replace(BOARD, kind="local", facts={"host": host, "CPU model": cpu, "system": "Linux"})
        for host, cpu in (("1", "A"), ("2", "A"), ("1", "B"))
    ]
    machines = (BOARD, tuned, other, *here)
    of = [make_one(verdict(row(), device=each), night()).device for each in machines]

    assert of[0] == of[1]
    assert len({*of}) == len(of) - 1


def test_the_report_shows_all_nights() -> None:
    runs = [make_one(verdict(row(times=times(5 + n / 10))), night(n)) for n in (1, 2, 4)]
    lost = verdict(skipped("baseline", PerformanceStatus.INFRASTRUCTURE, "it went offline"))

    series = show_series(lost, runs)
    assert (series.scenario, series.experiment) == (RESNET, "baseline")
    assert [each.date for each in series.points] == ["2026-03-01", "2026-03-02", "2026-03-04"]
    assert [each.time.median_ms for each in series.points] == [5.1, 5.2, 5.4]
    # Two runs of a day are one point.
    runs = [make_one(verdict(row(times=times(5 + h))), night(hour=h)) for h in (1, 2)]
    assert [p.time.median_ms for p in show_series(verdict(row()), runs).points] == [7.0]


def test_a_change_is_shown() -> None:
    runs = [make_one(verdict(row()), night(n)) for n in range(1, 11)]
    runs.append(make_one(verdict(REGRESSED), night(11)))

    shown = add_history(verdict(REGRESSED), runs)
    assert shown.performance is not None
    changes = {each.experiment: each.changes for each in shown.performance.history}
    assert changes == {
        "baseline": (),
        "nchw44": (ChangePoint(date="2026-03-11", ratio=1.051),),
    }


def test_a_verdict_without_times_stays_as_it_is() -> None:
    calm = join(facts())
    assert add_history(calm, ()) is calm
    assert make_runs(calm, night()) == ()
