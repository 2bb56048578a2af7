"""What a baseline keeps of a file's bytes, and how they change: by component and by symbol.

A table is small enough to travel with sizes, and adds up to the file. Symbols that are too small
for it are one row of their component. Pure.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SMALLER = "[smaller]"
"""Label of what is too small for a row of its own."""
LONGEST_LABEL = 160
_LEAST_BYTES = 64
_MOST_BYTES = 240 * 1024
"""Of a table as a document."""
_ROW_BYTES = 20
"""Of a row as a document, besides its label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteTable:
    """The bytes of one file."""

    least_bytes: int
    """What has fewer bytes has no row of its own."""
    components: Mapping[str, Mapping[str, int]]
    """The bytes of each component, by readable symbol."""

    def totals(self, least_bytes: int) -> Counter[tuple[str, str]]:
        """Return the bytes by component and label, as with another limit, which is no lower."""
        totals: Counter[tuple[str, str]] = Counter()
        for component, labels in self.components.items():
            for label, size_bytes in labels.items():
                totals[component, label if size_bytes >= least_bytes else SMALLER] += size_bytes
        return totals

    def component_bytes(self, component: str) -> int:
        """Return the bytes of a component and of all below it: ``kernels`` has ``kernels/x86``."""
        return sum(
            sum(labels.values())
            for name, labels in self.components.items()
            if name == component or name.startswith(f"{component}/")
        )


def make_table(
    symbols: Mapping[tuple[str, str], int], *, most_bytes: int = _MOST_BYTES
) -> ByteTable:
    """Return the table of a file by component and symbol, with as low a limit as fits.

    ``most_bytes``: of the table as a document.
    """
    totals: Counter[tuple[str, str]] = Counter()
    for (component, label), size_bytes in symbols.items():
        totals[tidy(component), tidy(label)] += size_bytes
    least_bytes = _LEAST_BYTES
    while _weigh(totals, least_bytes) > most_bytes:
        least_bytes *= 2
    components: dict[str, Counter[str]] = {}
    for (component, label), size_bytes in totals.items():
        labels = components.setdefault(component, Counter())
        labels[label if size_bytes >= least_bytes else SMALLER] += size_bytes
    return ByteTable(least_bytes=least_bytes, components=components)


def _weigh(totals: Counter[tuple[str, str]], least_bytes: int) -> int:
    return sum(
        len(json.dumps(label)) + _ROW_BYTES
        for (_, label), size_bytes in totals.items()
        if size_bytes >= least_bytes
    )


def tidy(label: str) -> str:
    """Return one short line: names in files of others may hold anything."""
    text = label if label.isprintable() else "".join(c if c.isprintable() else "?" for c in label)
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteChange:
    """One label's bytes in both files."""

    component: str
    label: str
    before_bytes: int
    after_bytes: int
    former: str = ""
    """Its label in the first file, if it was renamed."""

    @property
    def growth_bytes(self) -> int:
        """Return how many bytes it grew by."""
        return self.after_bytes - self.before_bytes


def list_largest(changes: Sequence[ByteChange], most: int) -> tuple[ByteChange, ...]:
    """Return the first changes, and one row for all others; what only has a new name is left out.

    They still add up.
    """
    changed = [each for each in changes if each.growth_bytes]
    if not (others := changed[most:]):
        return tuple(changed)
    rest = ByteChange(
        component="",
        label=f"[{len(others):,} others]",
        before_bytes=sum(each.before_bytes for each in others),
        after_bytes=sum(each.after_bytes for each in others),
    )
    return (*changed[:most], rest)
