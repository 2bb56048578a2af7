"""How the outputs of two sides agree; contests themselves are held in the *chain* lane."""

from __future__ import annotations

import pytest

from megtrim.experiments.contest import PerformanceStatus
from megtrim.load_and_run.parity import EXACT, Tolerance
from megtrim.perf.measuring.timing import compare_in_order, describe_rounds
from megtrim.perf.measuring.timing_runs import ContestEnded
from unit.trim.stages.support import floats

FIRST, SECOND = floats(1, 2, 3), floats(4, 5)
NEAR = floats(1, 2, 3.001)


@pytest.mark.parametrize(
    ("found", "tolerance", "said"),
    [
        ([FIRST, SECOND], EXACT, "2 outputs equal"),
        ([NEAR, SECOND], Tolerance(absolute=0.01), "2 outputs equal within 0.01"),
    ],
)
def test_outputs_agree_in_their_order(found: list[bytes], tolerance: Tolerance, said: str) -> None:
    """Within what is allowed."""
    assert compare_in_order([FIRST, SECOND], found, tolerance) == said


@pytest.mark.parametrize(
    ("found", "tolerance", "said"),
    [
        ([FIRST], EXACT, "1 outputs, expected 2"),
        ([SECOND, FIRST], EXACT, "output 0: shape (3,) became (2,)"),
        ([NEAR, SECOND], EXACT, "output 0: largest difference"),
        ([FIRST, b"torn"], EXACT, "output 1 of the rival: not an intact dumped output"),
        ([FIRST, SECOND], Tolerance(absolute=100.0), "that proves nothing"),
    ],
)
def test_outputs_that_differ_end_a_contest(
    found: list[bytes], tolerance: Tolerance, said: str
) -> None:
    """However fast they came."""
    with pytest.raises(ContestEnded) as caught:
        compare_in_order([FIRST, SECOND], found, tolerance)

    assert caught.value.status is PerformanceStatus.WRONG_OUTPUTS
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("counting", "said"), [(9, "round 9 of 12"), (4, "round 9, 4 of 12 count")]
)
def test_rounds_that_were_disturbed_are_said_not_to_count(counting: int, said: str) -> None:
    """Others take their place, so there are more rounds than are wanted."""
    assert describe_rounds(9, counting, 12).strip() == f"time  {said}"
