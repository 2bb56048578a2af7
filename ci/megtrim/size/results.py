"""Results of the stages that measure sizes. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from megtrim.chain.stage_result import StageResult
from megtrim.size.budget_row import BudgetRow, BudgetStatus
from megtrim.size.byte_map import ByteMap
from megtrim.size.byte_table import ByteChange
from megtrim.size.growth.arrivals import NO_ARRIVALS, Arrivals
from megtrim.size.growth.inputs import Cause, CauseNote
from megtrim.size.prices.price_list import PriceChange, PriceList
from megtrim.util.errors import EXIT_PASS, ProductFailure
from megtrim.util.strict_json import SignedInt


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactSize:
    """One artifact in one variant."""

    artifact: str
    variant: str
    size_bytes: int
    growth_bytes: SignedInt | None
    """Against the baseline; None where that does not hold this file."""
    groups: tuple[tuple[str, int], ...]
    """(what the bytes are for, bytes), in drawing order."""
    components: tuple[ByteChange, ...] = ()
    """What grew and what shrank, which adds up; empty if the baseline does not hold it."""
    symbols: tuple[ByteChange, ...] = ()
    """The same by symbol."""
    arrivals: Arrivals = NO_ARRIVALS
    """What came in, and what it costs."""
    price_changes: tuple[PriceChange, ...] = ()
    """Models that were there before and cost another price at the margin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeResult(StageResult):
    """Of the stage `size`: every artifact, and every budget that limits one."""

    artifacts: tuple[ArtifactSize, ...]
    budgets: tuple[BudgetRow, ...]
    baseline: str
    """Where the baseline is from; empty: there is none."""
    causes: tuple[Cause, ...] = ()
    """What differs from what the baseline was made from."""
    notes: tuple[CauseNote, ...] = ()
    """More about each of them."""
    prices: tuple[PriceList, ...] = ()
    """What models, scenarios and the like cost in what ships; empty: that was not asked for."""
    maps: tuple[ByteMap, ...] = ()
    """Where the bytes of what ships are, as far as it has symbols."""

    @property
    def exit_code(self) -> int:
        """1 where a budget is exceeded."""
        exceeded = any(each.status is BudgetStatus.FAIL for each in self.budgets)
        return ProductFailure.exit_code if exceeded else EXIT_PASS
