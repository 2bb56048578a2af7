"""How much of each limit is used, as numbers for any report. Pure; part of the report room."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from megtrim.config.measure_names import name_budget
from megtrim.config.units import format_bytes, format_growth
from megtrim.report.formatting import percent
from megtrim.verdict.model import BudgetRow


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUse:
    """One limit of a budget, and how much of it is used."""

    row: BudgetRow
    limits: str
    """What is limited: size or growth; a soft limit only warns."""
    used_bytes: int | None
    """None: there is no baseline to compare with."""
    limit_bytes: int

    @property
    def left_bytes(self) -> int | None:
        """Return what is left; negative if the limit is exceeded."""
        return None if self.used_bytes is None else self.limit_bytes - self.used_bytes

    def list_cells(self) -> tuple[str, str, str, str]:
        """Return used, limit, left, and the share that is left."""
        growth = "growth" in self.limits
        limit, left = format_bytes(self.limit_bytes), self.left_bytes
        if self.used_bytes is None or left is None:
            return "no baseline", limit, "", ""
        used = format_growth(self.used_bytes) if growth else format_bytes(self.used_bytes)
        share = percent(left / self.limit_bytes) if self.limit_bytes else ""
        return used, limit, format_bytes(left), share


def list_limits(row: BudgetRow) -> tuple[tuple[str, int | None, int | None, int | None], ...]:
    """Return what a budget limits: its name, what is used, the hard limit, the soft one."""
    return (
        ("size", row.size_bytes, row.max_bytes, row.warn_bytes),
        ("growth", row.growth_bytes, row.growth_max_bytes, row.warn_growth_bytes),
    )


def list_uses(row: BudgetRow) -> Iterator[LimitUse]:
    """Yield the limits of a budget; a soft one if there is no hard one of its kind."""
    for limits, used_bytes, hard, soft in list_limits(row):
        if hard is not None:
            yield LimitUse(row=row, limits=limits, used_bytes=used_bytes, limit_bytes=hard)
        elif soft is not None:
            name = f"{limits}, warns"
            yield LimitUse(row=row, limits=name, used_bytes=used_bytes, limit_bytes=soft)


def name_row(row: BudgetRow) -> str:
    """Return a budget's name, as in a waiver."""
    return name_budget(row.artifact, row.variant, row.measure)
