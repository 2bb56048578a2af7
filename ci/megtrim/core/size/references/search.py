"""Finds what a person asks about in a graph of references: by name, component, source or section.

A name is a linkage name, or a readable one; all overloads and instances are one answer. Pure.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from enum import StrEnum

from megtrim.core.components import find_components
from megtrim.core.size.references.graph import Part, ReferenceGraph
from megtrim.libs.elf.symbol_names import find_literal_word, fold, iter_spellings, readable
from megtrim.libs.util.value import Value

_LINKERS_OWN = "<internal>"
"""What lld's map calls the source of tables that it makes itself."""


class MatchKind(StrEnum):
    SYMBOL = "symbol"
    FAMILY = "symbols"
    """Overloads, instances of a template, or local functions with one name."""
    COMPONENT = "component"
    SOURCE = "source"
    SECTION = "section"


class Match(Value):
    kind: MatchKind
    label: str
    parts: tuple[int, ...]


def find_matches(text: str, graph: ReferenceGraph) -> tuple[Match, ...]:
    """Return what ``text`` names: one match, or, if it is part of several names, all of these.

    A whole name goes before a component, this before a source or section, and these before parts
    of names; the largest come first.
    """
    named = _find_named(text, graph)
    if named:
        return (named,)
    for kind, label_of in _LABELS:
        labels = (label_of(part) for part in graph.parts)
        parts = [number for number, each in enumerate(labels) if _is_within(text, each, kind)]
        if parts:
            return (Match(kind=kind, label=text, parts=tuple(parts)),)
    return _find_similar(text, graph)


def find_component_of(part: Part) -> str:
    """Empty if neither a name nor a source shows it."""
    source = "" if part.source == _LINKERS_OWN else part.source
    return find_components().find_component(part.names[0] if part.names else "", source)


def describe(part: Part) -> str:
    return readable(part.names[0]) if part.names else part.name


def _find_named(text: str, graph: ReferenceGraph) -> Match | None:
    exact = [number for number, part in enumerate(graph.parts) if text in part.names]
    if exact:
        return _join(exact, text, graph)
    word = find_literal_word(text)
    found = []
    for number, name in _iter_names(graph, word):
        if text in iter_spellings(name) or text == fold(name):
            found.append((number, name))
    if not found:
        return None
    labels = {fold(name) for _, name in found}
    label = text if len(labels) > 1 else labels.pop()
    return _join(sorted({number for number, _ in found}), label, graph)


def _join(numbers: list[int], label: str, graph: ReferenceGraph) -> Match:
    if len(numbers) == 1:
        part = graph.parts[numbers[0]]
        return Match(kind=MatchKind.SYMBOL, label=describe(part), parts=(numbers[0],))
    return Match(kind=MatchKind.FAMILY, label=label, parts=tuple(numbers))


def _find_similar(text: str, graph: ReferenceGraph) -> tuple[Match, ...]:
    families: dict[str, set[int]] = defaultdict(set)
    for number, name in _iter_names(graph, find_literal_word(text)):
        if text in name or text in readable(name):
            families[fold(name)].add(number)
    matches = (
        Match(
            kind=MatchKind.SYMBOL if len(numbers) == 1 else MatchKind.FAMILY,
            label=label,
            parts=tuple(sorted(numbers)),
        )
        for label, numbers in families.items()
    )

    def rank(match: Match) -> tuple[int, str]:
        size_bytes = int(graph.sizes[list(match.parts)].sum())
        return -size_bytes, match.label

    return tuple(sorted(matches, key=rank))


def _iter_names(graph: ReferenceGraph, word: str) -> Iterator[tuple[int, str]]:
    """Filter by ``word`` first: to demangle all takes seconds."""
    for number, part in enumerate(graph.parts):
        for name in part.names:
            if word in name:
                yield number, name


def _is_within(text: str, label: str, kind: MatchKind) -> bool:
    wanted = text.rstrip("/")
    if not label or label == wanted:
        return bool(label)
    if kind is MatchKind.COMPONENT:
        return label.startswith(f"{wanted}/")
    return kind is MatchKind.SOURCE and (
        label.endswith((f"/{wanted}", f"({wanted})")) or f"/{wanted}(" in label
    )


_LABELS: tuple[tuple[MatchKind, Callable[[Part], str]], ...] = (
    (MatchKind.COMPONENT, find_component_of),
    (MatchKind.SOURCE, lambda part: part.source),
    (MatchKind.SECTION, lambda part: part.section),
)
