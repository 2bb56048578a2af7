"""Sizes of a program in each of its builds. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from megtrim.build_spec import Variant
from megtrim.size.byte_map import ByteMap
from megtrim.size.byte_table import ByteChange
from megtrim.size.growth.arrivals import NO_ARRIVALS, Arrivals
from megtrim.size.prices.price_list import PriceChange, PriceList
from megtrim.util.strict_json import SignedInt


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantSize:
    """The stripped file of one variant."""

    variant: str
    size_bytes: int
    share: float
    """Of plain: 0.067 is 6.7%."""
    sections: tuple[tuple[str, int], ...] = ()
    """(what the bytes are for, bytes), in the order in which charts draw them."""
    growth_bytes: SignedInt | None = None
    """Since the baseline; None if the baseline does not hold this file."""
    components: tuple[ByteChange, ...] = ()
    """What grew and what shrank since the baseline, the largest first; empty: not known."""
    symbols: tuple[ByteChange, ...] = ()
    """The same by symbol."""
    arrivals: Arrivals = NO_ARRIVALS
    """What came in since the baseline, and what it costs."""
    price_changes: tuple[PriceChange, ...] = ()
    """Models that were there before and cost another price at the margin."""

    def __post_init__(self) -> None:
        """Refuse changes that are not the file's growth."""
        for changes in (self.components, self.symbols):
            if changes and sum(each.growth_bytes for each in changes) != self.growth_bytes:
                msg = f"{self.variant}: found changes that do not add up to its growth"
                raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactSizes:
    """One artifact in all its variants, plain first."""

    name: str
    sizes: tuple[VariantSize, ...]
    prices: PriceList | None = None
    """What models, scenarios and the like cost in it; None: not known."""
    byte_map: ByteMap | None = None
    """Where its bytes are, and those that were left out; None: not known."""

    def __post_init__(self) -> None:
        """Refuse a map that does not add up to its files."""
        if self.byte_map is None:
            return
        sizes = {size.variant: size.size_bytes for size in self.sizes}
        found = (self.byte_map.kept_bytes, self.byte_map.plain_bytes)
        expected = (sizes.get(self.byte_map.variant), sizes.get(str(Variant.PLAIN)))
        if found[0] != expected[0] or found[1] not in (None, expected[1]):
            msg = f"byte_map: found {found} bytes, expected those of its files: {expected}"
            raise ValueError(msg)
