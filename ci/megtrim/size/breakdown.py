"""A file's bytes by section, component, symbol and source, and its different sizes side by side.

Each view adds up to the file. Pure.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from megtrim.elf.components import find_component
from megtrim.elf.sections import NAMED, STRIPPED
from megtrim.elf.symbol_names import fold
from megtrim.size.attribution import Attribution, NameSources, Piece, attribute

_CHUNK_BYTES = 1 << 20
_RAW_DEFLATE = -zlib.MAX_WBITS


class View(StrEnum):
    """By what bytes are distinguished."""

    SECTION = "section"
    COMPONENT = "component"
    SYMBOL = "symbol"
    SOURCE = "source"


class ByteRow(NamedTuple):
    """The labels that some bytes have, one for each view, in the order of :class:`View`."""

    section: str
    component: str
    symbol: str
    """Linkage name; in brackets: what no symbol names."""
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSizes:
    """What one file weighs, in different ways."""

    file_bytes: int
    stripped_bytes: int
    """Without symbol table and debug information."""
    memory_bytes: int
    """What the loader maps."""
    text_bytes: int
    """The section ``.text``."""
    deflated_bytes: int | None
    """The stripped file as an app package stores it; None if that was not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """All bytes of one file."""

    sizes: FileSizes
    rows: Counter[ByteRow]
    """Bytes by their labels; they add up to the file."""

    def totals(self, view: View) -> tuple[tuple[str, int], ...]:
        """Return each label of a view with its bytes, the largest first."""
        totals: Counter[str] = Counter()
        for (_, label), size_bytes in self.by_component(view).items():
            totals[label] += size_bytes
        return tuple(sorted(totals.items(), key=lambda each: (-each[1], each[0])))

    def by_component(self, view: View) -> Counter[tuple[str, str]]:
        """Return the bytes of each component's labels of a view.

        Symbols are readable, with the instances of a template as one.
        """
        at = list(View).index(view)
        totals: Counter[tuple[str, str]] = Counter()
        for row, size_bytes in self.rows.items():
            label = row[at]
            if view is View.SYMBOL and not label.startswith("["):
                label = fold(label)
            totals[row.component, label] += size_bytes
        return totals


def break_down(data: bytes, names: NameSources, *, source: str, deflate: bool = False) -> Breakdown:
    """Break a file's bytes down; ``source`` names it in messages. Raises InputError.

    ``deflate`` measures what an app package would store, which takes longer than all else.
    """
    found = attribute(data, names, source=source)
    rows: Counter[ByteRow] = Counter()
    for piece, size_bytes in found.pieces.items():
        rows[_label(piece)] += size_bytes
    return Breakdown(sizes=_measure(data, found, deflate=deflate), rows=rows)


def _label(piece: Piece) -> ByteRow:
    section, purpose, symbol, source = piece
    component = str(purpose)
    if purpose in NAMED:
        component = find_component(symbol, source) or f"unexplained {purpose}"
        symbol = symbol or f"[unnamed in {section}]"
    return ByteRow(section, component, symbol or f"[{purpose}]", source or "[not known]")


def _measure(data: bytes, found: Attribution, *, deflate: bool) -> FileSizes:
    removed = {piece.section for piece in found.pieces if piece.purpose in STRIPPED}
    kept_bytes = sum(end - start for start, end in found.kept)
    text_bytes = sum(
        size_bytes for piece, size_bytes in found.pieces.items() if piece.section == ".text"
    )
    return FileSizes(
        file_bytes=len(data),
        stripped_bytes=kept_bytes - found.header_bytes * len(removed),
        memory_bytes=found.memory_bytes,
        text_bytes=text_bytes,
        deflated_bytes=_deflated_bytes(data, found.kept) if deflate else None,
    )


def _deflated_bytes(data: bytes, kept: tuple[tuple[int, int], ...]) -> int:
    compressor = zlib.compressobj(wbits=_RAW_DEFLATE)
    total_bytes = 0
    for start, end in kept:
        for at in range(start, end, _CHUNK_BYTES):
            total_bytes += len(compressor.compress(data[at : min(at + _CHUNK_BYTES, end)]))
    return total_bytes + len(compressor.flush())
