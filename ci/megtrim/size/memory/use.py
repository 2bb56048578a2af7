"""Memory of scenarios on the trimmed program: measured, kept in baselines, held to limits. Pure."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import ConfigDict, Field

from megtrim.build_spec import Variant
from megtrim.chain.stage_result import StageResult
from megtrim.config.performance import MemoryConfig
from megtrim.config.units import PEAK, PLANNED
from megtrim.size.byte_table import Bytes
from megtrim.size.rows import BudgetRow, BudgetStatus, LimitKind
from megtrim.util.errors import InputError
from megtrim.util.value import Value

VARIES = 0.03
"""Share of a peak by which runs of one program differ, at most: less is no change."""
_KIB = re.compile(rb"([0-9]{1,12})\n")
_END = re.compile("[0-9]{1,15}")


class MemoryUse(Value):
    __pydantic_config__ = ConfigDict(extra="forbid")

    key: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Of all that it depends on but the program: with another key it cannot be compared."""
    peak_bytes: Bytes
    """The largest resident set, an emulator's own included."""
    planned_bytes: Bytes | None = None
    """What the engine plans for tensors and weights; None: it does not say."""

    @property
    def figures(self) -> dict[str, int]:
        planned = {} if self.planned_bytes is None else {PLANNED: self.planned_bytes}
        return {PEAK: self.peak_bytes, **planned}


class MemoryResult(StageResult):
    """Of the stage `memory`."""

    use: MemoryUse | None
    reason: str = ""
    """Why it was not measured; empty: it was."""


def parse_peak(data: bytes | None) -> int:
    """Read what GNU time wrote of a program that ended well: KiB. Raises InputError."""
    found = _KIB.fullmatch(data or b"")
    if found is None:
        msg = f"GNU time wrote {(data or b'')[:60]!a}, expected the peak in KiB"
        raise InputError(msg)
    return int(found[1]) * 1024


def parse_plan(data: bytes | None) -> int | None:
    """Return where the last chunk of the engine's plan ends; None: there is no readable plan."""
    try:
        chunks = json.loads(data or b"")["chunk"].values()
        found = [_END.fullmatch(each["logic_addr_end"]) for each in chunks]
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return None
    return max(int(end[0]) for end in found if end) if found and all(found) else None


def list_rows(
    used: Mapping[str, MemoryUse],
    before: Mapping[str, MemoryUse],
    limits: MemoryConfig | None,
    source: str,
) -> Iterator[BudgetRow]:
    """Yield what each scenario uses, and how much more. ``source``: the baseline's.

    Limits are of the peak: a plan follows from the model, and is shown.
    """
    for scenario, use in used.items():
        former = before.get(scenario)
        known = former.figures if former and former.key == use.key else {}
        for measure, size_bytes in use.figures.items():
            held = limits if limits and measure == PEAK else MemoryConfig()
            was = known.get(measure)
            grown = None if was is None else size_bytes - was
            if was and grown and measure == PEAK and abs(grown) <= VARIES * was:
                grown = 0
            growth = held.growth.limit_bytes(was or size_bytes) if held.growth else None
            for kind, found, most in (
                (LimitKind.SIZE, size_bytes, held.max_bytes),
                (LimitKind.GROWTH, grown, growth),
            ):
                passed = BudgetStatus.PASS if (found or 0) <= (most or 0) else BudgetStatus.FAIL
                yield BudgetRow(
                    kind=kind,
                    artifact=scenario,
                    variant=str(Variant.REDUCED),
                    measure=measure,
                    used_bytes=found,
                    max_bytes=most,
                    baseline=source if kind is LimitKind.GROWTH and was is not None else "",
                    status=BudgetStatus.SKIPPED if None in (found, most) else passed,
                )
