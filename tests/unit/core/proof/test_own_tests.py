"""What the tests of a project add up to."""

from typing import Any

import pytest

from megtrim.core.checks.check import Check
from megtrim.core.checks.invocation import Invocation
from megtrim.core.checks.statuses import CheckKind, CheckStatus
from megtrim.core.proof.own_tests import SeenTests, judge
from megtrim.core.proof.results import FailedTest, SuiteResult, TrappedTest, judge_tests
from megtrim.places.compile.projects.tested import OwnTest, SuiteRun

ALONE = FailedTest(name="a", how="alone, it ended with 1", whole=False, said="no")
WHOLE = FailedTest(name="a", how="whole, it ended with 2", whole=True, said="no")
TRAPS = (
    TrappedTest(name="c", function="draw(int)"),
    TrappedTest(name="d", function="fill"),
)
BLANK = Check(
    id="tests:x",
    kind=CheckKind.TESTS,
    subject="x",
    status=CheckStatus.PASS,
    text="",
    file="megtrim.yaml",
)
OTHER = FailedTest(name="b", how="alone, it ended with 3", whole=False, said="no")


@pytest.mark.parametrize(
    ("found", "status", "text"),
    [
        ({}, "pass", "5 of 8 tests load draw: 3 pass, 2 trap"),
        ({"traps": ()}, "pass", "5 of 8 tests load draw: 5 pass"),
        ({"failed": (ALONE,)}, "fail", "5 of 8 tests load draw: 2 pass, 2 trap, 1 fail"),
        (
            {"deferring": True},
            "pass",
            "5 of 8 tests load draw: with the companion file 5 pass; without it 3 pass, 2 trap",
        ),
        (
            {"deferring": True, "failed": (ALONE, WHOLE, OTHER), "traps": ()},
            "fail",
            "5 of 8 tests load draw: with the companion file 4 pass; without it 3 pass, 2 fail",
        ),
        (
            {"deferring": True, "failed": (WHOLE,)},
            "fail",
            "5 of 8 tests load draw: with the companion file 4 pass; without it 3 pass, 2 trap",
        ),
        (
            {"counted": 0, "traps": ()},
            "inconclusive",
            "none of 8 tests that pass with the plain file load draw, so they show nothing of it",
        ),
    ],
)
def test_a_test_that_ends_otherwise_fails_and_none_shows_nothing(
    found: dict[str, Any], status: str, text: str
) -> None:
    facts: dict[str, Any] = {
        "target": "draw",
        "tests": 9,
        "passing": 8,
        "counted": 5,
        "traps": TRAPS,
        "unloaded": ("static", "other"),
        "failed": (),
        "deferring": False,
    }
    result = SuiteResult(**(facts | found))
    check = judge_tests(result, BLANK, Invocation())

    assert (check.status, check.text) == (status, text)
    assert check.detail.endswith("these do not load draw, and do not count: static, other")
    named = "c: it trapped: the function draw(int) is not kept\nd: it trapped"
    assert (named in check.detail) is bool(result.traps)
    assert result.exit_code == (1 if status == "fail" else 0)


def run(
    rc: int, *, trapped: bool = False, loaded: bool = True, timed_out: bool = False
) -> SuiteRun:
    return SuiteRun(
        rc=rc,
        timed_out=timed_out,
        loaded=loaded,
        trapped=trapped,
        place=None,
        argument=0,
        said="",
    )


@pytest.mark.parametrize(
    ("alone", "functions", "keeps", "traps", "failed"),
    [
        (run(0), {}, False, [], []),
        (run(132, trapped=True), {"a": "fill"}, False, ["a"], []),
        (
            run(132, trapped=True),
            {},
            False,
            [],
            ["without the companion file, it trapped; in which function is not known"],
        ),
        (
            run(132, trapped=True),
            {"a": "fill"},
            True,
            [],
            ["without the companion file, it trapped: the function fill is not kept"],
        ),
        (run(0, trapped=True), {}, True, [], []),
        (run(1), {}, False, [], ["without the companion file, it ended with 1"]),
        (run(1, loaded=False), {}, False, [], ["without the companion file, it ended with 1"]),
    ],
)
def test_only_a_trap_that_is_named_is_excused_and_none_where_what_tests_reach_is_kept(
    alone: SuiteRun, functions: dict[str, str], keeps: bool, traps: list[str], failed: list[str]
) -> None:
    seen = SeenTests(
        tests=2,
        passing=(OwnTest(name="a", argv=("a",)), OwnTest(name="b", argv=("b",))),
        alone={"a": alone, "b": run(1, loaded=False)},
        whole={"a": run(0), "b": run(1, loaded=False)},
    )
    kept = frozenset({"a"}) if keeps else None
    found = judge(seen, functions, target="draw", kept=kept, defers=True)

    assert (found.counted, found.unloaded) == (1, ("b",))
    assert [each.name for each in found.traps] == traps
    assert [each.how for each in found.failed] == failed


@pytest.mark.parametrize("defers", [True, False])
def test_a_test_that_hangs_with_the_trimmed_file_fails(*, defers: bool) -> None:
    """Whoever loads the file: what is ended leaves no record of it."""
    hangs = run(-9, loaded=False, timed_out=True)
    seen = SeenTests(
        tests=2,
        passing=(OwnTest(name="a", argv=("a",)), OwnTest(name="b", argv=("b",))),
        alone={"a": hangs, "b": run(0)},
        whole={"a": hangs, "b": run(0)} if defers else {},
    )
    found = judge(seen, {}, target="draw", kept=None, defers=defers)

    ways = ["without the companion file", "with the companion file"]
    expected = ways if defers else ["with the trimmed file"]
    assert (found.counted, found.unloaded) == (2, ())
    assert [each.how for each in found.failed] == [
        f"{way}, it did not end in time" for way in expected
    ]


@pytest.mark.parametrize(
    ("kept", "failing", "unrecorded", "hint"),
    [
        ({"a"}, "b", ("b",), "b fails, and it left no record of its functions: does it clear its"),
        ({"a"}, "a", ("b",), "does the test do other things in each run?"),
        ({"a"}, "", ("b",), ""),
        ({"a", "b", "gone"}, "b", (), "does the test do other things in each run?"),
        (None, "b", (), "add what such a test does as a scenario"),
    ],
)
def test_a_test_that_counts_and_left_no_record_is_named(
    kept: set[str] | None, failing: str, unrecorded: tuple[str, ...], hint: str
) -> None:
    names = ("a", "b")
    seen = SeenTests(
        tests=2,
        passing=tuple(OwnTest(name=name, argv=(name,)) for name in names),
        alone={name: run(1 if name == failing else 0) for name in names},
        whole={},
    )
    known = None if kept is None else frozenset(kept)
    found = judge(seen, {}, target="draw", kept=known, defers=False)
    check = judge_tests(found, BLANK, Invocation())

    assert found.unrecorded == unrecorded
    assert check.hint.startswith(hint)
    assert bool(check.hint) is bool(failing)
    named = "the keep set has no functions of these, although they count: b"
    assert (named in check.detail) is bool(unrecorded)
