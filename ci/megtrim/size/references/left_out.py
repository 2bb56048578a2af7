"""What a trimmed program leaves out, by the graph of what it was trimmed from.

In the base, every function has bytes of its own. Those that are left out end in traps and refer to
nothing, so data that only they refer to goes with them. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from megtrim.elf.symbol_names import fold
from megtrim.size.references.graph import Mask, ReferenceGraph
from megtrim.size.references.search import UNNAMED, find_component_of
from megtrim.util.strict_json import SignedInt
from megtrim.util.value import Value

VERSION = 2


@dataclass(frozen=True, kw_only=True)
class TrimmedGraph:
    base: ReferenceGraph
    dropped: Collection[str]

    @cached_property
    def emptied(self) -> Mask:
        dropped = {*self.dropped}
        return np.fromiter(
            (bool(each.names) and dropped.issuperset(each.names) for each in self.base.parts),
            dtype=bool,
            count=len(self.base.parts),
        )

    @cached_property
    def present(self) -> Mask:
        """The parts that the base has because something refers to them."""
        return self.base.reach(self.base.roots)

    @cached_property
    def kept(self) -> Mask:
        return self.base.reach(self.base.roots, emptied=self.emptied) & ~self.emptied

    @cached_property
    def left_out(self) -> Mask:
        """The parts that went: functions that were left out, and what only they referred to."""
        return self.present & ~self.kept


class LeftOutRow(Value):
    component: str
    symbol: str
    """Readable, a template's instances as one; in brackets what has none; empty: all."""
    base_bytes: int
    """Before functions or regions were left out."""
    kept_bytes: int
    left_out_bytes: SignedInt
    """Negative if it grew."""


class LeftOutDocument(Value):
    """What ``megtrim size left-out --json`` prints."""

    version: int = VERSION
    program: str
    left_out: tuple[LeftOutRow, ...]


def compare_graphs(base: ReferenceGraph, shipped: ReferenceGraph) -> tuple[LeftOutRow, ...]:
    return _list_rows(_count(base, None), _count(shipped, None))


def list_left_out(trimmed: TrimmedGraph) -> tuple[LeftOutRow, ...]:
    return _list_rows(_count(trimmed.base, trimmed.present), _count(trimmed.base, trimmed.kept))


def _count(graph: ReferenceGraph, mask: Mask | None) -> Counter[tuple[str, str]]:
    totals: Counter[tuple[str, str]] = Counter()
    numbers = range(len(graph.parts)) if mask is None else np.flatnonzero(mask).tolist()
    for number in numbers:
        part = graph.parts[number]
        label = fold(part.names[0]) if part.names else part.name
        totals[find_component_of(part) or UNNAMED, label] += part.size_bytes
    return totals


def make_row(component: str, symbol: str, base_bytes: int, kept_bytes: int) -> LeftOutRow:
    return LeftOutRow(
        component=component,
        symbol=symbol,
        base_bytes=base_bytes,
        kept_bytes=kept_bytes,
        left_out_bytes=base_bytes - kept_bytes,
    )


def _list_rows(
    base: Counter[tuple[str, str]], kept: Counter[tuple[str, str]]
) -> tuple[LeftOutRow, ...]:
    rows = (make_row(*key, base[key], kept[key]) for key in base.keys() | kept.keys())
    return tuple(sorted(rows, key=lambda each: (-each.left_out_bytes, each.component, each.symbol)))
