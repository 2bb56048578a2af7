"""Reasons as they are stored and shown."""

from __future__ import annotations

import pytest

from megtrim.size.byte_table import LONGEST_LABEL
from megtrim.size.prices.reasons import (
    LEFT_OUT_LINKS,
    LargeThing,
    Offer,
    SizeReasons,
    iter_reasons,
    store_reasons,
)


@pytest.mark.parametrize(
    ("wanted_by", "callers", "said"),
    [
        (("m/s@any: threads-4",), (), "needed by m/s@any: threads-4"),
        ((), ("run",), "run refers to it"),
        (("a: x", "b: y"), ("one", "two"), "needed by a: x, b: y; one, two refer to it"),
        ((), tuple("abcde"), "a, b, c and 2 more refer to it"),
        ((), (), ""),
    ],
)
def test_who_needs_it_is_in_words(
    wanted_by: tuple[str, ...], callers: tuple[str, ...], said: str
) -> None:
    """First what is known to need it, then what refers to it, a few of many."""
    assert "; ".join(iter_reasons(wanted_by, callers)) == said


def test_stored_reasons_are_small() -> None:
    """Of a long chain its start and its end stay, of many offers the best."""
    thing = LargeThing(
        name="x" * 500,
        component="runtime",
        size_bytes=9,
        retained_bytes=9,
        root="the entry point",
        chain=tuple(f"link{number}\n" for number in range(20)),
    )
    offers = tuple(
        Offer(name=f"f{number}", component="", size_bytes=1, reasons=()) for number in range(90)
    )
    stored = store_reasons(
        SizeReasons(artifact="a", largest=(thing,), within_bytes=10_240, offers=offers)
    )

    (kept,) = stored.largest
    assert len(kept.name) == LONGEST_LABEL
    assert kept.chain == (
        *(f"link{number}?" for number in (0, 1, 2, 3)),
        LEFT_OUT_LINKS,
        *(f"link{number}?" for number in (16, 17, 18, 19)),
    )
    assert [each.name for each in stored.offers or ()] == [f"f{number}" for number in range(20)]
    unknown = SizeReasons(artifact="a", largest=(), within_bytes=1, offers=None)
    assert store_reasons(unknown) == unknown
