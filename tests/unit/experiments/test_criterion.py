"""What counts as a change."""

from __future__ import annotations

import pytest

from megtrim.experiments.contest import Criterion


@pytest.mark.parametrize(
    ("threshold", "floor_ms"), [(0.0, 0.0), (1.0, 0.0), (-0.1, 0.0), (0.01, -1.0), (0.01, 1e999)]
)
def test_what_would_call_everything_or_nothing_a_change_is_refused(
    threshold: float, floor_ms: float
) -> None:
    """A threshold is a share, a floor is a time."""
    with pytest.raises(ValueError, match="no criterion"):
        Criterion(threshold=threshold, floor_ms=floor_ms)


@pytest.mark.parametrize("other_load", [0.0, 1.1, -1.0, float("nan")])
def test_what_would_leave_out_everything_is_refused(other_load: float) -> None:
    """Some process of the system always runs."""
    with pytest.raises(ValueError, match="other_load"):
        Criterion(other_load=other_load)
