"""Whether a loader can map a linked file in memory pages of some size. Pure.

Android's rules: bionic's loader, its ``elfpolicy``, and Android Studio's APK Analyzer.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import attrgetter

from megtrim.libs.elf.layout import (
    DAMAGE,
    LOADED,
    REBUILD,
    ElfLayout,
    PlacedSection,
    Segment,
    make_damage_error,
    segments,
)

LINK_AGAIN = (
    "link it with -Wl,-z,max-page-size=16384,-z,common-page-size=16384, or by NDK r28 or later; "
    "of a library that others made, ask them for one that supports 16 KB pages"
)
_RELRO = 0x6474E552
"""Kind of the segment that is read-only once it is relocated."""
_WRITABLE = 2


def find_misfit(data: bytes, page_bytes: int, *, source: str) -> str:
    """Return why pages of ``page_bytes`` do not fit its segments; empty: they do, or it is 0.

    Raises InputError for a damaged file.
    """
    return next(_list_misfits(data, page_bytes, source), "") if page_bytes else ""


def count_padding(data: bytes, *, source: str) -> int:
    """Return the bytes of the file that lie between its LOAD segments."""
    loaded = sorted((each.offset, each.size_bytes) for each in _list_loaded(data, source))
    ends = [offset + size_bytes for offset, size_bytes in loaded]
    return sum(max(0, offset - end) for end, (offset, _) in zip(ends, loaded[1:], strict=False))


def _list_loaded(data: bytes, source: str) -> list[Segment]:
    return [each for each in segments(data, source=source) if each.kind == LOADED]


def _list_misfits(data: bytes, page_bytes: int, source: str) -> Iterator[str]:
    loaded = _list_loaded(data, source)
    for number, each in enumerate(loaded, 1):
        place = f"{source}: LOAD segment {number} of {len(loaded)}, at {each.address:#x},"
        if not each.alignment or each.alignment % page_bytes:
            yield f"{place} is aligned to {each.alignment:,} bytes, expected {page_bytes:,}"
        if (each.address - each.offset) % page_bytes:
            yield f"{place} lies at {each.offset:#x} in the file, at another place of its page"
    by_address = sorted(loaded, key=attrgetter("address"))
    for before, after in pairwise(by_address):
        if _cut(after.address, page_bytes) < _end_of(before):
            place = f"{source}: its LOAD segment at {before.address:#x} shares a page"
            yield f"{place} of {page_bytes:,} bytes with the one at {after.address:#x}"
    for relro in segments(data, source=source):
        if relro.kind == _RELRO:
            place = f"{source}: its GNU_RELRO segment, {relro.address:#x} to {_end_of(relro):#x},"
            found = _list_relro_misfits(relro, by_address, page_bytes, _read_sections(data, source))
            yield from (f"{place} {each}" for each in found)


def _list_relro_misfits(
    relro: Segment, loaded: Sequence[Segment], page_bytes: int, sections: Sequence[PlacedSection]
) -> Iterator[str]:
    """``loaded`` is sorted by address. The rules are those of ``elfpolicy``, and two of the loader.

    The loader takes the right to write from whole pages: from all that shares them, and from
    nothing that is not loaded.
    """
    start = relro.address
    end = _end_of(relro)
    first = _cut(start, page_bytes)
    last = _cut(end + page_bytes - 1, page_bytes)
    at = bisect_right(loaded, start, key=attrgetter("address")) - 1
    if not relro.memory_bytes:
        yield "is empty"
        return
    if at < 0:
        yield "begins before every LOAD segment"
        return
    own = loaded[at]
    for following in loaded[at + 1 : at + 2]:
        if end > following.address:
            yield f"reaches into the LOAD segment at {following.address:#x}"
    if last > _cut(_end_of(loaded[-1]) + page_bytes - 1, page_bytes):
        yield "ends after the last page that is loaded"
    around = ((first, start), (end, last))
    if any(_is_written(begin, stop, loaded) for begin, stop in around):
        yield f"shares a page of {page_bytes:,} bytes with other data"
    if _is_all_of(relro, own, sections):
        return
    within = f"within a page of {page_bytes:,} bytes, and not where its LOAD segment"
    if start != first and start != own.address:
        yield f"begins {within} begins, at {own.address:#x}"
    if end != last and end != _end_of(own):
        yield f"ends {within} ends, at {_end_of(own):#x}"


def _is_written(start: int, end: int, loaded: Sequence[Segment]) -> bool:
    """Return whether a segment with data that may be written has a part between these addresses."""
    written = (each for each in loaded if each.flags & _WRITABLE)
    return any(max(start, each.address) < min(end, _end_of(each)) for each in written)


def _is_all_of(relro: Segment, loaded: Segment, sections: Sequence[PlacedSection]) -> bool:
    """Return whether all that the LOAD segment has is RELRO; linkers pad the end of either."""
    if relro.address <= loaded.address and _end_of(relro) >= _end_of(loaded):
        return bool(loaded.memory_bytes)
    inside = [each for each in sections if _holds(loaded, each)]
    return bool(inside) and inside == [each for each in sections if _holds(relro, each)]


def _holds(segment: Segment, section: PlacedSection) -> bool:
    end = section.address + section.size_bytes
    return segment.address <= section.address and end <= _end_of(segment)


def _read_sections(data: bytes, source: str) -> Sequence[PlacedSection]:
    try:
        return ElfLayout(data).sections
    except DAMAGE as error:
        raise make_damage_error(source, error, hint=REBUILD) from None


def _end_of(segment: Segment) -> int:
    return segment.address + segment.memory_bytes


def _cut(address: int, page_bytes: int) -> int:
    return address - address % page_bytes
