"""What each byte of a file is: its section, its purpose, its symbol and its source.

The pieces add up to the file: a byte that two parts claim counts for the first, and one that none
claims is padding or unexplained. Programs, shared libraries, objects and static archives. Symbols
may come from an unstripped twin, sources from the linker's map. Pure: bytes in, values out.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from megtrim.elf.archives import ARCHIVE_MAGIC, ArchiveMember, MemberKind, iter_members
from megtrim.elf.layout import ELF_MAGIC, ElfLayout, PlacedSection, PlacedSymbol
from megtrim.errors import InputError
from megtrim.functions.link_map import LinkMap
from megtrim.size.purposes import NAMED, STRIPPED, Purpose, find_purpose
from megtrim.size.spans import Spans

_HINT = "expected a program, shared library, object or static archive, for a little-endian machine"
_DAMAGE = (struct.error, ValueError, IndexError, OverflowError)
_OF_ONE_PART = re.compile(
    # Compilers place functions and variables in sections of their own; linkers join them.
    r"((?:\.rela?|\.crel)?\.(?:text|rodata|data\.rel\.ro|data|bss|tdata|tbss|gcc_except_table"
    r"|init_array|fini_array|ARM\.exidx|ARM\.extab))\..+"
)
_FILLER_BYTES = 4
"""Linkers fill gaps with zeros or with one instruction."""


class Piece(NamedTuple):
    """What some bytes of a file have in common."""

    section: str
    """Name of the section, or of another part in brackets: ``[ELF header]``."""
    purpose: Purpose
    symbol: str = ""
    """Linkage name; empty if none names it."""
    source: str = ""
    """Object, or archive and member as in the link map; empty if it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """All bytes of one file."""

    size_bytes: int
    memory_bytes: int
    """What the loader maps into memory, or would map of an object's or archive's sections."""
    header_bytes: int
    """Size of the header of a section that a stripped file does not have."""
    pieces: Counter[Piece]
    """Bytes of each piece; they add up to the size."""
    kept: tuple[tuple[int, int], ...]
    """Start and end of what remains if the file is stripped, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameSources:
    """Where names come from that the file itself may not have."""

    origins: LinkMap | None = None
    twin: bytes | None = None
    """The same link's file with its symbols."""
    twin_source: str = ""
    """What messages call it."""


class _Stretch(NamedTuple):
    """Neighbouring bytes of one piece."""

    start: int
    end: int
    piece: Piece


def attribute(data: bytes, names: NameSources, *, source: str) -> Attribution:
    """Attribute every byte of a file; ``source`` names it in messages. Raises InputError."""
    archive = data.startswith(ARCHIVE_MAGIC)
    if not archive and not data.startswith(ELF_MAGIC):
        msg = f"{source}: neither an ELF file nor an archive: it begins with {data[:4]!r}"
        raise InputError(msg, hint=_HINT)
    if archive and (names.origins or names.twin):
        msg = f"{source}: an archive has no link map and no twin"
        raise InputError(msg, hint="name them for the program that it is linked into")
    try:
        return _attribute_archive(data) if archive else _attribute_file(data, names)
    except _DAMAGE as error:
        raise _make_damage_error(source, error) from None


def _make_damage_error(source: str, error: Exception) -> InputError:
    why = f": {error}" if type(error) is ValueError else ""
    return InputError(f"{source}: a damaged ELF file or archive{why}", hint=_HINT)


def _attribute_file(data: bytes, names: NameSources) -> Attribution:
    layout = ElfLayout(data)
    naming = layout if names.twin is None else _open_twin(layout, names)
    linked = not layout.relocatable
    origins = _origins(names.origins) if names.origins and linked else None
    walk = _Walk(data, layout, naming, origins)
    stretches = list(walk.stretches())
    return _sum_up(len(data), stretches, walk.memory_bytes(), layout.section_header_bytes)


def _attribute_archive(data: bytes) -> Attribution:
    stretches = [_Stretch(0, len(ARCHIVE_MAGIC), Piece("[archive]", Purpose.HEADERS))]
    memory_bytes = 0
    for member in iter_members(data):
        if stretches[-1].end < member.header:
            piece = Piece("[padding]", Purpose.PADDING)
            stretches.append(_Stretch(stretches[-1].end, member.header, piece))
        head = Piece("[archive]", Purpose.HEADERS, source=member.name)
        stretches.append(_Stretch(member.header, member.start, head))
        content = data[member.start : member.end]
        if member.kind is MemberKind.FILE and content.startswith(ELF_MAGIC):
            layout = ElfLayout(content)
            walk = _Walk(content, layout, layout, None, member.name)
            memory_bytes += walk.memory_bytes()
            stretches += (
                _Stretch(each.start + member.start, each.end + member.start, each.piece)
                for each in walk.stretches()
            )
        elif content:
            stretches.append(_Stretch(member.start, member.end, _member_piece(member)))
    if stretches[-1].end < len(data):
        stretches.append(
            _Stretch(stretches[-1].end, len(data), Piece("[padding]", Purpose.PADDING))
        )
    return _sum_up(len(data), stretches, memory_bytes, 0)


def _member_piece(member: ArchiveMember) -> Piece:
    match member.kind:
        case MemberKind.INDEX:
            return Piece("[archive index]", Purpose.SYMBOLS)
        case MemberKind.NAMES:
            return Piece("[archive names]", Purpose.HEADERS)
        case MemberKind.FILE:
            return Piece("[no object]", Purpose.NOTES, source=member.name)


def _sum_up(
    size_bytes: int, stretches: list[_Stretch], memory_bytes: int, header_bytes: int
) -> Attribution:
    pieces: Counter[Piece] = Counter()
    kept: list[tuple[int, int]] = []
    for start, end, piece in stretches:
        pieces[piece] += end - start
        if piece.purpose in STRIPPED:
            continue
        if kept and kept[-1][1] == start:
            kept[-1] = (kept[-1][0], end)
        else:
            kept.append((start, end))
    return Attribution(
        size_bytes=size_bytes,
        memory_bytes=memory_bytes,
        header_bytes=header_bytes,
        pieces=pieces,
        kept=tuple(kept),
    )


def _open_twin(layout: ElfLayout, names: NameSources) -> ElfLayout:
    """Return the layout of the twin, which must have the same parts in memory."""
    try:
        twin = ElfLayout(names.twin or b"")
    except _DAMAGE as error:
        raise _make_damage_error(names.twin_source, error) from None
    if layout.machine != twin.machine or not _same_in_memory(layout, twin):
        msg = f"{names.twin_source}: not the same program: its sections in memory differ"
        raise InputError(msg, hint="name the file that was stripped, from the same link")
    return twin


def _same_in_memory(one: ElfLayout, two: ElfLayout) -> bool:
    """Compare the sections in memory; a file of symbols alone has them without their bytes."""
    pairs = zip_longest(*([x for x in each.sections if x.in_memory] for each in (one, two)))
    return all(
        first is not None
        and second is not None
        and (first.name, first.address, first.size_bytes)
        == (second.name, second.address, second.size_bytes)
        and (first.file_bytes != second.file_bytes or one.content(first) == two.content(second))
        for first, second in pairs
    )


def _origins(link_map: LinkMap) -> Spans[str]:
    return Spans(zip(link_map.starts, link_map.ends, link_map.files, strict=True))


class _Walk:
    """One ELF file, from its first byte to its last."""

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
        """The archive's member that the file is; all its bytes are from there."""
        # The twin's sections have the same names and addresses, and other numbers.
        numbers = {(each.name, each.address): at for at, each in enumerate(layout.sections)}
        self._symbols: dict[int, list[PlacedSymbol]] = {}
        for symbol in naming.symbols():
            number = symbol.section
            if naming is not layout:
                section = naming.sections[number]
                number = numbers.get((section.name, section.address), 0)
            self._symbols.setdefault(number, []).append(symbol)

    def memory_bytes(self) -> int:
        """Return how much memory the loader maps, or how much the sections take."""
        if self._layout.segments:
            return sum(each.memory_bytes for each in self._layout.segments)
        return sum(each.size_bytes for each in self._layout.sections if each.in_memory)

    def stretches(self) -> Iterator[_Stretch]:
        """Yield what each byte is, in order and without gaps."""
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
                    yield self._gap(start, end)
                case str():
                    piece = Piece(label, Purpose.HEADERS, source=self._member)
                    yield _Stretch(start, end, piece)
                case int():
                    yield from self._section(label, start, end)

    def _gap(self, start: int, end: int) -> _Stretch:
        gap = self._data[start:end]
        if gap[_FILLER_BYTES:] == gap[:-_FILLER_BYTES]:
            return _Stretch(start, end, Piece("[padding]", Purpose.PADDING, source=self._member))
        piece = Piece("[no section]", Purpose.UNEXPLAINED, source=self._member)
        return _Stretch(start, end, piece)

    def _section(self, number: int, start: int, end: int) -> Iterator[_Stretch]:
        """Yield the stretches of one section, between two places in the file."""
        section = self._layout.sections[number]
        purpose = find_purpose(section, self._layout)
        name = section.name or "[no name]"
        if self._layout.relocatable and (joined := _OF_ONE_PART.fullmatch(name)):
            name = joined[1]
        piece = Piece(name, purpose, source=self._member)
        if purpose not in NAMED:
            yield from self._by_origin(section, piece, start, end)
            return
        symbols = Spans(_claims(section, self._symbols.pop(number, []), purpose))
        for first, last, symbol in symbols.cut(start - section.offset, end - section.offset):
            at, to = first + section.offset, last + section.offset
            if symbol is None and self._is_padding(section, purpose, at, to):
                yield _Stretch(at, to, Piece(name, Purpose.PADDING, source=self._member))
            elif symbol is None:
                yield from self._by_origin(section, piece, at, to)
            else:
                origin = self._member
                if self._origins is not None:
                    origin = self._origins.at(section.address + first) or ""
                yield _Stretch(at, to, Piece(name, purpose, symbol, origin))

    def _by_origin(
        self, section: PlacedSection, piece: Piece, start: int, end: int
    ) -> Iterator[_Stretch]:
        if self._origins is None or not section.in_memory:
            yield _Stretch(start, end, piece)
            return
        shift = section.address - section.offset
        for first, last, origin in self._origins.cut(start + shift, end + shift):
            yield _Stretch(first - shift, last - shift, piece._replace(source=origin or ""))

    def _is_padding(self, section: PlacedSection, purpose: Purpose, start: int, end: int) -> bool:
        """Return whether a gap is there for the alignment of what follows."""
        following = section.address + end - section.offset
        aligned = min(section.alignment, following & -following)
        if end - start >= max(aligned, 1):
            return False
        return purpose is Purpose.CODE or not any(self._data[start:end])


def _claims(
    section: PlacedSection, symbols: list[PlacedSymbol], purpose: Purpose
) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and name of each symbol, the largest of those with one start first."""
    found = sorted(symbols, key=lambda each: (each.start, -each.size_bytes, each.name))
    taken = 0
    # A function written in assembler may have no size: it ends where the next one starts.
    following = section.size_bytes
    ends = []
    for each in reversed(found):
        ends.append(following)
        following = each.start
    for each, next_start in zip(found, reversed(ends), strict=True):
        end = min(each.start + each.size_bytes, section.size_bytes)
        if not each.size_bytes and purpose is Purpose.CODE and each.start >= taken:
            end = next_start
        start = max(each.start, taken)
        if end > start:
            yield start, end, each.name
            taken = end
