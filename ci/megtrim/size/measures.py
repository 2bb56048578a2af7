"""What a file measures besides its stripped size, by the names of :mod:`~.config.measure_names`.

``Measures`` are the bytes of one file by measure: what the loader maps, the stripped file deflated,
each section, and each model's price at the margin, as far as they are known. Components are not
among them: a :class:`~megtrim.size.byte_table.ByteTable` has those. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from megtrim.config.measure_names import STRIPPED, Measure
from megtrim.elf.components import are_unnamed, is_unnamed
from megtrim.size.breakdown import Breakdown, View
from megtrim.size.byte_table import ByteTable

Measures = Mapping[str, int]
"""Bytes by measure."""


def list_measures(found: Breakdown, prices: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return the measures of a file that was broken down.

    ``prices``: bytes that would go with each model, by its name, if they are known.
    """
    sizes = found.sizes
    measures = {str(Measure.LOADED): sizes.memory_bytes}
    if sizes.deflated_bytes is not None:
        measures[str(Measure.DEFLATED)] = sizes.deflated_bytes
    for section, size_bytes in found.totals(View.SECTION):
        if not section.startswith("["):  # headers and padding are in no section
            measures[f"{Measure.SECTION} {section}"] = size_bytes
    for model, size_bytes in (prices or {}).items():
        measures[f"{Measure.MODEL} {model}"] = size_bytes
    return measures


def find_measure(
    measure: str, size_bytes: int, measures: Measures | None, table: ByteTable | None
) -> int | None:
    """Return the bytes of a measure of one file; None if it is not known.

    A section or component that the file does not have is 0 bytes. ``measures`` and ``table`` are
    None if the file was not broken down, or its names are not known.
    """
    if measure == STRIPPED:
        return size_bytes
    kind, _, name = measure.partition(" ")
    if kind == Measure.COMPONENT:
        # Where no symbol was known, no component is, and 0 bytes would pass for ever.
        if table is None or (are_unnamed(table.components) and not is_unnamed(name)):
            return None
        return table.component_bytes(name)
    if measures is None:
        return None
    return measures.get(measure, 0 if kind == Measure.SECTION else None)
