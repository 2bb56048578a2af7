import struct

import pytest

from megtrim.libs.elf.layout import LOADED, Segment
from megtrim.libs.elf.pages import count_padding, find_misfit
from megtrim.libs.util.errors import InputError
from unit.libs.elf.made_objects import with_segments

PAGE = 16_384
R = 4
RW = 6
RX = 5
RELRO = 0x6474E552
_NO_BITS = 8


def part(
    flags: int, address: int, size: int, *, offset: int = -1, align: int = PAGE, kind: int = LOADED
) -> Segment:
    at = address % PAGE if offset < 0 else offset
    return Segment(kind, flags, at, address, address, size, size, align)


def relro(start: int, end: int) -> Segment:
    return part(R, start, end - start, align=1, kind=RELRO)


CODE = part(RX, 0x0, 0x730)
FIXED = part(RW, 0x8910, 0xE70)
DATA = part(RW, 0xD780, 0x30A4)
"""As lld lays them out: what RELRO covers has a LOAD segment of its own."""
ONE = part(RW, 0x712C, 0x3F7C)
"""As GNU ld does: one LOAD segment begins with what RELRO covers."""


@pytest.mark.parametrize(
    "segments",
    [
        (),
        (CODE, FIXED, DATA, relro(0x8910, 0xC000)),
        (CODE, FIXED, DATA, relro(0x8910, 0x9780)),
        (CODE, FIXED, DATA, relro(0x8910, 0xA000)),
        (CODE, ONE, relro(0x712C, 0x8000)),
        (part(RX, 0x0, 0x730, align=65_536), part(RW, 0x4000, 0x10)),
        (CODE, part(RW, 0x4000, 0x4010), relro(0x4000, 0x8010)),
    ],
    ids=[
        "nothing",
        "lld",
        "lld, its end",
        "lld, pages of 4 KiB",
        "GNU ld",
        "larger pages",
        "all of the data",
    ],
)
def test_large_pages_fit(segments: tuple[Segment, ...]) -> None:
    assert find_misfit(with_segments(*segments), PAGE, source="lib.so") == ""


@pytest.mark.parametrize(
    ("segments", "why"),
    [
        (
            (CODE, part(RW, 0x4000, 8, align=4096)),
            "LOAD segment 2 of 2, at 0x4000, is aligned to 4,096 bytes, expected 16,384",
        ),
        ((part(R, 0, 8, align=0),), "LOAD segment 1 of 1, at 0x0, is aligned to 0 bytes, expected"),
        ((part(R, 0, 8, align=24_576),), "is aligned to 24,576 bytes, expected 16,384"),
        (
            (part(RX, 0x5000, 8, offset=0x2000),),
            "LOAD segment 1 of 1, at 0x5000, lies at 0x2000 in the file, at another place of its",
        ),
        (
            (CODE, ONE, relro(0x712C, 0x9000)),
            "its GNU_RELRO segment, 0x712c to 0x9000, shares a page of 16,384 bytes with other",
        ),
        ((CODE, ONE, relro(0x8010, 0xC000)), "its GNU_RELRO segment, 0x8010 to 0xc000, shares"),
        ((FIXED, part(RW, 0xB000, 16, offset=0x3000), relro(0x8910, 0xA000)), "shares a page"),
        (
            (CODE, part(RW, 0x1000, 16, offset=0x1000)),
            "its LOAD segment at 0x0 shares a page of 16,384 bytes with the one at 0x1000",
        ),
        ((CODE, FIXED, DATA, relro(0x8910, 0x8910)), "its GNU_RELRO segment, 0x8910 to 0x8910, is"),
        ((part(RW, 0x8000, 0x4000), relro(0x4000, 0x8000)), "begins before every LOAD segment"),
        (
            (CODE, FIXED, part(RW, 0xD780, 0x10), relro(0x8910, 0xE000)),
            "0x8910 to 0xe000, reaches into the LOAD segment at 0xd780",
        ),
        ((CODE, ONE, relro(0x712C, 0x10000)), "ends after the last page that is loaded"),
        ((CODE, ONE, relro(0x712C, 2**64)), "ends after the last page that is loaded"),
        (
            # In a segment that is only read, it takes nothing from data, but Android refuses it.
            (part(R, 0x4000, 0x4000), relro(0x5000, 0x8000)),
            "begins within a page of 16,384 bytes, and not where its LOAD segment begins, at 0x400",
        ),
        (
            (part(R, 0x4000, 0x3000), relro(0x4000, 0x6000)),
            "ends within a page of 16,384 bytes, and not where its LOAD segment ends, at 0x7000",
        ),
        (
            # Past the end of its segment, and not at a page's, with something before it.
            (CODE, part(RW, 0x4000, 0x4010), relro(0x8000, 0x9000)),
            "ends within a page of 16,384 bytes, and not where its LOAD segment ends, at 0x8010",
        ),
        ((part(R, 0x4000, 0), relro(0x4000, 0x4010)), "ends after the last page that is loaded"),
    ],
)
def test_what_large_pages_do_not_fit_is_named(segments: tuple[Segment, ...], why: str) -> None:
    data = with_segments(*segments)

    said = find_misfit(data, PAGE, source="lib.so")
    assert said.startswith("lib.so: ")
    assert why in said
    assert find_misfit(data, 0, source="lib.so") == ""


@pytest.mark.parametrize(
    ("sections", "fits"),
    [
        (((0x4000, 0x1000), (0x5000, 0x800)), True),
        (((0x4000, 0x1000), (0x5000, 0x2000)), False),
        ((), False),
    ],
    ids=["the rest of its segment is empty", "something follows", "not known"],
)
def test_relro_may_end_where_its_segment_has_nothing_more(
    sections: tuple[tuple[int, int], ...], fits: bool
) -> None:
    """Android compares the sections of both."""
    made = with_segments(part(R, 0x4000, 0x3000), relro(0x4000, 0x6000))

    assert (find_misfit(with_sections(made, *sections), PAGE, source="lib.so") == "") == fits


def with_sections(data: bytes, *places: tuple[int, int]) -> bytes:
    """Return the file with sections in memory: address and size of each."""
    header = struct.Struct("<IIQQQQIIQQ")
    names = header.pack(0, 3, 0, 0, len(data), 1, 0, 0, 1, 0)
    parts = [header.pack(0, _NO_BITS, 3, at, 0, size, 0, 0, 1, 0) for at, size in places]
    rows = [bytes(header.size), names, *parts]
    made = bytearray(data + b"\0" + b"".join(rows))
    struct.pack_into("<Q", made, 40, len(data) + 1)
    struct.pack_into("<3H", made, 58, header.size, len(rows), 1)
    return bytes(made)


def test_padding_is_what_lies_between_segments() -> None:
    first = part(RX, 0x0, 0x8C0)
    second = part(RW, 0x712C, 0x10, offset=0x312C)

    assert count_padding(with_segments(second, first), source="lib.so") == 0x312C - 0x8C0
    assert count_padding(with_segments(), source="lib.so") == 0


def test_a_damaged_file_is_an_error() -> None:
    with pytest.raises(InputError, match=r"^lib.so: a damaged ELF file"):
        find_misfit(with_segments(CODE)[:70], PAGE, source="lib.so")
