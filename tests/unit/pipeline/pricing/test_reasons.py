"""Reasons of a trim by regions: a function with a region that ran, ran."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.pipeline import references
from megtrim.pipeline.pricing import reasons
from megtrim.pipeline.pricing.attributed import PricedArtifact
from megtrim.pipeline.pricing.reasons import WITHIN_BYTES, find_reasons
from megtrim.pipeline.session import Session
from megtrim.size.prices.attributed import PricedProgram
from megtrim.size.prices.reasons import SizeReasons
from unit.size.prices.made_prices import FIRST, SECOND, make_profiled_trim, make_program, make_trim

USERS = {FIRST: ("m/a@any",), SECOND: ("m/a@any", "m/b@any")}


def ask(program: PricedProgram) -> SizeReasons:
    """Return the reasons of a program that is trimmed by regions."""
    artifact = PricedArtifact(
        name="load_and_run",
        size_bytes=9_999,
        program=program,
        keep=cast(Any, SimpleNamespace(regions=lambda: USERS)),
        profile=program.graph,
        untrimmed=None,
    )
    engine = SimpleNamespace(texts=lambda: ())
    session = SimpleNamespace(services=SimpleNamespace(engine=engine))
    return find_reasons(artifact, cast(Session, session))


@pytest.fixture(autouse=True)
def left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first region was left out of the plain program, and a neighbour needs it."""
    made = make_profiled_trim(make_trim(SECOND))
    monkeypatch.setattr(reasons, "join_profiled_trim", lambda *_: made)
    needs = {str(FIRST): ["m/a@any: threads-4"]}
    monkeypatch.setattr(references, "read_needs", lambda _: needs)


def test_the_largest_stay_because_they_ran_or_are_referred_to() -> None:
    """Where only regions are trimmed, the profile build says which function ran for whom."""
    found = ask(make_program())

    things = {each.name: each for each in found.largest}
    assert [each.size_bytes for each in found.largest] == [1000, 700, 500, 416, 100, 64, 30, 20]
    assert (things["plan"].rule, things["plan"].by) == ("ran in a scenario", ("m/a@any", "m/b@any"))
    assert (things["mul"].rule, things["mul"].chain) == ("", ("main", "plan", "mul"))
    assert (things["mul"].retained_bytes, things["mul"].root) == (1064, "entry")


def test_a_few_bytes_more_buy_regions_back() -> None:
    """With who needs them; without the profile build it is not known which."""
    (offer,) = ask(make_program()).offers or ()

    assert (offer.name, offer.component) == (str(FIRST), "other")
    assert offer.reasons == ("needed by m/a@any: threads-4", "1 other of its tag is kept")
    assert 1064 < offer.size_bytes <= WITHIN_BYTES
    assert ask(make_program(extents=False)).offers is None


def test_regions_of_a_tag_are_offered_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all that they take; where one alone can be kept, it is named."""
    made = make_profiled_trim(make_trim())
    monkeypatch.setattr(reasons, "join_profiled_trim", lambda *_: made)

    (offer,) = ask(make_program()).offers or ()

    assert offer.name == "2 regions of conv"
    assert offer.reasons == ("needed by m/a@any: threads-4",)
    assert offer.size_bytes > 1064 + 500
