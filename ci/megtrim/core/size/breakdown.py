"""A file's bytes by section, component, symbol and source, its sizes, and what two files differ in.

Each view adds up to the file, and the changes of a view to the growth of the file. A part that a
budget names and that what ships does not have weighs nothing, which is right for one that trimming
took, and wrong for one that never was. Pure.
"""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from megtrim.core.components import find_components
from megtrim.core.config.problems import suggest
from megtrim.core.config.units import STRIPPED as WHOLE_FILE
from megtrim.core.config.units import Measure
from megtrim.core.size.attribution import Attribution, NameSources, Piece, attribute
from megtrim.core.size.byte_table import ByteTable, LabelChange
from megtrim.core.size.prices import PriceList
from megtrim.core.size.views import PriceKind, View
from megtrim.libs.elf.components import are_unnamed, is_unnamed
from megtrim.libs.elf.sections import NAMED, STRIPPED
from megtrim.libs.elf.symbol_names import fold
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

if TYPE_CHECKING:
    from megtrim.core.config.limits import Budget

_CHUNK_BYTES = 1 << 20
_RAW_DEFLATE = -zlib.MAX_WBITS


class ByteRow(NamedTuple):
    section: str
    component: str
    symbol: str
    """Linkage name; in brackets: what no symbol names."""
    source: str


class FileSizes(Value):
    file_bytes: int
    stripped_bytes: int
    memory_bytes: int
    text_bytes: int
    deflated_bytes: int | None
    """The stripped file as an app package stores it; None if that was not asked for."""


class Breakdown(Value):
    sizes: FileSizes
    rows: Counter[ByteRow]

    def totals(self, view: View) -> tuple[tuple[str, int], ...]:
        totals: Counter[str] = Counter()
        for (_, label), size_bytes in self.by_component(view).items():
            totals[label] += size_bytes
        return tuple(sorted(totals.items(), key=lambda each: (-each[1], each[0])))

    def by_component(self, view: View) -> Counter[tuple[str, str]]:
        at = list(View).index(view)
        totals: Counter[tuple[str, str]] = Counter()
        for row, size_bytes in self.rows.items():
            label = row[at]
            if view is View.SYMBOL and not label.startswith("["):
                label = fold(label)
            totals[row.component, label] += size_bytes
        return totals


def break_down(data: bytes, names: NameSources, *, source: str, deflate: bool = False) -> Breakdown:
    """``deflate`` measures what an app package would store, which takes longer than all else."""
    found = attribute(data, names, source=source)
    rows: Counter[ByteRow] = Counter()
    for piece, size_bytes in found.pieces.items():
        rows[_label(piece)] += size_bytes
    return Breakdown(sizes=_measure(data, found, deflate=deflate), rows=rows)


def _label(piece: Piece) -> ByteRow:
    section, purpose, symbol, source = piece
    component = str(purpose)
    if purpose in NAMED:
        component = find_components().find_component(symbol, source) or f"unexplained {purpose}"
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
        deflated_bytes=count_deflated(data, found.kept) if deflate else None,
    )


def count_deflated(data: bytes, kept: tuple[tuple[int, int], ...]) -> int:
    """Return how many bytes of the file an app package stores; ``kept`` are starts and ends."""
    compressor = zlib.compressobj(wbits=_RAW_DEFLATE)
    total_bytes = 0
    for start, end in kept:
        for at in range(start, end, _CHUNK_BYTES):
            total_bytes += len(compressor.compress(data[at : min(at + _CHUNK_BYTES, end)]))
    return total_bytes + len(compressor.flush())


_LEAST_RENAMED_BYTES = 64
"""Smaller things of one size are many."""


def compare_breakdowns(before: Breakdown, after: Breakdown, view: View) -> tuple[LabelChange, ...]:
    """Return every label whose bytes differ, the largest change first; they add up to the growth.

    A label that went and one of the same component and size that came are one that was renamed, if
    there is only one such pair.
    """
    return _compare(*(_totals(each.by_component(view), view) for each in (before, after)))


def compare_tables(before: ByteTable, after: ByteTable, view: View) -> tuple[LabelChange, ...]:
    least_bytes = max(before.least_bytes, after.least_bytes)
    totals = (each.totals(least_bytes) for each in (before, after))
    if view is View.COMPONENT:
        totals = (_by_label((component, n) for (component, _), n in x.items()) for x in totals)
    return _compare(*totals)


def _totals(found: Counter[tuple[str, str]], view: View) -> Counter[tuple[str, str]]:
    if view is View.SYMBOL:
        return found
    return _by_label((label, size_bytes) for (_, label), size_bytes in found.items())


def _by_label(rows: Iterable[tuple[str, int]]) -> Counter[tuple[str, str]]:
    totals: Counter[tuple[str, str]] = Counter()
    for label, size_bytes in rows:
        totals["", label] += size_bytes
    return totals


def _compare(
    first: Counter[tuple[str, str]], second: Counter[tuple[str, str]]
) -> tuple[LabelChange, ...]:
    changes = (
        LabelChange(component=key[0], label=key[1], before=first[key], after=second[key])
        for key in first.keys() | second.keys()
    )
    found = _join_renamed(change for change in changes if change.growth)
    return tuple(sorted(found, key=lambda each: (-abs(each.growth), each.component, each.label)))


def _join_renamed(changes: Iterable[LabelChange]) -> Iterator[LabelChange]:
    gone: dict[tuple[str, int], list[LabelChange]] = defaultdict(list)
    came: dict[tuple[str, int], list[LabelChange]] = defaultdict(list)
    for change in changes:
        stayed = change.before and change.after
        if stayed or abs(change.growth) < _LEAST_RENAMED_BYTES:
            yield change
        elif change.before:
            gone[change.component, change.before].append(change)
        else:
            came[change.component, change.after].append(change)
    for key in gone.keys() | came.keys():
        old = gone[key]
        new = came[key]
        if len(old) == len(new) == 1:
            yield LabelChange(
                component=key[0],
                label=new[0].label,
                before=key[1],
                after=key[1],
                former=old[0].label,
            )
        else:
            yield from (*old, *new)


Measures = Mapping[str, int]


def list_measures(found: Breakdown, prices: PriceList | None = None) -> dict[str, int]:
    sizes = found.sizes
    measures = {str(Measure.LOADED): sizes.memory_bytes}
    if sizes.deflated_bytes is not None:
        measures[str(Measure.DEFLATED)] = sizes.deflated_bytes
    for section, size_bytes in found.totals(View.SECTION):
        if not section.startswith("["):  # headers and padding are in no section
            measures[f"{Measure.SECTION} {section}"] = size_bytes
    for model in prices.of_kind(PriceKind.MODEL) if prices else ():
        measures[f"{Measure.MODEL} {model.name}"] = max(model.margin_bytes, 0)
    return measures


def find_measure(
    measure: str, size_bytes: int, measures: Measures | None, table: ByteTable | None
) -> int | None:
    """Return None for what is not known; a part that the file does not have is 0 bytes."""
    if measure == WHOLE_FILE:
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


_BUDGET_HINT = (
    "name one that it has, as `megtrim size show FILE` lists them; a part that only some "
    "toolchains make has its budget's key toolchains; remove the budget of one that is gone"
)


def expect_part(budget: Budget, known: AbstractSet[str], more: AbstractSet[str]) -> None:
    """Raise InputError for a part that neither has; if ``known`` has none, nothing can be said."""
    kind, _, name = budget.measure.partition(" ")
    prefix = f"{kind} "
    if not any(each.startswith(prefix) for each in known) or budget.measure in known | more:
        return
    names = sorted(each[len(prefix) :] for each in known | more if each.startswith(prefix))
    meant = suggest(name, names)
    msg = f"the budget {budget.id}: no build of {budget.artifact} has a {budget.measure}{meant}"
    raise InputError(msg, hint=_BUDGET_HINT)


def list_parts(measures: Measures | None, table: ByteTable | None) -> frozenset[str]:
    sections = {each for each in measures or () if each.startswith(f"{Measure.SECTION} ")}
    components = table.components if table and not are_unnamed(table.components) else ()
    paths = (PurePosixPath(component) for component in components)
    above = {str(part) for path in paths for part in (path, *path.parents[:-1])}
    return frozenset(sections | {f"{Measure.COMPONENT} {each}" for each in above})
