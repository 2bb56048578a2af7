"""Which sections and components an artifact has in any of its builds.

A part that a budget names and that what ships does not have weighs nothing, so the budget would
pass for ever. That is right for a part that trimming took, and wrong for one that never was. Pure.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from megtrim.config.measure_names import Measure
from megtrim.elf.components import are_unnamed
from megtrim.errors import InputError
from megtrim.size.byte_table import ByteTable
from megtrim.size.measures import Measures

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
