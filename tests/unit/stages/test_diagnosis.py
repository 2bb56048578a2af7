"""A bad end of the reduced build is explained by difference with the profile build."""

from __future__ import annotations

import pytest

from megtrim.loadrun.outcome import ProgramRun
from megtrim.midout.region import Region
from megtrim.stages.diagnosis import Diagnosis, explain
from unit.stages.support import evidence, keep_set, run, trace

THROWN = (
    "terminate called after throwing an instance of 'std::runtime_error'\n"
    "  what():  the model is damaged\n"
)


def test_a_trap_names_the_regions_that_are_missing() -> None:
    """Sorted; those that are kept do not count. The log is the profile build's."""
    profile = evidence(run(stderr="profile log"), trace=trace(9, 1, 3))

    assert explain(run(133), profile, keep_set(1, 2)) == Diagnosis(
        status="trap",
        text="it trapped: 2 regions it needs are not in the keep set",
        log="profile log",
        missing=(Region("kern", (3,)), Region("kern", (9,))),
    )


@pytest.mark.parametrize(
    ("ended", "how"),
    [
        (run(132), "it trapped"),
        (run(133), "it trapped"),
        (run(139), "it ended with 139"),
        (run(1), "it ended with 1"),
        (run(1, stderr="libc: Fatal signal 5 (SIGTRAP), code 1\n"), "it trapped"),
        (run(130, timed_out=True), "it did not end within 2 s"),
    ],
)
def test_how_it_ended_is_told(ended: ProgramRun, how: str) -> None:
    """By signal, exit status, or the C library's own line; missing regions are one region here."""
    found = explain(ended, evidence(trace=trace(1, 2)), keep_set(1))

    assert found.status == "trap"
    assert found.text == f"{how}: 1 region it needs are not in the keep set"
    assert found.missing == (Region("kern", (2,)),)


def test_an_engine_error_is_told_in_the_profile_builds_words() -> None:
    """A damaged model is no trimming fault, whatever signal the reduced build gave."""
    profile = evidence(run(134, stderr=THROWN), trace=None)

    assert explain(run(133), profile, keep_set(1)) == Diagnosis(
        status="engine-error",
        text="it trapped; no region is missing, and the profile build fails too: "
        "std::runtime_error: the model is damaged",
        log=THROWN,
    )


def test_an_engine_error_without_words_has_its_exit_status() -> None:
    """A program that says nothing is still told apart."""
    found = explain(run(133), evidence(run(7), trace=trace(1)), keep_set(1))

    assert found.status == "engine-error"
    assert found.text.endswith("and the profile build fails too: it ended with 7")


def test_a_reduced_build_that_alone_fails_is_an_engine_error() -> None:
    """Nothing is missing and the profile build runs it: the reduced build's own log is told."""
    profile = evidence(run(stderr="profile log"), trace=trace(1))

    assert explain(run(139, stderr="reduced log"), profile, keep_set(1, 2)) == Diagnosis(
        status="engine-error",
        text="it ended with 139; the profile build runs it, and no region is missing",
        log="reduced log",
    )


@pytest.mark.parametrize("damaged", [None, b"", b"midout_trace v1\nN6midout6Reg", b"\xff"])
def test_a_trace_that_is_not_whole_names_nothing(damaged: bytes | None) -> None:
    """A profile build that crashed leaves none, or half of one: nothing can be subtracted."""
    found = explain(run(133), evidence(run(134, stderr=THROWN), trace=damaged), keep_set(1))

    assert (found.status, found.missing) == ("engine-error", ())


def test_a_profile_build_that_fails_with_missing_regions_is_a_trap() -> None:
    """What it ran before it failed is not in the keep set: the reduced build trapped there."""
    found = explain(run(133), evidence(run(1), trace=trace(1, 5)), keep_set(1))

    assert (found.status, found.missing) == ("trap", (Region("kern", (5,)),))
