"""Prices as values: their order, what is stored, and what changed."""

from __future__ import annotations

from megtrim.size.prices.price_list import (
    Price,
    PriceKind,
    PriceList,
    StoredPrice,
    compare_prices,
    shorten,
    sort_prices,
)
from megtrim.util.strict_json import decode, encode


def make_price(kind: PriceKind, name: str, margin_bytes: int) -> Price:
    """Return a price at the margin."""
    return Price(kind=kind, name=name, margin_bytes=margin_bytes)


MODEL = make_price(PriceKind.MODEL, "vgg", 5)
OPERATORS = [make_price(PriceKind.OPERATOR, f"Conv{n}", n) for n in (1, 3, 2)]


def test_the_highest_price_of_a_kind_is_first() -> None:
    """Models come before operators."""
    found = sort_prices([*OPERATORS, MODEL])

    assert [each.margin_bytes for each in found] == [5, 3, 2, 1]


def test_a_stored_list_has_all_models_and_the_highest_others() -> None:
    """There may be thousands of functions, with names of any length."""
    models = [make_price(PriceKind.MODEL, name, 0) for name in "abc"]
    function = make_price(PriceKind.FUNCTION, "_ZN6sample3runEi", 9)
    made = PriceList(artifact="x", size_bytes=9, prices=(*OPERATORS, *models, function))

    found = shorten(made, 1)

    assert [each.name for each in found.prices] == ["a", "b", "c", "Conv3", "sample::run(…)"]


def test_models_of_before_may_cost_another_price() -> None:
    """The largest change first; new models and equal prices are no change."""
    margins = {"vgg": 5, "mobile": 9, "quant": 7, "new": 1}
    made = PriceList(
        artifact="x",
        size_bytes=9,
        prices=tuple(make_price(PriceKind.MODEL, *row) for row in margins.items()),
    )
    before = {
        name: StoredPrice(margin_bytes=n, alone_bytes=20)
        for name, n in {"vgg": 7, "mobile": 6, "quant": 7, "gone": 3}.items()
    }

    found = compare_prices(before, made)

    assert [(each.model, each.growth_bytes) for each in found] == [("mobile", 3), ("vgg", -2)]


def test_a_list_is_read_as_it_was_written() -> None:
    """With a price below 0: without a thing, a program may be larger."""
    made = PriceList(
        artifact="load_and_run", size_bytes=9, prices=(make_price(PriceKind.MODEL, "a", -1),)
    )

    assert decode(PriceList, encode(made), "") == made
    assert made.of_kind(PriceKind.MODEL) == made.prices
    assert made.of_kind(PriceKind.OPERATOR) == ()
