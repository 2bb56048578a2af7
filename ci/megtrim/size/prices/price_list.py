"""Prices as values: of a model, a scenario, a region, a tag, an operator or a function.

A price at the margin is what would go if the thing left, and all others stayed; alone it is the
size of a program that is trimmed for it only. What several need is in the price of none at the
margin, so prices do not add up to the file. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from megtrim.elf.symbol_names import fold
from megtrim.size.byte_table import tidy
from megtrim.strict_json import SignedFloat, SignedInt


class PriceKind(StrEnum):
    """What has a price, in the order of reports."""

    MODEL = "model"
    SCENARIO = "scenario"
    TAG = "tag"
    REGION = "region"
    OPERATOR = "operator"
    FUNCTION = "function"


_ALWAYS_STORED = (PriceKind.MODEL, PriceKind.SCENARIO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What one thing costs in one file, in bytes."""

    kind: PriceKind
    name: str
    margin_bytes: SignedInt
    """Attributed: what would go with it."""
    alone_bytes: int | None = None
    """Attributed: the size of a program for it only; None: it is no model or scenario."""
    built_margin_bytes: SignedInt | None = None
    """The same as it was really built without it; None: it was not."""
    built_alone_bytes: int | None = None
    own_bytes: int | None = None
    """Of a function: without what only it refers to."""

    @property
    def error_bytes(self) -> int | None:
        """By how much the attributed price at the margin is too high; None: it was not built."""
        if self.built_margin_bytes is None:
            return None
        return self.margin_bytes - self.built_margin_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimStep:
    """One level of trimming, or one switch, and what it won."""

    name: str
    size_bytes: int
    """Of the stripped file with it."""
    won_bytes: SignedInt
    """Less than without it."""

    @property
    def won_share(self) -> float | None:
        """Return what it won as a share of the file without it; None: it won and lost nothing."""
        before_bytes = self.size_bytes + self.won_bytes
        return self.won_bytes / before_bytes if before_bytes and self.won_bytes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeOptimisation:
    """A size optimisation, or a switch of the engine that is off, and what it won in one file."""

    name: str
    """Its key: ``lto``, ``rtti``."""
    value: str
    """What it is set to: ``full``, ``false``."""
    without_bytes: int | None = None
    """Of the stripped file as it was really built without it; None: it was not."""
    won_bytes: SignedInt | None = None
    won_share: SignedFloat | None = None
    """Of the file without it: 0.05 is 5%; negative if the file is larger with it."""
    note: str = ""
    """What went with it, or why it could not be built without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """The prices in one file that ships."""

    artifact: str
    size_bytes: int
    """Stripped."""
    prices: tuple[Price, ...]
    """By kind, the highest first."""
    levels: tuple[TrimStep, ...] = ()
    """From the plain program to what ships, each against the one before."""
    switches: tuple[TrimStep, ...] = ()
    """Each against a build with all switches on."""
    optimisations: tuple[SizeOptimisation, ...] = ()
    """All that are used, each against a build without it alone."""

    def of_kind(self, kind: PriceKind) -> tuple[Price, ...]:
        """Return the prices of one kind, the highest first."""
        return tuple(each for each in self.prices if each.kind is kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A random sample of attributed prices, each next to the real one."""

    seed: int
    prices: tuple[Price, ...]

    @property
    def attributed_bytes(self) -> int:
        """Return the sum of the attributed prices."""
        return sum(each.margin_bytes for each in self.prices)

    @property
    def built_bytes(self) -> int:
        """Return the sum of the real prices."""
        return sum(each.built_margin_bytes or 0 for each in self.prices)

    @property
    def mean_error_bytes(self) -> float:
        """Return by how much one price is wrong, on average."""
        errors = [abs(each.error_bytes or 0) for each in self.prices]
        return sum(errors) / len(errors) if errors else 0.0


def sort_prices(prices: Iterable[Price]) -> tuple[Price, ...]:
    """Return the prices by kind, the highest first; functions by their own bytes.

    Nearly everything would go with the functions that a program begins with.
    """
    order = list(PriceKind)

    def rank(price: Price) -> tuple[int, int, str]:
        own = price.margin_bytes if price.own_bytes is None else price.own_bytes
        return order.index(price.kind), -own, price.name

    return tuple(sorted(prices, key=rank))


def list_steps(sizes: Sequence[tuple[str, int]]) -> Iterator[TrimStep]:
    """Yield every size as a step, with what it won against the one before."""
    before = None
    for name, size_bytes in sizes:
        won = 0 if before is None else before - size_bytes
        yield TrimStep(name=name, size_bytes=size_bytes, won_bytes=won)
        before = size_bytes


def shorten(prices: PriceList, most: int) -> PriceList:
    """Return a list that is small enough to be stored.

    It has all models and scenarios, and the highest prices of each other kind. Functions have
    readable names.
    """
    counts = dict.fromkeys(PriceKind, 0)
    found = []
    for each in sort_prices(prices.prices):
        counts[each.kind] += 1
        if each.kind in _ALWAYS_STORED or counts[each.kind] <= most:
            name = fold(each.name) if each.kind is PriceKind.FUNCTION else each.name
            found.append(replace(each, name=tidy(name)))
    return replace(prices, prices=tuple(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPrice:
    """The price of a model or scenario in a former build."""

    margin_bytes: SignedInt
    alone_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceChange:
    """A model whose price at the margin is not what it was."""

    model: str
    before_bytes: SignedInt
    after_bytes: SignedInt

    @property
    def growth_bytes(self) -> int:
        """Return by how much more it costs."""
        return self.after_bytes - self.before_bytes


def compare_prices(before: Mapping[str, StoredPrice], prices: PriceList) -> tuple[PriceChange, ...]:
    """Return the models that were there before and cost another price, the largest change first."""
    changes = (
        PriceChange(
            model=each.name,
            before_bytes=before[each.name].margin_bytes,
            after_bytes=each.margin_bytes,
        )
        for each in prices.of_kind(PriceKind.MODEL)
        if each.name in before
    )
    found = [each for each in changes if each.growth_bytes]
    return tuple(sorted(found, key=lambda each: (-abs(each.growth_bytes), each.model)))
