"""Reasons of a trim by regions: a function with a region that ran, ran."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from megtrim.pipeline.pricing.attributed import PricedArtifact
from megtrim.pipeline.pricing.reasons import WITHIN_BYTES, find_reasons
from megtrim.pipeline.session import Session
from unit.size.prices.made_prices import FIRST, SECOND, make_program

USERS = {FIRST: ("m/a@any",), SECOND: ("m/a@any", "m/b@any")}


def test_the_largest_stay_because_they_ran_or_are_referred_to() -> None:
    """Where only regions are trimmed, the profile build says which function ran for whom."""
    artifact = PricedArtifact(
        name="load_and_run",
        size_bytes=9_999,
        program=make_program(),
        keep=cast(Any, SimpleNamespace(regions=lambda: USERS)),
        untrimmed=None,
    )
    config = SimpleNamespace(trim=SimpleNamespace(level="region", base="region"))
    session = cast(Session, SimpleNamespace(request=SimpleNamespace(config=config)))

    found = find_reasons(artifact, session)

    things = {each.name: each for each in found.largest}
    assert [each.size_bytes for each in found.largest] == [1000, 700, 500, 416, 100, 64, 30, 20]
    assert (things["plan"].rule, things["plan"].by) == ("ran in a scenario", ("m/a@any", "m/b@any"))
    assert (things["mul"].rule, things["mul"].chain) == ("", ("main", "plan", "mul"))
    assert (things["mul"].retained_bytes, things["mul"].root) == (1064, "entry")
    assert (found.within_bytes, found.offers) == (WITHIN_BYTES, None)
