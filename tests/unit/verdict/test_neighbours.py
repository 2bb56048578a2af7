"""What a budget of neighbours demands, and the check that comes of it."""

from __future__ import annotations

import pytest

from megtrim.verdict.neighbours import Asked, unmet, working
from unit.verdict.examples import NEIGHBOURS


@pytest.mark.parametrize(
    ("asked", "short"),
    [
        (2, ""),
        (3, "2 of 4 neighbours work, 3 are asked for"),
        (
            "all",
            "2 of those asked for do not work: enable-nchw44 trapped, other-dump trapped",
        ),
        (("iter-1", "iter-3", "batch-2", "another"), ""),
        (("iter-1", "other-dump"), "1 of those asked for do not work: other-dump trapped"),
    ],
)
def test_what_ships_is_what_counts(asked: Asked, short: str) -> None:
    """So many, all, or some by name; what plain cannot run is not asked of others."""
    assert unmet(asked, NEIGHBOURS) == short
    assert working(NEIGHBOURS) == "2 of 4 neighbours work"
