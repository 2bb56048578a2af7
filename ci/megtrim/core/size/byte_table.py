"""What a baseline keeps of a file's bytes, how they change, and a map of what was kept. Pure.

It adds up to the file: symbols that are too small for it are one row of their component.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import ConfigDict, Field

from megtrim.libs.elf.components import are_unnamed
from megtrim.libs.util.value import Value

SMALLER = "[smaller]"
"""Label of what is too small for a row of its own."""
LONGEST_LABEL = 160
Label = Annotated[str, Field(max_length=LONGEST_LABEL)]
Bytes = Annotated[int, Field(ge=0, le=2**62, strict=True)]
_LEAST_BYTES = 64
_MOST_BYTES = 240 * 1024
"""Of a table as a document."""
_ROW_BYTES = 20
"""Of a row as a document, besides its label."""


class ByteTable(Value):
    __pydantic_config__ = ConfigDict(extra="forbid")

    least_bytes: Bytes
    """What has fewer bytes has no row of its own."""
    components: Mapping[Label, Mapping[Label, Bytes]]

    def totals(self, least_bytes: int) -> Counter[tuple[str, str]]:
        """``least_bytes`` is no lower than the table's own."""
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
    """Return a table with as low a limit as fits into ``most_bytes``, as a document."""
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
    text = "".join(character if character.isprintable() else "?" for character in label)
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"


class LabelChange(Value):
    component: str
    label: str
    before: int
    after: int
    former: str = ""

    @property
    def growth(self) -> int:
        return self.after - self.before


def list_largest(changes: Sequence[LabelChange], most: int) -> tuple[LabelChange, ...]:
    changed = [change for change in changes if change.growth]
    if not (others := changed[most:]):
        return tuple(changed)
    rest = LabelChange(
        component="",
        label=f"[{len(others):,} others]",
        before=sum(other.before for other in others),
        after=sum(other.after for other in others),
    )
    return (*changed[:most], rest)


MOST_COMPONENTS = 48
"""That are listed because much of them is kept, and as many because much of them is left out."""
_MOST_KEPT = 64
_MOST_LEFT_OUT = 16
_LEAST_SHARE = 8000
"""A symbol is listed from this part of its file on."""
_LEAST_COMPONENT_SHARE = 200
"""A component is, from this part of what is kept or of what is left out."""


class MappedSymbol(Value):
    label: str
    plain_bytes: int | None
    kept_bytes: int
    """In the file that ships; 0 if it is too small there for a row of its own."""


class MappedComponent(Value):
    name: str
    """In brackets: how many small ones share this row."""
    plain_bytes: int | None
    kept_bytes: int
    symbols: tuple[MappedSymbol, ...] = ()

    @property
    def stands_for_several(self) -> bool:
        return self.name.startswith("[")

    @property
    def left_out_bytes(self) -> int | None:
        return None if self.plain_bytes is None else self.plain_bytes - self.kept_bytes


class ByteMap(Value):
    artifact: str
    variant: str
    components: tuple[MappedComponent, ...]
    """By what is kept, then by what is left out; the row of the small ones is last."""

    @property
    def kept_bytes(self) -> int:
        return sum(component.kept_bytes for component in self.components)

    @property
    def plain_bytes(self) -> int | None:
        """None: what its bytes are is not known."""
        known = [each.plain_bytes for each in self.components if each.plain_bytes is not None]
        return sum(known) if known else None


def make_map(artifact: str, variant: str, shipped: ByteTable, plain: ByteTable | None) -> ByteMap:
    """``plain``: None if it is not known what that one's bytes are."""
    if plain is not None and are_unnamed(plain.components):
        plain = None
    kept = by_component(shipped)
    before = by_component(plain) if plain else Counter[str]()
    left_out = {name: before[name] - kept[name] if plain else 0 for name in {*kept, *before}}
    chosen = {name for each in (kept, left_out) for name in _take_components(each)}
    least_kept = max(1, kept.total() // _LEAST_SHARE)
    least_left_out = max(1, before.total() // _LEAST_SHARE, shipped.least_bytes)
    components = [
        _map_component(name, shipped, plain, least_kept, least_left_out)
        for name in sorted(chosen, key=lambda name: (-kept[name], -left_out[name], name))
    ]
    if others := left_out.keys() - chosen:
        components.append(
            MappedComponent(
                name=f"[{len(others):,} others]",
                plain_bytes=sum(before[name] for name in others) if plain else None,
                kept_bytes=sum(kept[name] for name in others),
            )
        )
    return ByteMap(artifact=artifact, variant=variant, components=tuple(components))


def by_component(table: ByteTable) -> Counter[str]:
    return Counter({name: sum(labels.values()) for name, labels in table.components.items()})


def _take(sizes: Mapping[str, int], most: int, least_bytes: int = 1) -> list[str]:
    large = [name for name, size_bytes in sizes.items() if size_bytes >= least_bytes]
    return sorted(large, key=lambda name: (-sizes[name], name))[:most]


def _take_components(sizes: Mapping[str, int]) -> list[str]:
    least_bytes = max(1, sum(max(0, each) for each in sizes.values()) // _LEAST_COMPONENT_SHARE)
    return _take(sizes, MOST_COMPONENTS, least_bytes)


def _map_component(
    name: str, shipped: ByteTable, plain: ByteTable | None, least_kept: int, least_left_out: int
) -> MappedComponent:
    kept = Counter(shipped.components.get(name, {}))
    before = Counter(plain.components.get(name, {})) if plain else Counter[str]()
    named = kept.copy()
    left_out = before - kept
    del named[SMALLER], left_out[SMALLER]
    listed = _take(named, _MOST_KEPT, least_kept)
    # A symbol may be among the smaller ones of one table and have a row in the other.
    listed += _take(left_out, _MOST_LEFT_OUT, least_left_out)
    # Not of what is too small for the table.
    known = plain is not None and SMALLER not in before
    symbols = [
        MappedSymbol(
            label=label,
            plain_bytes=before[label] if known or label in before else None,
            kept_bytes=kept[label],
        )
        for label in dict.fromkeys(listed)
    ]
    symbols.sort(key=lambda each: (-each.kept_bytes, -(each.plain_bytes or 0), each.label))
    return MappedComponent(
        name=name,
        plain_bytes=None if plain is None else before.total(),
        kept_bytes=kept.total(),
        symbols=tuple(symbols),
    )
