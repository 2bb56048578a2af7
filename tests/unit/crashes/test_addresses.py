"""From what a report says to addresses of the file."""

from __future__ import annotations

import struct

import pytest

from megtrim.crashes.addresses import CrashSite, find_site, locate_file
from megtrim.crashes.frames import CrashFrame, MappedFile
from megtrim.crashes.report import CrashReport
from unit.crashes.made_programs import STAYS, STUB_AT, folded, program

BASE = 0x7B00000000


def mapping(*, offset: int | None = 0x1000, file: str = "/lib/app") -> MappedFile:
    """Return the mapping of the code of a made program: its segment begins at 0x1000."""
    start = BASE + STAYS
    return MappedFile(start=start, end=start + 0x1000, offset=offset, file=file, build_id="ab")


def report(*frames: CrashFrame, **changes: object) -> CrashReport:
    """Return a report with these frames."""
    return CrashReport(signal=5, frames=frames, **changes)  # type: ignore[arg-type]


def absolute(pc: int) -> CrashFrame:
    return CrashFrame(pc=pc, file="", absolute=True)


@pytest.mark.parametrize(("offset", "file"), [(0x1000, "/lib/app"), (0x5B000, "/data/base.apk")])
def test_an_address_in_memory_with_mappings(offset: int | None, file: str) -> None:
    """By the place in the file; in an APK, by the page of the segment."""
    said = report(absolute(BASE + STUB_AT), mappings=(mapping(offset=offset, file=file),))

    assert find_site(said.frames[0], said, program()) == CrashSite(addresses=(STUB_AT,))
    assert locate_file(said.frames[0], said) == (file, frozenset({"ab"}))


def test_of_several_mappings_the_one_that_holds_it() -> None:
    """Data of the program, and other files, are mapped next to it."""
    others = (
        MappedFile(start=BASE, end=BASE + 0x1000, offset=0, file="/lib/app", executable=False),
        mapping(),
        MappedFile(start=BASE + 0x90000, end=BASE + 0x91000, offset=0x1000, file="/lib/other"),
    )
    said = report(absolute(BASE + 0x90010), mappings=others)

    assert locate_file(said.frames[0], said) == ("/lib/other", frozenset())
    said = report(absolute(BASE + STUB_AT), mappings=others)
    assert find_site(said.frames[0], said, program()).addresses == (STUB_AT,)


def test_an_address_in_memory_without_mappings() -> None:
    """A loader moves a program by whole pages: its last three digits stay."""
    said = report(absolute(0x5555555540000 + STUB_AT))

    site = find_site(said.frames[0], said, program())
    assert site.addresses == (STUB_AT,)
    assert "where the program was loaded" in site.why_several
    assert find_site(said.frames[0], said, program(fixed=True)).addresses == (said.frames[0].pc,)


def test_an_address_of_the_file() -> None:
    """As a tombstone and a person give it; an older report may count from the mapping."""
    for frame in (CrashFrame(pc=STUB_AT, file="app"), absolute(STUB_AT)):
        assert find_site(frame, report(frame), program()) == CrashSite(addresses=(STUB_AT,))
    old = CrashFrame(pc=0x20, file="app", offset=0x1000)
    assert find_site(old, report(old), program()).addresses == (0x20, STUB_AT)
    new = CrashFrame(pc=STUB_AT, file="base.apk!app", offset=0x5A000, build_id="ab")
    assert find_site(new, report(new), program()) == CrashSite(addresses=(STUB_AT,))


def test_a_mapping_begins_with_a_page_of_any_size() -> None:
    """In an APK, of a file whose segments are aligned to larger pages than the smallest."""
    data = bytearray(folded())
    struct.pack_into("<2Q", data, 64 + 16, STAYS + 0x1000, STAYS + 0x1000)
    struct.pack_into("<Q", data, 64 + 48, 0x4000)
    made = program(shipped=bytes(data))
    said = report(absolute(BASE + 0x1020), mappings=(MappedFile(
        start=BASE, end=BASE + 0x2000, offset=0x5B000, file="/data/base.apk"
    ),))  # fmt: skip

    site = find_site(said.frames[0], said, made)
    assert site.addresses == (STAYS + 0x1020, STAYS + 0x2020)
    assert "which part of the file" in site.why_several
