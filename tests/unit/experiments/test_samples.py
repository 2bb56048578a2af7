"""Samples keep what they were given, and refuse what no clock gives."""

import pytest

from megtrim.experiments.contest import Mark, Sample
from megtrim.experiments.experiment import TimeStage
from megtrim.util.errors import InputError


def test_a_stage_is_reduced_to_its_median() -> None:
    """One slow iteration does not move the time of a process."""
    sample = Sample(contestant="a", round_number=0, position=0, iterations_ms=(5, 4, 90))
    assert sample.time_ms(TimeStage.INFERENCE) == 5
    assert sample.time_ms(TimeStage.PREPARE) is None
    assert sample.time_ms(TimeStage.WARM_UP) is None


def test_each_warm_up_has_a_stage_of_its_own() -> None:
    """With fake-first they are two different things."""
    sample = Sample(contestant="a", round_number=0, position=0, warm_ups_ms=(5, 90))
    assert sample.time_ms(TimeStage.WARM_UP) == 5
    assert sample.time_ms(TimeStage.SECOND_WARM_UP) == 90


def test_a_mark_leaves_out() -> None:
    """A marked sample does not count, and still has its reason."""
    sample = Sample(contestant="a", round_number=0, position=0, marks=(Mark.THROTTLED,))
    assert not sample.counts
    assert sample.marks == ("throttled",)


@pytest.mark.parametrize("time_ms", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_times_are_refused(time_ms: float) -> None:
    """Zero, negative and infinite times are input errors that name the contestant."""
    with pytest.raises(InputError, match="plain, round 3"):
        Sample(contestant="plain", round_number=3, position=0, iterations_ms=(time_ms,))
