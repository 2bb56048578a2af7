"""What a trim says of the prices of what ships."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from megtrim.chain.session import Session
from megtrim.size.prices import pricing
from megtrim.size.prices.pricing import find_prices
from megtrim.util.errors import InputError


def ask(*, linked: object = "made", warnings: list[str] | None = None) -> Session:
    """Return a session whose links are there, or failed."""
    said = [] if warnings is None else warnings
    services = SimpleNamespace(console=SimpleNamespace(warn=said.append, note=lambda _: None))
    results = SimpleNamespace(done={}, obtain=lambda _: linked)
    return cast(Session, SimpleNamespace(results=results, services=services))


def test_each_file_has_its_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the artifacts; without the link nothing is read."""
    monkeypatch.setattr(pricing, "open_artifacts", lambda _: iter("ab"))
    monkeypatch.setattr(pricing, "make_price_list", lambda each: f"prices of {each}")

    assert [*map(str, find_prices(ask()))] == ["prices of a", "prices of b"]
    assert find_prices(ask(linked=None)) == ()


def test_what_cannot_be_read_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes and budgets do not depend on it."""
    warnings: list[str] = []

    def refuse(_: object) -> None:
        msg = "no relocations"
        raise InputError(msg)

    monkeypatch.setattr(pricing, "open_artifacts", refuse)

    assert find_prices(ask(warnings=warnings)) == ()
    assert warnings == ["what models cost will not be known: no relocations"]
