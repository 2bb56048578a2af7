"""What a trim says of the bytes of what ships, if it is asked to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.errors import InputError
from megtrim.pipeline.pricing import account
from megtrim.pipeline.pricing.account import SizeAccount, make_account
from megtrim.pipeline.session import Session


def ask(*, prices: bool = True, linked: object = "made", warnings: list[str] | None = None) -> Any:
    """Return a session whose links are there, or failed."""
    said = [] if warnings is None else warnings
    return cast(
        Session,
        SimpleNamespace(
            request=SimpleNamespace(config=SimpleNamespace(trim=SimpleNamespace(prices=prices))),
            results=SimpleNamespace(done={}, obtain=lambda _: linked),
            services=SimpleNamespace(console=SimpleNamespace(warn=said.append)),
        ),
    )


def test_it_is_empty_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the key nothing is linked; without the link nothing is read."""
    monkeypatch.setattr(account, "open_artifacts", lambda _: 1 / 0)

    assert make_account(ask(prices=False)) == SizeAccount()
    assert make_account(ask(linked=None)) == SizeAccount()


def test_each_file_has_prices_and_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the artifacts."""
    monkeypatch.setattr(account, "open_artifacts", lambda _: iter("ab"))
    monkeypatch.setattr(account, "make_price_list", lambda name, _: f"prices of {name}")
    monkeypatch.setattr(account, "find_reasons", lambda name, _: f"reasons of {name}")

    found = make_account(ask())

    assert list(map(str, found.prices)) == ["prices of a", "prices of b"]
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
