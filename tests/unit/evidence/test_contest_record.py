"""Records of contests: samples that no run of the contest leaves prove nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from megtrim.checks.content import Contradiction
from megtrim.checks.statuses import ScenarioStatus
from megtrim.evidence.contest_record import (
    ContestRecord,
    dump_record,
    expect_of,
    make_contest_result,
    parse_record,
)
from megtrim.experiments.contest import (
    FEWEST_ROUNDS,
    Contest,
    ContestResult,
    Mark,
    PerformanceStatus,
    Sample,
)
from megtrim.util.errors import InputError
from unit.evidence.support import (
    BINDING,
    CONTEST,
    HOSTILE_DIGESTS,
    OTHER_BINDING,
    REFERENCE,
    RIVAL,
    Change,
    changed,
    contest,
    contest_result,
    put,
    record,
    samples,
)

TEXT = dump_record(record())
SAMPLE = ("result", "samples", 0)


def objection(result: ContestResult, asked: Contest | None = None) -> str:
    """Return what is said of a result for its contest."""
    with pytest.raises(Contradiction) as caught:
        expect_of(record(result=result), id_=CONTEST, binding=BINDING, contest=asked or contest())
    assert caught.value.message.startswith(f"{CONTEST}: its status is {result.status}, and ")
    return caught.value.message.partition(", and ")[2]


def refused(change: Change) -> str:
    """Return what is said of a document after a change."""
    with pytest.raises(InputError) as caught:
        parse_record(changed(TEXT, change), source="record")
    return caught.value.message


def expect_fits(result: ContestResult, asked: Contest | None = None) -> None:
    """Expect that it can be what a run brought, and comes back as it went."""
    whole = record(result=result)
    assert parse_record(dump_record(whole), source="x") == whole
    expect_of(whole, id_=CONTEST, binding=BINDING, contest=asked or contest())


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
    """However it ended; marked samples are brought, too."""
    expect_fits(result)


def test_a_contestant_alone_fits() -> None:
    """There is nothing to compare its outputs with."""
    alone = tuple(each for each in samples() if each.contestant == REFERENCE)
    expect_fits(contest_result(samples=alone, outputs=""), contest(rival=None))


def test_a_process_whose_log_was_damaged_fits() -> None:
    """It has no times, and is counted as left out."""
    first, *others = samples()
    damaged = replace(first, prepare_ms=None, warm_ups_ms=(), iterations_ms=())
    marked = replace(damaged, marks=(Mark.DAMAGED_LOG,))
    expect_fits(contest_result(samples=(marked, *others)))

    assert objection(contest_result(samples=(damaged, *others))) == (
        "its samples have 0 and 10 iterations"
    )


def at(place: int, **changes: Any) -> Callable[[list[Sample]], list[Sample]]:
    """Return the change of one sample."""
    return lambda found: [
        replace(each, **changes) if index == place else each for index, each in enumerate(found)
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda _: [], "it has no samples"),
        (
            lambda found: found[1:],
            f"it has {2 * FEWEST_ROUNDS - 1} samples of {FEWEST_ROUNDS} rounds",
        ),
        (
            lambda found: found[:-1],
            f"it has {2 * FEWEST_ROUNDS - 1} samples of {FEWEST_ROUNDS} rounds",
        ),
        (
            lambda found: [each for each in found if each.round_number != 3],
            f"it has {2 * FEWEST_ROUNDS - 2} samples of",
        ),
        (
            lambda found: [each for each in found if each.contestant == RIVAL],
            f"it has {FEWEST_ROUNDS} samples of",
        ),
        (lambda found: [*found, found[0]], "round 0 has a sample twice"),
        (at(1, contestant=REFERENCE), "round 0 has a sample twice"),
        (at(1, position=0), "round 0 has a sample twice"),
        (at(1, position=2), "a sample is of round 0, position 2"),
        (at(1, round_number=2 * FEWEST_ROUNDS), f"of round {2 * FEWEST_ROUNDS}, position 1"),
        (at(1, contestant="reduced"), "a sample is of another contestant"),
        (at(1, iterations_ms=(1.0,) * 9), "its samples have 9 and 10 iterations"),
        (at(1, iterations_ms=()), "its samples have 0 and 10 iterations"),
        (at(1, iterations_ms=(1000.0,) * 10), "its times add up to 10.5 s in 8 s of programs"),
        (at(1, prepare_ms=9000.0), "its times add up to 9.55 s in 8 s of programs"),
    ],
)
def test_samples_of_no_run_are_refused(
    change: Callable[[list[Sample]], list[Sample]], said: str
) -> None:
    """Above all those that someone chose among."""
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
    """A pass holds no sign of a failure, and none without a comparison of outputs."""
    assert objection(contest_result(**changes)) == said


def test_fewer_iterations_than_asked_are_refused() -> None:
    """More are made where one takes little time."""
    few = [replace(each, iterations_ms=each.iterations_ms[:9]) for each in samples()]
    more = [replace(each, iterations_ms=each.iterations_ms * 2) for each in samples()]

    assert objection(contest_result(samples=tuple(few))) == (
        "its samples have 9 iterations, asked were 10"
    )
    expect_fits(contest_result(samples=tuple(more)))


@pytest.mark.parametrize(
    ("changes", "found"),
    [({"contest": f"{CONTEST}x"}, f"{CONTEST}x"), ({"binding": OTHER_BINDING}, CONTEST)],
)
def test_samples_of_another_contest_are_refused(changes: dict[str, str], found: str) -> None:
    """Whatever file of the evidence they are put into."""
    with pytest.raises(Contradiction) as caught:
        expect_of(record(**changes), id_=CONTEST, binding=BINDING, contest=contest())

    assert caught.value.message == f"{CONTEST}: found the samples of {found}, expected its own"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (put("version", value=1), "version: found 1, expected 2"),
        (put("contest", value="a\nb"), "contest: found 'a\\nb', expected one line"),
        (put("result", "status", value="good"), "expected one of measured, failed, wrong-"),
        (put("result", "status", value="regressed"), "expected measured, failed or wrong-out"),
        (put("result", "reason", value="a\x1b[31m"), "reason: found 'a\\x1b[31m', expected one li"),
        (put("result", "outputs", value="a\nb"), "outputs: found 'a\\nb', expected one line"),
        (put("result", "conditions", value=["a\nb"]), "conditions: found 'a\\nb', expected one"),
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
    """One clear message."""
    assert said in refused(change)


@pytest.mark.parametrize("digest", HOSTILE_DIGESTS)
def test_a_record_is_bound_by_a_digest(digest: str) -> None:
    """As every result is."""
    assert refused(put("binding", value=digest)).endswith("expected a sha256 of 64 hex digits")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "NaN", '{"a": 1, "a": 1}', "null"])
def test_what_is_no_record_at_all_is_refused(text: str) -> None:
    """Nested as deep as one likes."""
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
    """In one line, with the file that says everything."""
    made: ContestRecord = record(result=result)
    reported = make_contest_result(made, "e" * 64)

    assert (reported.scenario, reported.binding, reported.times) == (CONTEST, BINDING, "e" * 64)
    assert (reported.status, reported.text, reported.time_s) == (status, text, 9.0)
