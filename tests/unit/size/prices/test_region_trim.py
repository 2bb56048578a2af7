"""Which references are a region's, and what goes with those that are left out."""

from __future__ import annotations

import numpy as np
import pytest

from megtrim.midout.region import Region
from unit.size.prices.made_prices import FIRST, NAMES, SECOND, make_trim

MAIN, PLAN, MUL, TABLE, SUM, LOG, REGISTERING, MAKER = range(len(NAMES))


@pytest.mark.parametrize(
    ("kept", "gone"),
    [
        ((FIRST, SECOND), ()),
        ((SECOND,), (MUL, TABLE)),
        ((FIRST,), (SUM,)),
        ((), (MUL, TABLE, SUM, LOG)),
    ],
)
def test_what_only_regions_lead_to_goes_with_them(
    kept: tuple[Region, ...], gone: tuple[int, ...]
) -> None:
    """What both lead to goes with both; the function that they stand in stays."""
    trim = make_trim(*kept)

    assert tuple(np.flatnonzero(trim.gone)) == gone
    assert trim.running == ((PLAN,) if kept else ())


def test_references_have_users() -> None:
    """Those from functions without regions have none."""
    trim = make_trim(SECOND)

    assert {int(trim.plain.targets[at]): users for at, users in trim.users.items()} == {
        MUL: {FIRST},
        SUM: {SECOND},
        LOG: {FIRST, SECOND},
    }
