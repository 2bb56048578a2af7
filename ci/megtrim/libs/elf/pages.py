"""Whether a loader can map a linked file in memory pages of some size. Pure.

Android's rules: bionic's loader, its ``elfpolicy``, and Android Studio's APK Analyzer.
"""

from collections.abc import Iterator

from megtrim.libs.elf.layout import LOADED, Segment, segments

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
    for relro in segments(data, source=source):
        if relro.kind != _RELRO:
            continue
        # The loader takes the right to write from whole pages, with all that shares them.
        start = relro.address
        end = relro.address + relro.memory_bytes
        around = ((start - start % page_bytes, start), (end, end + -end % page_bytes))
        for each in loaded:
            for first, last in around if each.flags & _WRITABLE else ():
                if max(first, each.address) < min(last, each.address + each.memory_bytes):
                    place = f"its GNU_RELRO segment, {start:#x} to {end:#x},"
                    yield f"{source}: {place} shares a page of {page_bytes:,} bytes with other data"
