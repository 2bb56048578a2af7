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
    ],
)
def test_what_large_pages_do_not_fit_is_named(segments: tuple[Segment, ...], why: str) -> None:
    data = with_segments(*segments)

    said = find_misfit(data, PAGE, source="lib.so")
    assert said.startswith("lib.so: ")
    assert why in said
    assert find_misfit(data, 0, source="lib.so") == ""


def test_padding_is_what_lies_between_segments() -> None:
    first = part(RX, 0x0, 0x8C0)
    second = part(RW, 0x712C, 0x10, offset=0x312C)

    assert count_padding(with_segments(second, first), source="lib.so") == 0x312C - 0x8C0
    assert count_padding(with_segments(), source="lib.so") == 0


def test_a_damaged_file_is_an_error() -> None:
    with pytest.raises(InputError, match=r"^lib.so: a damaged ELF file"):
        find_misfit(with_segments(CODE)[:70], PAGE, source="lib.so")
