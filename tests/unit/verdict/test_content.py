"""A result that says two things at once proves neither."""

from __future__ import annotations

import pytest

from megtrim.verdict.content import Contradiction, expect_consistent
from megtrim.verdict.model import OutputResult
from megtrim.verdict.statuses import ScenarioStatus

GOOD = OutputResult(name="o", size_bytes=4, equal=True, largest_difference=0.0)
BAD = OutputResult(name="o", size_bytes=4, equal=False, largest_difference=0.5)
EMPTY = OutputResult(name="o", size_bytes=0, equal=True, largest_difference=0.0)
ODD = OutputResult(name="o", size_bytes=4, equal=True, largest_difference=None)
UNKNOWN = {ScenarioStatus.INFRASTRUCTURE, ScenarioStatus.UNVERIFIED}


def expect(
    status: ScenarioStatus,
    *outputs: OutputResult,
    missing: tuple[str, ...] = (),
    crash: str = "",
    compared: bool = True,
) -> None:
    expect_consistent(
        "m/s@any",
        status,
        outputs=outputs,
        missing_regions=missing,
        crash=crash,
        compared=compared,
    )


def test_a_pass_holds_equal_outputs_alone() -> None:
    """At least one, unless nothing was to be compared."""
    expect(ScenarioStatus.PASS, GOOD)
    expect(ScenarioStatus.PASS, compared=False)
    for outputs in ((), (BAD,), (EMPTY,), (ODD,), (GOOD, GOOD), (GOOD, BAD)):
        with pytest.raises(Contradiction, match=r"^m/s@any: its status is pass, and "):
            expect(ScenarioStatus.PASS, *outputs)


@pytest.mark.parametrize("status", [ScenarioStatus.PASS, *sorted(UNKNOWN)])
def test_only_a_failure_holds_signs_of_one(status: ScenarioStatus) -> None:
    """A trap shown as silence would be dropped."""
    for compared in (True, False):
        with pytest.raises(Contradiction, match="output o differs"):
            expect(status, BAD, compared=compared)
        with pytest.raises(Contradiction, match="it misses 1 region"):
            expect(status, GOOD, missing=("kern<1>",), compared=compared)
        with pytest.raises(Contradiction, match="its program crashed"):
            expect(status, GOOD, crash="ended by signal 5", compared=compared)


@pytest.mark.parametrize("status", sorted(set(ScenarioStatus) - UNKNOWN - {ScenarioStatus.PASS}))
def test_a_failure_stays_one(status: ScenarioStatus) -> None:
    """Whatever stands next to it."""
    expect(status)
    expect(status, BAD, GOOD, missing=("kern<1>",), crash="ended by signal 5")
