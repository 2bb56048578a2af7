"""What each byte of a file is: its section, its purpose, its symbol and its source. Pure.

A byte that two parts claim counts for the first; one that none claims is padding or unexplained.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Generic, NamedTuple, TypeVar

from megtrim.core.functions.link_map import LinkMap
from megtrim.libs.elf.layout import (
    DAMAGE,
    ELF_MAGIC,
    EXECUTED,
    LOADED,
    ElfLayout,
    PlacedSection,
    make_damage_error,
)
from megtrim.libs.elf.objects import ARCHIVE_MAGIC, THIN_MAGIC, MemberKind, iter_members
from megtrim.libs.elf.sections import NAMED, STRIPPED, Purpose, find_purpose
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

Label = TypeVar("Label")


class Spans(Generic[Label]):
    """Claims of bytes as start, end and label, in order; a byte counts for the first."""

    def __init__(self, claims: Iterable[tuple[int, int, Label]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._labels: list[Label] = []
        taken = 0
        for first, end, label in claims:
            start = max(first, taken)
            if end > start:
                self._starts.append(start)
                self._ends.append(end)
                self._labels.append(label)
                taken = end

    def cut(self, start: int, end: int) -> Iterator[tuple[int, int, Label | None]]:
        """Yield the pieces of a stretch, in order and without gaps; None: what no one claims."""
        at = start
        begin = max(bisect_right(self._starts, start) - 1, 0)
        behind = bisect_left(self._starts, end)
        for number in range(begin, behind):
            first = max(self._starts[number], at)
            last = min(self._ends[number], end)
            if first < last:
                if at < first:
                    yield at, first, None
                yield first, last, self._labels[number]
                at = last
        if at < end:
            yield at, end, None

    def at(self, place: int) -> Label | None:
        number = bisect_right(self._starts, place) - 1
        return self._labels[number] if number >= 0 and place < self._ends[number] else None


_HINT = "expected a program, shared library, object or static archive, for a little-endian machine"
_WHAT = "ELF file or archive"
_OF_ONE_PART = re.compile(
    # Compilers place functions and variables in sections of their own; linkers join them.
    r"((?:\.rela?|\.crel)?\.(?:text|rodata|data\.rel\.ro|data|bss|tdata|tbss|gcc_except_table"
    r"|init_array|fini_array|ARM\.exidx|ARM\.extab))\..+"
)
_FILLER_BYTES = 4
"""Linkers fill gaps with zeros or with one instruction."""


class Piece(NamedTuple):
    section: str
    """Name of the section, or of another part in brackets: ``[ELF header]``."""
    purpose: Purpose
    symbol: str = ""
    """Linkage name; empty if none names it."""
    source: str = ""
    """Object, or archive and member as in the link map; empty if it is not known."""


_OF_ARCHIVE = {
    MemberKind.INDEX: Piece("[archive index]", Purpose.SYMBOLS),
    MemberKind.NAMES: Piece("[archive names]", Purpose.HEADERS),
}


class Attribution(Value):
    size_bytes: int
    memory_bytes: int
    """What the loader maps into memory, or would map of an object's or archive's sections."""
    header_bytes: int
    """Size of the header of a section that a stripped file does not have."""
    pieces: Counter[Piece]
    kept: tuple[tuple[int, int], ...]
    """Start and end of what remains if the file is stripped, in order."""


class NameSources(Value):
    origins: LinkMap | None = None
    twin: bytes | None = None
    twin_source: str = ""


def attribute(data: bytes, names: NameSources, *, source: str) -> Attribution:
    """Attribute every byte of a file; ``source`` names it in messages. Raises InputError."""
    if data.startswith(THIN_MAGIC):
        msg = f"{source}: this is a thin archive, which only names its members"
        raise InputError(msg, hint="make a whole one: ar rcs WHOLE.a $(ar t THIN.a)")
    archive = data.startswith(ARCHIVE_MAGIC)
    if not archive and not data.startswith(ELF_MAGIC):
        msg = f"{source}: neither an ELF file nor an archive: it begins with {data[:4]!r}"
        raise InputError(msg, hint=_HINT)
    if archive and (names.origins or names.twin):
        msg = f"{source}: an archive has no link map and no twin"
        raise InputError(msg, hint="name them for the program that it is linked into")
    found = _Found()
    try:
        header_bytes = _add_archive(data, found) if archive else _add_file(data, names, found)
    except DAMAGE as error:
        raise make_damage_error(source, error, hint=_HINT, what=_WHAT) from None
    return Attribution(
        size_bytes=len(data),
        memory_bytes=found.memory_bytes,
        header_bytes=header_bytes,
        pieces=found.pieces,
        kept=tuple(found.kept),
    )


def _add_file(data: bytes, names: NameSources, found: _Found) -> int:
    layout = ElfLayout(data)
    naming = layout if names.twin is None else _open_twin(layout, names)
    origins: Spans[str] | None = None
    if (listed := names.origins) and not layout.relocatable:
        origins = Spans(zip(listed.starts, listed.ends, listed.files, strict=True))
    _Walk(data, layout, naming, origins).go(found)
    return layout.section_header_bytes


def _add_archive(data: bytes, found: _Found) -> int:
    found.add(0, len(ARCHIVE_MAGIC), Piece("[archive]", Purpose.HEADERS))
    end = len(ARCHIVE_MAGIC)
    for member in iter_members(data):
        found.add(end, member.header, Piece("[padding]", Purpose.PADDING))
        head = Piece("[archive]", Purpose.HEADERS, source=member.name)
        found.add(member.header, member.start, head)
        content = data[member.start : member.end]
        if member.kind is MemberKind.FILE and content.startswith(ELF_MAGIC):
            layout = ElfLayout(content)
            found.first = member.start
            _Walk(content, layout, layout, None, member.name).go(found)
            found.first = 0
        elif member.kind is MemberKind.FILE:
            piece = Piece("[no object]", Purpose.NOTES, source=member.name)
            found.add(member.start, member.end, piece)
        else:
            found.add(member.start, member.end, _OF_ARCHIVE[member.kind])
        end = member.end
    found.add(end, len(data), Piece("[padding]", Purpose.PADDING))
    return 0


class _Found:
    def __init__(self) -> None:
        self.first = 0
        """Where in the file the offsets begin that are added: those of an archive's member."""
        self.pieces: Counter[Piece] = Counter()
        self.memory_bytes = 0
        self.kept: list[tuple[int, int]] = []

    def add(self, start: int, end: int, piece: Piece) -> None:
        if start < end:
            self.pieces[piece] += end - start
            self.keep(start, end, piece.purpose)

    def keep(self, start: int, end: int, purpose: Purpose) -> None:
        if purpose in STRIPPED:
            return
        start = start + self.first
        end = end + self.first
        if self.kept and self.kept[-1][1] == start:
            start = self.kept.pop()[0]
        self.kept.append((start, end))


def _open_twin(layout: ElfLayout, names: NameSources) -> ElfLayout:
    try:
        twin = ElfLayout(names.twin or b"")
    except DAMAGE as error:
        raise make_damage_error(names.twin_source, error, hint=_HINT, what=_WHAT) from None
    if layout.machine != twin.machine or not _same_in_memory(layout, twin):
        msg = f"{names.twin_source}: this is another program: its sections in memory differ"
        raise InputError(msg, hint="name the program of the same link, as it was before stripping")
    return twin


def _same_in_memory(one: ElfLayout, two: ElfLayout) -> bool:
    """Notes differ if each was linked on its own; a file of symbols alone has no bytes of code."""
    mapped = [section for section in one.sections if section.in_memory]
    others = [section for section in two.sections if section.in_memory]
    if len(mapped) != len(others):
        return False
    for first, second in zip(mapped, others, strict=True):
        place = (first.name, first.address, first.size_bytes)
        if place != (second.name, second.address, second.size_bytes):
            return False
        if first.flags & EXECUTED and _differ(one.content(first), two.content(second)):
            return False
    return True


def _differ(one: bytes, two: bytes) -> bool:
    return bool(one and two) and one != two


class _Walk:
    def __init__(
        self,
        data: bytes,
        layout: ElfLayout,
        naming: ElfLayout,
        origins: Spans[str] | None,
        member: str = "",
    ) -> None:
        self._data = data
        self._layout = layout
        self._origins = origins
        self._member = member
        # The twin's sections have the same names and addresses, and other numbers.
        numbers = {(each.name, each.address): at for at, each in enumerate(layout.sections)}
        self._symbols: dict[int, list[tuple[int, int, str]]] = {}
        places = [numbers.get((section.name, section.address), 0) for section in naming.sections]
        for name, number, start, size_bytes in naming.symbols():
            place = number if naming is layout else places[number]
            self._symbols.setdefault(place, []).append((start, -size_bytes, name))

    def go(self, found: _Found) -> None:
        loaded = [segment for segment in self._layout.segments if segment.kind == LOADED]
        held = (section.size_bytes for section in self._layout.sections if section.in_memory)
        found.memory_bytes += sum(each.memory_bytes for each in loaded) if loaded else sum(held)
        claims: list[tuple[int, int, str | int]] = [
            (start, end, name) for name, start, end in self._layout.headers
        ]
        claims += [
            (each.offset, each.offset + each.file_bytes, number)
            for number, each in enumerate(self._layout.sections)
        ]
        claims.sort(key=lambda each: each[:2])
        for start, end, label in Spans(claims).cut(0, len(self._data)):
            match label:
                case None:
                    found.add(start, end, self._gap(start, end))
                case str():
                    found.add(start, end, Piece(label, Purpose.HEADERS, source=self._member))
                case int():
                    self._section(found, label, start, end)

    def _gap(self, start: int, end: int) -> Piece:
        gap = self._data[start:end]
        if gap[_FILLER_BYTES:] == gap[:-_FILLER_BYTES]:
            return Piece("[padding]", Purpose.PADDING, source=self._member)
        return Piece("[no section]", Purpose.UNEXPLAINED, source=self._member)

    def _section(self, found: _Found, number: int, start: int, end: int) -> None:
        section = self._layout.sections[number]
        purpose = find_purpose(section, self._layout)
        name = section.name or "[no name]"
        if self._layout.relocatable and (joined := _OF_ONE_PART.fullmatch(name)):
            name = joined[1]
        found.keep(start, end, purpose)
        symbols = self._symbols.pop(number, []) if purpose in NAMED else []
        named = Spans(_claims(section, symbols, purpose))
        shift = section.address - section.offset
        pieces = found.pieces
        origins = self._origins
        origin = self._member
        for first, last, symbol in named.cut(start - section.offset, end - section.offset):
            at = first + section.offset
            to = last + section.offset
            if symbol is not None:
                if origins is not None:
                    origin = origins.at(at + shift) or ""
                pieces[Piece(name, purpose, symbol, origin)] += last - first
            elif purpose in NAMED and self._is_padding(section, purpose, at, to):
                pieces[Piece(name, Purpose.PADDING, source=self._member)] += last - first
            elif origins is None or not section.in_memory:
                pieces[Piece(name, purpose, source=self._member)] += last - first
            else:
                for one, two, source in origins.cut(at + shift, to + shift):
                    pieces[Piece(name, purpose, source=source or "")] += two - one

    def _is_padding(self, section: PlacedSection, purpose: Purpose, start: int, end: int) -> bool:
        following = section.address + end - section.offset
        aligned = min(section.alignment, following & -following)
        if end - start >= max(aligned, 1):
            return False
        return purpose is Purpose.CODE or not any(self._data[start:end])


def _claims(
    section: PlacedSection, symbols: list[tuple[int, int, str]], purpose: Purpose
) -> Iterator[tuple[int, int, str]]:
    symbols.sort()
    taken = 0
    limit = section.size_bytes
    # A function written in assembler may have no size: it ends where the next one starts.
    nexts = chain((start for start, _, _ in symbols[1:]), (limit,))
    for (start, negative, name), following in zip(symbols, nexts, strict=False):
        end = min(start - negative, limit)
        if not negative and purpose is Purpose.CODE and start >= taken:
            end = following
        if end > max(start, taken):
            yield start, end, name
            taken = end
