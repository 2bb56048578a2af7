"""What a trim says of the bytes of what ships, if it is asked to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.errors import InputError
from megtrim.pipeline.pricing import account
from megtrim.pipeline.pricing.account import SizeAccount, make_account
from megtrim.pipeline.session import Session
from megtrim.size.prices.price_list import PriceList, SizeOptimisation


def ask(*, prices: bool = True, linked: object = "made", warnings: list[str] | None = None) -> Any:
    """Return a session whose links are there, or failed."""
    said = [] if warnings is None else warnings
    console = SimpleNamespace(warn=said.append, note=lambda _: None)
    return cast(
        Session,
        SimpleNamespace(
            request=SimpleNamespace(config=SimpleNamespace(trim=SimpleNamespace(prices=prices))),
            results=SimpleNamespace(done={}, obtain=lambda _: linked),
            services=SimpleNamespace(console=console),
        ),
    )


def test_it_is_empty_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the key nothing is linked; without the link nothing is read."""
    monkeypatch.setattr(account, "open_artifacts", lambda _: 1 / 0)

    assert make_account(ask(prices=False)) == SizeAccount()
    assert make_account(ask(linked=None)) == SizeAccount()


def test_each_file_has_prices_and_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the artifacts."""
    monkeypatch.setattr(
        account, "open_artifacts", lambda _: (SimpleNamespace(name=each) for each in "ab")
    )
    measured = (SizeOptimisation(name="fold", value="all", won_bytes=100),)
    monkeypatch.setattr(account, "read_measured", lambda *_: measured)
    monkeypatch.setattr(
        account,
        "make_price_list",
        lambda each, _: PriceList(artifact=each.name, size_bytes=9, prices=()),
    )
    monkeypatch.setattr(account, "find_reasons", lambda each, _: f"reasons of {each.name}")

    found = make_account(ask())

    assert [(each.artifact, each.optimisations) for each in found.prices] == [
        ("a", measured),
        ("b", measured),
    ]
    assert list(map(str, found.reasons)) == ["reasons of a", "reasons of b"]


def test_what_cannot_be_read_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes and budgets do not depend on it."""
    warnings: list[str] = []

    def refuse(_: object) -> None:
        msg = "no relocations"
        raise InputError(msg)

    monkeypatch.setattr(account, "open_artifacts", refuse)

    assert make_account(ask(warnings=warnings)) == SizeAccount()
    assert warnings == ["what models cost will not be known: no relocations"]
