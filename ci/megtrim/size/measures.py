"""What a file measures besides its stripped size, by the names of :mod:`~.config.measure_names`.

``Measures`` are the bytes of one file by measure: what the loader maps, the stripped file deflated,
each section, and each model's price at the margin, as far as they are known. Components are not
among them: a :class:`~megtrim.size.byte_table.ByteTable` has those. Pure.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from megtrim.config.measure_names import STRIPPED, Measure
from megtrim.elf.components import are_unnamed, is_unnamed
from megtrim.size.breakdown import Breakdown, View
from megtrim.size.byte_table import ByteTable
from megtrim.util.errors import InputError

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


_HINT = (
    "name one that it has, as `megtrim size show FILE` lists them; a part that only some "
    "toolchains make has its budget's key toolchains; remove the budget of one that is gone"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingParts:
    """Names of parts, as far as builds show them."""

    sections: frozenset[str] = frozenset()
    components: frozenset[str] = frozenset()
    """Empty: no build has symbols."""

    def __or__(self, other: ExistingParts) -> ExistingParts:
        """Return what either knows."""
        return ExistingParts(
            sections=self.sections | other.sections, components=self.components | other.components
        )

    def expect(self, measure: str, more: ExistingParts, *, budget: str, artifact: str) -> None:
        """Raise InputError for a section or component that neither these nor ``more`` have.

        These are the parts of what was trimmed: if they have none of a kind, nothing can be said.
        """
        kind, _, name = measure.partition(" ")
        known = self._list_names(kind)
        if not known or name in (known := known | more._list_names(kind)):
            return
        near = difflib.get_close_matches(name, sorted(known), n=1)
        suggestion = f" (did you mean {near[0]}?)" if near else ""
        msg = f"the budget {budget}: no build of {artifact} has a {kind} {name}{suggestion}"
        raise InputError(msg, hint=_HINT)

    def _list_names(self, kind: str) -> frozenset[str]:
        if kind == Measure.SECTION:
            return self.sections
        components = self.components if kind == Measure.COMPONENT else ()
        return frozenset(_with_parents(components))


def list_parts(measures: Measures | None, table: ByteTable | None) -> ExistingParts:
    """Return the parts of one file, by its measures and its bytes."""
    prefix = f"{Measure.SECTION} "
    components = frozenset(table.components) if table else frozenset()
    return ExistingParts(
        sections=frozenset(
            each.removeprefix(prefix) for each in measures or () if each.startswith(prefix)
        ),
        components=frozenset() if are_unnamed(components) else components,
    )


def _with_parents(components: Iterable[str]) -> Iterator[str]:
    for each in components:
        words = each.split("/")
        yield from ("/".join(words[:count]) for count in range(1, len(words) + 1))
