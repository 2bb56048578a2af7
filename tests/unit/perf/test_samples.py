"""Samples keep what they were given, and refuse what no clock gives."""

import pytest

from megtrim.errors import InputError
from megtrim.perf.samples import Mark, Sample, SampleStage


def test_a_stage_is_reduced_to_its_median() -> None:
    """One slow iteration does not move the time of a process."""
    sample = Sample(contestant="a", round_number=0, position=0, iterations_ms=(5, 4, 90))
    assert sample.median_ms(SampleStage.ITERATION) == 5
    assert sample.median_ms(SampleStage.PREPARE) is None
    assert sample.median_ms(SampleStage.WARM_UP) is None


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
