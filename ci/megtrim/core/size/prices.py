"""Prices as values: of a model, a scenario, an operator or a function. Pure.

A price at the margin is what would go if the thing left, and all others stayed. What several need
is in the price of none, so prices do not add up to the file.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from megtrim.core.config.units import Measure
from megtrim.core.size.byte_table import tidy
from megtrim.core.size.views import PriceKind
from megtrim.libs.elf.symbol_names import fold
from megtrim.libs.util.strict_json import SignedInt
from megtrim.libs.util.value import Value

_ALWAYS_STORED = (PriceKind.MODEL, PriceKind.SCENARIO)


class Price(Value):
    kind: PriceKind
    name: str
    margin_bytes: SignedInt
    alone_bytes: int | None = None
    """The size of a program for it only; None: it is no model or scenario."""
    own_bytes: int | None = None
    """Of a function: without what only it refers to."""


class PriceList(Value):
    artifact: str
    size_bytes: int
    prices: tuple[Price, ...]
    counts_regions: bool = False
    """Whether the code in regions counts: only a profile build shows where they are."""

    def of_kind(self, kind: PriceKind) -> tuple[Price, ...]:
        return tuple(price for price in self.prices if price.kind is kind)


def sort_prices(prices: Iterable[Price]) -> tuple[Price, ...]:
    """Functions count by their own bytes: nearly all would go with those a program begins with."""
    order = list(PriceKind)

    def rank(price: Price) -> tuple[int, int, str]:
        own = price.margin_bytes if price.own_bytes is None else price.own_bytes
        return order.index(price.kind), -own, price.name

    return tuple(sorted(prices, key=rank))


def shorten(prices: PriceList, most: int) -> PriceList:
    counts = dict.fromkeys(PriceKind, 0)
    found = []
    for price in sort_prices(prices.prices):
        counts[price.kind] += 1
        if price.kind in _ALWAYS_STORED or counts[price.kind] <= most:
            name = fold(price.name) if price.kind is PriceKind.FUNCTION else price.name
            found.append(replace(price, name=tidy(name)))
    return replace(prices, prices=tuple(found))


class PriceChange(Value):
    model: str
    before: int
    after: int

    @property
    def growth(self) -> int:
        return self.after - self.before


def compare_prices(before: Mapping[str, int], prices: PriceList) -> tuple[PriceChange, ...]:
    changes = (
        PriceChange(model=each.name, before=before[name], after=max(each.margin_bytes, 0))
        for each in prices.of_kind(PriceKind.MODEL)
        if (name := f"{Measure.MODEL} {each.name}") in before
    )
    found = [change for change in changes if change.growth]
    return tuple(sorted(found, key=lambda each: (-abs(each.growth), each.model)))
