import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.checks.statuses import Contradiction, PendingReason, ScenarioStatus
from megtrim.core.config.config_id import DEFAULT_CONFIG
from megtrim.core.evidence.evidence import JobPurpose
from megtrim.core.timing.spec import FEWEST_ROUNDS, Criterion, PerformanceStatus
from megtrim.lab.evidence.times import (
    ContestRecord,
    TimedContest,
    TimesJudge,
    expect_of,
    make_contest_result,
    make_skipped_result,
    parse_record,
    read_times,
)
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.strict_json import dump
from megtrim.times.experiments.contest import Contest, Contestant, ContestResult, Mark, Sample
from unit.lab.evidence.support import (
    BINDING,
    BUNDLE,
    CONTEST,
    DAY,
    HOSTILE_DIGESTS,
    OTHER_BINDING,
    REFERENCE,
    RIVAL,
    Change,
    bundle_contest,
    changed,
    contest,
    contest_result,
    device,
    evidence,
    put,
    record,
    samples,
    write_evidence,
    write_times,
    written,
)
from unit.times.nights.faults import EVIDENCE_FAULTS, OTHER, PHONE, WRONG, lose

SLOW = contest_result(samples=tuple(samples(2.0)))


def choose(
    folder: Path, id_: str = CONTEST, *, cpu_features: tuple[str, ...] = (), **changes: Any
) -> TimedContest:
    given = {
        "devices": (device(),),
        "pending": None,
        "today": date.fromisoformat(DAY),
        "bundle": BUNDLE,
    }
    brought, _ = read_times([folder], config=DEFAULT_CONFIG)
    judge = TimesJudge(brought=brought, **{**given, **changes})
    return judge.choose(bundle_contest(id=id_, cpu_features=cpu_features))


def lost(folder: Path, **changes: Any) -> str:
    write_times(folder / "whole", record(contest=OTHER))
    with pytest.raises(InfrastructureFailure) as caught:
        choose(folder, **changes)
    assert caught.value.hint
    if not changes:
        assert choose(folder, OTHER).result == contest_result()
    return caught.value.message


@pytest.mark.parametrize("brought", [contest_result(), WRONG, SLOW])
def test_what_the_device_brought_counts(tmp_path: Path, brought: Any) -> None:
    write_times(tmp_path / "1", record(result=brought))

    assert choose(tmp_path) == TimedContest(device=PHONE, entry="pixel-6", result=brought)


def test_two_jobs_bring_their_parts(tmp_path: Path) -> None:
    write_times(tmp_path / "1", record())
    write_times(tmp_path / "2", record(contest=OTHER, result=SLOW))

    assert choose(tmp_path).result == contest_result()
    assert choose(tmp_path, OTHER).result == SLOW


def test_the_same_twice_is_one_and_two_different_results_are_none(tmp_path: Path) -> None:
    write_times(tmp_path / "1", record())
    shutil.copytree(tmp_path / "1", tmp_path / "2")
    assert choose(tmp_path).result == contest_result()
    write_times(tmp_path / "3", record(result=SLOW))

    assert lost(tmp_path) == (
        "two results for it differ, from pixel-6; it is unknown which is right"
    )


@pytest.mark.parametrize("names", [("1", "2"), ("2", "1")])
def test_a_failure_is_not_outvoted(tmp_path: Path, names: tuple[str, str]) -> None:
    write_times(tmp_path / names[0], record())
    write_times(tmp_path / names[1], record(result=WRONG))

    assert choose(tmp_path).result == WRONG


def test_a_second_device_delivers_what_the_first_lost(tmp_path: Path) -> None:
    other = DeviceIdentity(name="pixel-6.2", kind="local", facts={})
    lose(tmp_path / "1")
    write_times(tmp_path / "2", record(), device=other)

    assert choose(tmp_path).device == other


@pytest.mark.parametrize("name", EVIDENCE_FAULTS)
def test_a_fault_costs_its_own_contest_alone_and_hides_no_result(tmp_path: Path, name: str) -> None:
    fault, reason = EVIDENCE_FAULTS[name]
    fault(tmp_path / "bad")

    assert reason in lost(tmp_path)
    write_times(tmp_path / "good", record())
    assert choose(tmp_path) == TimedContest(device=PHONE, entry="pixel-6", result=contest_result())


LACKING = "needs a CPU with avx2, which this one does not have"


def write_skipped(folder: Path) -> None:
    row = make_skipped_result(bundle_contest(), LACKING)
    write_evidence(folder, written(evidence(row, purpose=JobPurpose.TIME)))


def test_a_device_says_what_its_cpu_does_not_have_and_nothing_else(tmp_path: Path) -> None:
    """A device could get out of everything in this way."""
    write_skipped(tmp_path / "1")
    found = choose(tmp_path, cpu_features=("avx2",))
    assert (found.result, found.skipped) == (None, f"pixel-6: {LACKING}")
    assert lost(tmp_path) == f"pixel-6: {LACKING}"

    write_times(tmp_path / "2", record())
    assert choose(tmp_path, cpu_features=("avx2",)).result == contest_result()


@pytest.mark.parametrize("day", ["2027-01-30", "2027-02-01"])
def test_a_night_has_two_days(tmp_path: Path, day: str) -> None:
    write_times(tmp_path / "1", record(), day=day)

    assert choose(tmp_path).result == contest_result()


@pytest.mark.parametrize(
    ("pending", "said"),
    [
        (PendingReason.LATE, "the device job had not ended in time"),
        (PendingReason.NO_RUNNER, "no runner with the labels self-hosted, megtrim, any took the"),
        (PendingReason.FORK, "a pull request from a fork runs no device job"),
    ],
)
def test_a_device_that_did_not_come_is_reported(
    tmp_path: Path, pending: PendingReason, said: str
) -> None:
    if pending is PendingReason.FORK:
        # Forks run no device jobs, so what comes from one is not genuine.
        write_times(tmp_path / "1", record())
    assert lost(tmp_path, pending=pending).startswith(said)
    if pending is not PendingReason.FORK:
        assert choose(tmp_path, OTHER, pending=pending).result == contest_result()


def test_every_attempt_of_a_lost_device_is_reported(tmp_path: Path) -> None:
    lose(tmp_path / "1")
    with pytest.raises(InfrastructureFailure) as caught:
        choose(tmp_path)

    assert caught.value.attempts == ("pixel-6: gone", "pixel-6.2: gone")


def test_what_cannot_be_used_is_reported(tmp_path: Path) -> None:
    for folder, name in (
        ("a", "the evidence itself is damaged"),
        ("b", "it is evidence of something else"),
    ):
        EVIDENCE_FAULTS[name][0](tmp_path / folder)
    write_times(tmp_path / "c", record())
    brought, (damaged, other) = read_times([tmp_path], config=DEFAULT_CONFIG)

    assert {id_: len(every) for id_, every in brought.items()} == {CONTEST: 1}
    unusable = f"evidence that cannot be used: {tmp_path}"
    assert damaged.startswith(f"{unusable}/a/evidence.json:1: found no JSON here")
    assert other == f"{unusable}/b is to verify, expected one to time"


TEXT = dump(record())
SAMPLE = ("result", "samples", 0)


def objection(result: ContestResult, asked: Contest | None = None) -> str:
    with pytest.raises(Contradiction) as caught:
        expect_of(record(result=result), bundle_contest(contest=asked or contest()))
    assert caught.value.message.startswith(f"{CONTEST}: its status is {result.status}, and ")
    return caught.value.message.partition(", and ")[2]


def refused(change: Change) -> str:
    with pytest.raises(InputError) as caught:
        parse_record(changed(TEXT, change), source="record")
    return caught.value.message


def expect_fits(result: ContestResult, asked: Contest | None = None) -> None:
    whole = record(result=result)
    assert parse_record(dump(whole), source="x") == whole
    expect_of(whole, bundle_contest(contest=asked or contest()))


@pytest.mark.parametrize(
    "result",
    [
        contest_result(),
        contest_result(samples=tuple(samples(rounds=FEWEST_ROUNDS + 4))),
        contest_result(samples=tuple(samples(marks=(Mark.THROTTLED, Mark.LOW_BATTERY)))),
        contest_result(by_run_length=True),
        contest_result(status=PerformanceStatus.FAILED, reason="rval: it hung", samples=()),
        contest_result(
            status=PerformanceStatus.FAILED, reason="it crashed", samples=(samples()[0],)
        ),
        contest_result(
            status=PerformanceStatus.WRONG_OUTPUTS,
            reason="output 0 differs",
            samples=(),
            outputs="",
        ),
    ],
)
def test_what_a_run_leaves_fits(result: ContestResult) -> None:
    expect_fits(result)


def test_a_contestant_alone_fits() -> None:
    alone = tuple(each for each in samples() if each.contestant == REFERENCE)
    expect_fits(contest_result(samples=alone, outputs=""), contest(rival=None))


def test_a_process_whose_log_was_damaged_fits() -> None:
    first, *others = samples()
    damaged = replace(first, prepare_ms=None, warm_ups_ms=(), iterations_ms=())
    marked = replace(damaged, marks=(Mark.DAMAGED_LOG,))
    expect_fits(contest_result(samples=(marked, *others)))

    assert objection(contest_result(samples=(damaged, *others))) == (
        "its samples have 0 and 10 iterations"
    )


def miss(count: int) -> str:
    return f"it has {count} samples of {FEWEST_ROUNDS} rounds"


def at(place: int, **changes: Any) -> Callable[[list[Sample]], list[Sample]]:
    return lambda found: [
        replace(each, **changes) if index == place else each for index, each in enumerate(found)
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda _: [], "it has no samples"),
        (lambda found: found[1:], miss(2 * FEWEST_ROUNDS - 1)),
        (lambda found: found[:-1], miss(2 * FEWEST_ROUNDS - 1)),
        (
            lambda found: [each for each in found if each.round_number != 3],
            miss(2 * FEWEST_ROUNDS - 2),
        ),
        (lambda found: [each for each in found if each.contestant == RIVAL], miss(FEWEST_ROUNDS)),
        (lambda found: [*found, found[0]], "round 0 has a sample twice"),
        (at(1, contestant=REFERENCE), "round 0 has a sample twice"),
        (at(1, position=0), "round 0 has a sample twice"),
        (at(1, position=2), "a sample is from round 0, position 2"),
        (at(1, round_number=2 * FEWEST_ROUNDS), f"from round {2 * FEWEST_ROUNDS}, position 1"),
        (at(1, contestant="reduced"), "a sample is from another contestant"),
        (at(1, iterations_ms=(1.0,) * 9), "its samples have 9 and 10 iterations"),
        (at(1, iterations_ms=()), "its samples have 0 and 10 iterations"),
        (at(1, iterations_ms=(1000.0,) * 10), "its times add up to 10.5 s in 8 s of programs"),
        (at(1, prepare_ms=9000.0), "its times add up to 9.55 s in 8 s of programs"),
    ],
)
def test_samples_of_no_run_are_refused(
    change: Callable[[list[Sample]], list[Sample]], said: str
) -> None:
    assert said in objection(contest_result(samples=tuple(change(samples()))))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reason": "it hung"}, "it has a reason"),
        ({"outputs": ""}, "its outputs were not compared"),
        ({"time_s": 7.0}, "its programs took longer than everything together"),
        ({"status": PerformanceStatus.FAILED}, "it has no reason"),
        ({"status": PerformanceStatus.WRONG_OUTPUTS}, "it has no reason"),
    ],
)
def test_a_result_that_contradicts_itself_is_refused(changes: dict[str, Any], said: str) -> None:
    assert objection(contest_result(**changes)) == said


def test_fewer_iterations_than_asked_are_refused() -> None:
    few = [replace(each, iterations_ms=each.iterations_ms[:9]) for each in samples()]
    more = [replace(each, iterations_ms=each.iterations_ms * 2) for each in samples()]

    assert objection(contest_result(samples=tuple(few))) == (
        "its samples have 9 iterations, asked were 10"
    )
    expect_fits(contest_result(samples=tuple(more)))


def whole_samples(*, runs: int = 2, **changes: Any) -> tuple[Sample, ...]:
    none = {"prepare_ms": None, "warm_ups_ms": (), "iterations_ms": (), "runs_ms": (2.0,) * runs}
    return tuple(replace(each, **{**none, **changes}) for each in samples())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"samples": whole_samples(runs=0)}, "its samples have 0 whole runs, asked were 1"),
        (
            {"samples": whole_samples(runs=11)},
            "its samples have 11 whole runs, expected at most 10",
        ),
        (
            {"samples": (*whole_samples()[:-1], whole_samples(runs=3)[-1])},
            "its samples have 2 and 3 whole runs",
        ),
        (
            {"samples": whole_samples(iterations_ms=(1.0,))},
            "its samples have other times than whole runs",
        ),
        ({"by_run_length": True}, "its times are from runs of different lengths"),
        (
            {"samples": whole_samples(runs_ms=(900.0, 900.0))},
            "its times add up to 43.2 s in 8 s of programs",
        ),
    ],
)
def test_whole_runs_of_no_command_are_refused(changes: dict[str, Any], said: str) -> None:
    whole = Contest(
        criterion=Criterion(),
        reference=Contestant(name=REFERENCE),
        rival=Contestant(name=RIVAL),
    )
    asked = bundle_contest(contest=whole, whole=True)
    expect_of(record(result=contest_result(samples=whole_samples())), asked)
    with pytest.raises(Contradiction) as caught:
        expect_of(record(result=contest_result(**{"samples": whole_samples(), **changes})), asked)
    assert said in caught.value.message


def test_whole_runs_are_no_iterations() -> None:
    mixed = [replace(each, runs_ms=(1.0,)) for each in samples()]

    said = objection(contest_result(samples=tuple(mixed)))
    assert said == "its samples have other times than iterations"


@pytest.mark.parametrize(
    ("changes", "found"),
    [({"contest": f"{CONTEST}x"}, f"{CONTEST}x"), ({"binding": OTHER_BINDING}, CONTEST)],
)
def test_samples_of_another_contest_are_refused(changes: dict[str, str], found: str) -> None:
    with pytest.raises(Contradiction) as caught:
        expect_of(record(**changes), bundle_contest())

    assert caught.value.message == f"{CONTEST}: found the samples of {found}, expected its own"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (put("version", value=1), "version: found 1, expected 3"),
        (put("contest", value="a\nb"), "contest: found 'a\\nb', expected one line"),
        (put("result", "status", value="good"), "expected one of measured, skipped, failed"),
        (put("result", "status", value="regressed"), "expected measured, failed or wrong-out"),
        (put("result", "reason", value="a\x1b[31m"), "found 'a\\x1b[31m', expected one line"),
        (put("result", "outputs", value="a\nb"), "found 'a\\nb', expected one line"),
        (put("result", "conditions", value=["a\nb"]), "found 'a\\nb', expected one line"),
        (put("result", "conditions", value=["a"] * 10_001), "10001, expected at most 10000"),
        (put("result", "time_s", value=-1), "time_s: found -1, expected 0 or more"),
        (put(*SAMPLE, "iterations_ms", 0, value=-1), "iterations_ms[0]: found -1, expected 0"),
        (put(*SAMPLE, "iterations_ms", 0, value=0), "a time is 0.0 ms; expected a finite number"),
        (put(*SAMPLE, "iterations_ms", 0, value="fast"), "found 'fast', expected a number"),
        (put(*SAMPLE, "round_number", value=-1), "round_number: found -1, expected 0 or more"),
        (put(*SAMPLE, "round_number", value=0.5), "found 0.5, expected a whole number"),
        (put(*SAMPLE, "marks", value=["cold"]), "marks[0]: found 'cold', expected one of throttl"),
        (put("verdict", value="pass"), "verdict: found 'pass', expected no such key"),
    ],
)
def test_every_value_is_held_to_its_shape(change: Change, said: str) -> None:
    assert said in refused(change)


@pytest.mark.parametrize("digest", HOSTILE_DIGESTS)
def test_a_record_is_bound_by_a_digest(digest: str) -> None:
    assert refused(put("binding", value=digest)).endswith("expected a sha256 of 64 hex digits")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "NaN", '{"a": 1, "a": 1}', "null"])
def test_what_is_no_record_at_all_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^record:1: "):
        parse_record(text, source="record")


@pytest.mark.parametrize(
    ("result", "status", "text"),
    [
        (contest_result(), ScenarioStatus.PASS, f"timed: {2 * FEWEST_ROUNDS} processes"),
        (contest_result(samples=tuple(samples()[:1])), ScenarioStatus.PASS, "timed: 1 process"),
        (
            contest_result(status=PerformanceStatus.FAILED, reason="it hung"),
            ScenarioStatus.ENGINE_ERROR,
            "it hung",
        ),
        (
            contest_result(status=PerformanceStatus.WRONG_OUTPUTS, reason="output 0 differs"),
            ScenarioStatus.PARITY,
            "output 0 differs",
        ),
    ],
)
def test_evidence_says_how_a_contest_ended(
    result: ContestResult, status: ScenarioStatus, text: str
) -> None:
    made: ContestRecord = record(result=result)
    reported = make_contest_result(made, "e" * 64)

    assert (reported.scenario, reported.binding, reported.times) == (CONTEST, BINDING, "e" * 64)
    assert (reported.status, reported.text, reported.time_s) == (status, text, 9.0)
