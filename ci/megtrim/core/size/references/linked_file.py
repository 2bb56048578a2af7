"""From a linked file to its graph of references: bytes in, values out. Pure.

Strings and tables that nothing names are cut where something refers to them. What only serves a
part counts as its own: its unwind entry, and its entries in the loader's table of relocations.
Together, the parts are all that is in memory.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from megtrim.core.functions.link_map import LinkMap
from megtrim.core.size.attribution import Spans
from megtrim.core.size.references.graph import Numbers, Part, ReferenceGraph, join
from megtrim.libs.elf import references as elf_references
from megtrim.libs.elf.layout import (
    DAMAGE,
    EXECUTED,
    NO_BITS,
    ElfLayout,
    PlacedSection,
    make_damage_error,
)
from megtrim.libs.elf.references import THREAD_LOCAL, References
from megtrim.libs.elf.sections import NAMED, Purpose, find_purpose
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

ENTRY = "the entry point"
EXPORTED = "exported"
BEFORE_MAIN = "runs before main"
AT_EXIT = "runs at exit"
LOADER = "for the loader"
NAMED_SECTION = "in a section that code finds by its name"
_ARRAYS = (
    ((".preinit_array", ".init_array", ".ctors", ".init"), BEFORE_MAIN),
    ((".fini_array", ".dtors", ".fini"), AT_EXIT),
)
_UNWINDING = (".eh_frame", ".ARM.exidx")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LOADED = frozenset(
    {Purpose.LINKING, Purpose.NOTES, Purpose.RELOCATIONS, Purpose.HEADERS, Purpose.SYMBOLS}
)


def find_roots(
    layout: ElfLayout, parts: Sequence[Part], locate: Callable[[int], int]
) -> dict[int, str]:
    """Return why each root stays. ``locate`` returns the part at an address, -1 for none."""
    sections = {each.name: each for each in layout.sections}
    roots: dict[int, str] = {}
    for number, part in enumerate(parts):
        section = sections[part.section]
        if part.section.startswith(_UNWINDING) or find_purpose(section, layout) in _LOADED:
            roots[number] = LOADER
        elif _IDENTIFIER.fullmatch(part.section):
            roots[number] = NAMED_SECTION
        else:
            why = (why for names, why in _ARRAYS if part.section.startswith(names))
            roots.update((number, each) for each in why)
    for name, section_number, start, _ in layout.dynamic_symbols():
        address = layout.sections[section_number].address + start
        if name and (number := locate(address)) >= 0:
            roots.setdefault(number, EXPORTED)
    if layout.entry and (number := locate(layout.entry)) >= 0:
        roots[number] = ENTRY
    return roots


_HINT = "expected a program or shared library as the linker wrote it"
_HEADER_ENTRY_BYTES = 8
"""Of the table with which unwinders search."""
_LABEL = ".L"
"""Begins a compiler's own labels, which stay in a file with relocations: they name nothing."""
_CUT = frozenset({Purpose.CONSTANTS, Purpose.DATA, Purpose.LINKING})


class Stretch(NamedTuple):
    start: int
    end: int
    section: int
    source: str
    is_gap: bool = False


class LinkedFile(Value):
    graph: ReferenceGraph
    exact: bool
    """By the linker's relocations; else by code and pointers, some missed or imagined."""
    stretches: tuple[Stretch, ...]


def read_graph(data: bytes, origins: LinkMap | None, *, source: str) -> LinkedFile:
    """Return a linked file's graph; ``source`` names it in messages. Raises InputError."""
    try:
        layout = ElfLayout(data)
        if layout.relocatable:
            msg = f"{source}: an object, expected a program or shared library"
            raise InputError(msg, hint="name the program that it is linked into")
        return _read(layout, origins)
    except (*DAMAGE, TypeError) as error:
        raise make_damage_error(source, error, hint=_HINT) from None


def _read(layout: ElfLayout, origins: LinkMap | None) -> LinkedFile:
    emitted = elf_references.read_emitted(layout)
    found = emitted or elf_references.read_guessed(layout)
    symbols = _sort_symbols(layout)
    stretches = _cut(layout, origins, symbols, found)
    starts = np.array([stretch.start for stretch in stretches], dtype=np.int64)
    ends = np.array([stretch.end for stretch in stretches], dtype=np.int64)
    places, targets = (locate(each, starts, ends) for each in found)
    unwinding = [
        number for number, each in enumerate(layout.sections) if each.name.startswith(_UNWINDING)
    ]
    sections = np.array([stretch.section for stretch in stretches], dtype=np.int64)
    usable = (places >= 0) & (targets >= 0)
    usable &= ~np.isin(sections[places], unwinding)
    sizes = _Sizes(layout, stretches)
    more = _attach(layout, starts, ends, sizes)
    pairs = np.array(more, dtype=np.int64).reshape(-1, 2)
    parts = _make_parts(layout, stretches, symbols, sizes)
    roots = find_roots(layout, parts, lambda address: _locate_one(address, starts, ends))
    all_origins = np.concatenate((places[usable], pairs[:, 0]))
    all_targets = np.concatenate((targets[usable], pairs[:, 1]))
    graph = join(parts, all_origins, all_targets, roots)
    return LinkedFile(graph=graph, exact=emitted is not None, stretches=stretches)


_Symbols = dict[int, list[tuple[int, int, str]]]
"""By section: start, negative size and name, in order."""


def _sort_symbols(layout: ElfLayout) -> _Symbols:
    found: _Symbols = defaultdict(list)
    for name, number, start, size_bytes in layout.symbols():
        if not name.startswith(_LABEL):
            found[number].append((start, -size_bytes, name))
    for each in found.values():
        each.sort()
    return found


def _cut(
    layout: ElfLayout, origins: LinkMap | None, symbols: _Symbols, found: References
) -> tuple[Stretch, ...]:
    mapped: Spans[str] = Spans(
        zip(origins.starts, origins.ends, origins.files, strict=True) if origins else ()
    )
    targets = np.unique(found.targets).tolist()
    stretches: list[Stretch] = []
    for number, section in enumerate(layout.sections):
        in_template = section.kind == NO_BITS and section.flags & THREAD_LOCAL
        if section.in_memory and section.size_bytes and not in_template:
            stretches += _cut_section(layout, number, section, mapped, symbols, targets)
    # Sections of a damaged file may overlap: a byte counts for the first part that has it.
    stretches.sort(key=lambda each: each[:2])
    taken = 0
    apart: list[Stretch] = []
    for each in stretches:
        if each.end <= max(each.start, taken):
            continue
        one = each._replace(start=max(each.start, taken))
        taken = each.end
        if apart and _fills_gap(one, apart[-1], targets):
            one = apart.pop()._replace(end=one.end)
        apart.append(one)
    return tuple(apart)


def _fills_gap(stretch: Stretch, before: Stretch, targets: list[int]) -> bool:
    if not stretch.is_gap or before.section != stretch.section or before.end != stretch.start:
        return False
    at = bisect_left(targets, stretch.start)
    return at >= len(targets) or targets[at] >= stretch.end


def _cut_section(
    layout: ElfLayout,
    number: int,
    section: PlacedSection,
    mapped: Spans[str],
    symbols: _Symbols,
    targets: list[int],
) -> Iterator[Stretch]:
    own = symbols.get(number, ())
    named: Spans[str] = Spans(
        (section.address + start, section.address + _end(at, own, section), name)
        for at, (start, _, name) in enumerate(own)
    )
    cuttable = find_purpose(section, layout) in _CUT and not section.flags & EXECUTED
    starts = [section.address + start for start, _, _ in own]
    end = section.address + section.size_bytes
    for one, two, source in mapped.cut(section.address, end):
        if source is not None:
            at = bisect_left(starts, one)
            unnamed = cuttable and (at >= len(starts) or starts[at] >= two)
            yield from _cut_at(one, two, number, source, targets if unnamed else ())
            continue
        for first, last, name in named.cut(one, two):
            if name is not None:
                yield Stretch(first, last, number, "")
            elif cuttable:
                yield from _cut_at(first, last, number, "", targets)
            else:
                yield Stretch(first, last, number, "", is_gap=True)


def _end(at: int, own: list[tuple[int, int, str]] | tuple[()], section: PlacedSection) -> int:
    start, negative, _ = own[at]
    if negative or not section.flags & EXECUTED:
        return start - negative
    return next((each[0] for each in own[at + 1 : at + 3] if each[0] > start), section.size_bytes)


def _cut_at(
    start: int, end: int, section: int, source: str, targets: list[int] | tuple[()]
) -> Iterator[Stretch]:
    at = bisect_left(targets, start + 1)
    first = start
    while at < len(targets) and targets[at] < end:
        yield Stretch(first, targets[at], section, source)
        first = targets[at]
        at = at + 1
    yield Stretch(first, end, section, source)


def locate(addresses: Numbers, starts: Numbers, ends: Numbers) -> Numbers:
    if not len(starts):
        return np.full(len(addresses), -1, dtype=np.int64)
    at = np.searchsorted(starts, addresses, side="right") - 1
    inside = (at >= 0) & (addresses < ends[at])
    found: Numbers = np.where(inside, at, -1)
    return found


def _locate_one(address: int, starts: Numbers, ends: Numbers) -> int:
    return int(locate(np.array([address], dtype=np.int64), starts, ends)[0])


class _Sizes:
    def __init__(self, layout: ElfLayout, stretches: tuple[Stretch, ...]) -> None:
        self._left = defaultdict[int, int](int)
        self.bytes = [
            0 if layout.sections[stretch.section].kind == NO_BITS else stretch.end - stretch.start
            for stretch in stretches
        ]
        self._of_section = defaultdict[int, list[int]](list)
        for number, each in enumerate(stretches):
            self._of_section[each.section].append(number)

    def move(self, number: int, size_bytes: int, section: int) -> None:
        self.bytes[number] += size_bytes
        self._left[section] += size_bytes

    def settle(self) -> list[int]:
        for section, moved in self._left.items():
            left = moved
            for number in self._of_section[section]:
                taken = min(left, self.bytes[number])
                self.bytes[number] -= taken
                left -= taken
        return self.bytes


def _attach(
    layout: ElfLayout, starts: Numbers, ends: Numbers, sizes: _Sizes
) -> list[tuple[int, int]]:
    numbers = {each.name: number for number, each in enumerate(layout.sections)}
    table = numbers.get(".eh_frame")
    header = numbers.get(".eh_frame_hdr")
    table = numbers.get(".ARM.exidx", table)
    pairs = []
    for entry in elf_references.iter_entries(layout):
        if (number := _locate_one(entry.function, starts, ends)) < 0 or table is None:
            continue
        sizes.move(number, entry.size_bytes, table)
        if header is not None:
            sizes.move(number, _HEADER_ENTRY_BYTES, header)
        others = (_locate_one(each, starts, ends) for each in entry.refers_to)
        pairs += [(number, other) for other in others if other >= 0]
    indices = {id(each): number for number, each in enumerate(layout.sections)}
    for section, entry_bytes, places in elf_references.iter_dynamic_places(layout):
        for number in locate(places, starts, ends).tolist():
            if number >= 0:
                sizes.move(number, entry_bytes, indices[id(section)])
    return pairs


def _make_parts(
    layout: ElfLayout, stretches: tuple[Stretch, ...], symbols: _Symbols, sizes: _Sizes
) -> tuple[Part, ...]:
    names: dict[int, list[tuple[int, str]]] = defaultdict(list)
    starts = [stretch.start for stretch in stretches]
    for number, own in symbols.items():
        section = layout.sections[number]
        if not section.in_memory or find_purpose(section, layout) not in NAMED:
            continue
        for start, negative, name in own:
            address = section.address + start
            at = bisect_left(starts, address + 1) - 1
            if at >= 0 and address < stretches[at].end:
                names[at].append((negative, name))
    parts = []
    for at, (stretch, size_bytes) in enumerate(zip(stretches, sizes.settle(), strict=True)):
        ordered = [name for _, name in sorted(names.get(at, ()))]
        part = Part(
            names=tuple(dict.fromkeys(ordered)),
            section=layout.sections[stretch.section].name,
            source=stretch.source,
            size_bytes=size_bytes,
        )
        parts.append(part)
    return tuple(parts)
