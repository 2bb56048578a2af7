from dataclasses import replace

from megtrim.checks.check import DeviceIdentity
from megtrim.experiments.contest import PerformanceStatus
from megtrim.perf.nights.change_points import make_series
from megtrim.perf.nights.history import HistoryRun, MeasuredCommit, parse_run
from megtrim.perf.nights.night import NightFacts, add_history, make_runs
from megtrim.perf.rows import HistorySeries
from megtrim.util.strict_json import dump
from megtrim.verdict.join import join
from megtrim.verdict.model import Verdict, parse_verdict, to_json
from unit.verdict.examples import RESNET, facts
from unit.verdict.performance_examples import (
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


def list_series(shown: Verdict) -> tuple[HistorySeries, ...]:
    return shown.performance.history if shown.performance else ()


def test_a_run_holds_what_one_device_measured() -> None:
    run = make_one(verdict(row(), REGRESSED, UNPROVEN, TRIMMING_FREE), night())

    assert (run.device.name, run.device.cpu_class, run.job) == ("board-1", "any", "77")
    assert run.commit.sha == f"{3:040x}"
    medians = {each.contestant: [t.median_ms for t in each.times][-1:] for each in run.rows}
    assert medians == {"baseline": [5.2], "nchw44": [4.9], "weight-preprocess": [5.1], "fuse": []}


TRIMMING_FREE = skipped("fuse", PerformanceStatus.FAILED, "it hung: ended after 60 s")


def test_a_row_that_was_lost_says_why() -> None:
    lost = skipped("nchw88", PerformanceStatus.INFRASTRUCTURE, "board-1 went offline")
    elsewhere = replace(lost, experiment="nchw44", device="")

    run = make_one(verdict(row(), lost, elsewhere), night())

    (found,) = (each for each in run.rows if each.contestant != "baseline")
    assert (found.status, found.reason) == (
        PerformanceStatus.INFRASTRUCTURE,
        "board-1 went offline",
    )
    assert make_runs(verdict(elsewhere), night()) == ()


def test_too_few_processes_are_no_night() -> None:
    open_ended = tuple(replace(each, upper_ms=None) for each in times(5.2))

    run = make_one(verdict(row(times=open_ended)), night())

    assert make_series([run]) == ()


def test_variants_are_contestants() -> None:
    run = make_one(verdict(trimming=(TRIMMING,)), night())

    assert [each.contestant for each in run.rows] == [
        *("load_and_run plain", "load_and_run region", "load_and_run reduced")
    ]


def test_every_status_can_be_written_and_read() -> None:
    for found in (verdict(*ROWS), join(facts(performance=hostile_performance()))):
        for run in make_runs(found, night()):
            assert parse_run(dump(run), source="run.json") == run


def test_a_repeated_job_makes_the_same_file() -> None:
    assert make_one(verdict(row()), night()).id == make_one(verdict(row()), night()).id


def test_a_machine_is_known_by_what_stays() -> None:
    tuned = replace(BOARD, facts={"serial": "X1", "governor": "performance"})
    other = replace(BOARD, facts={"serial": "X2", "governor": "walt"})
    here = [
        replace(BOARD, kind="local", facts={"host": host, "CPU model": cpu, "system": "Linux"})
        for host, cpu in (("1", "A"), ("2", "A"), ("1", "B"))
    ]
    machines = (BOARD, tuned, other, *here)
    of = [make_one(verdict(row(), device=each), night()).device.identity for each in machines]

    assert of[0] == of[1]
    assert len({*of}) == len(of) - 1


def test_the_report_shows_all_nights() -> None:
    runs = [make_one(verdict(row(times=times(5 + n / 10))), night(n)) for n in (1, 2, 4)]
    lost = verdict(skipped("baseline", PerformanceStatus.INFRASTRUCTURE, "it went offline"))

    shown = add_history(lost, runs)

    (series,) = list_series(shown)
    assert (series.scenario, series.experiment) == (RESNET, "baseline")
    assert [each.date for each in series.points] == ["2026-03-01", "2026-03-02", "2026-03-04"]
    assert [each.time.median_ms for each in series.points] == [5.1, 5.2, 5.4]
    assert parse_verdict(to_json(shown), source="v") == shown


def test_two_runs_of_a_day_are_one_point() -> None:
    runs = [make_one(verdict(row(times=times(5 + h))), night(hour=h)) for h in (1, 2)]

    (series,) = list_series(add_history(verdict(row()), runs))
    assert [each.time.median_ms for each in series.points] == [7.0]


def test_a_change_point_is_shown() -> None:
    runs = [
        make_one(verdict(row(times=times((5 if n <= 10 else 6) + n % 3 / 100))), night(n))
        for n in range(1, 21)
    ]

    (series,) = list_series(add_history(verdict(row()), runs))
    assert [each.date for each in series.changes] == ["2026-03-11"]


def test_a_verdict_without_times_stays_as_it_is() -> None:
    calm = join(facts())

    assert add_history(calm, ()) is calm
    assert make_runs(calm, night()) == ()
