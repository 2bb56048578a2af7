"""What the tests of a project add up to."""

from typing import Any

import pytest

from megtrim.core.checks.check import Check
from megtrim.core.checks.invocation import Invocation
from megtrim.core.checks.statuses import CheckKind, CheckStatus
from megtrim.core.proof.results import FailedTest, SuiteResult, TrappedTest, judge_tests

ALONE = FailedTest(name="a", how="alone, it ended with 1", whole=False, said="no")
WHOLE = FailedTest(name="a", how="whole, it ended with 2", whole=True, said="no")
TRAPS = (
    TrappedTest(name="c", function="draw(int)"),
    TrappedTest(name="d", function="fill"),
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
    blank = Check(
        id="tests:x",
        kind=CheckKind.TESTS,
        subject="x",
        status=CheckStatus.PASS,
        text="",
        file="megtrim.yaml",
    )
    check = judge_tests(result, blank, Invocation())

    assert (check.status, check.text) == (status, text)
    assert check.detail.endswith("these do not load draw, and do not count: static, other")
    named = "c: it trapped: the function draw(int) is not kept\nd: it trapped"
    assert (named in check.detail) is bool(result.traps)
    assert result.exit_code == (1 if status == "fail" else 0)
