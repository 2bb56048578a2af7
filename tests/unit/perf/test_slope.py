"""Times from runs of different lengths."""

import pytest

from megtrim.perf.slope import WholeRun, estimate_iteration


def test_the_start_of_a_process_does_not_count() -> None:
    """One run with a hiccup of a second moves neither estimate nor interval far."""
    runs = [
        WholeRun(iterations=count, wall_ms=300 + 7 * count + index % 3)
        for index, count in enumerate([10, 100] * 8)
    ]
    runs[3] = WholeRun(iterations=100, wall_ms=2000)
    estimate = estimate_iteration(runs)
    assert estimate.iteration_ms == pytest.approx(7, abs=0.05)
    assert estimate.lower_ms <= estimate.iteration_ms <= estimate.upper_ms


def test_one_length_has_no_slope() -> None:
    """Runs of one length are refused."""
    with pytest.raises(ValueError, match="two lengths"):
        estimate_iteration([WholeRun(iterations=5, wall_ms=9)] * 4)
