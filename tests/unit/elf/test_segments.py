"""Reading a linked file's program headers."""

from __future__ import annotations

import struct

import pytest

from megtrim.elf.build_id import parse_build_id
from megtrim.elf.segments import EXECUTABLE, LOADED, LOADER, Segment, segments
from megtrim.errors import InputError

CODE = Segment(LOADED, 4 | EXECUTABLE, 0x1000, 0x401000, 0x401000, 0x20, 0x30, 0x1000)
NAME = Segment(LOADER, 4, 0x200, 0x400200, 0x400200, 28, 28, 1)


def linked(*headers: Segment, at: int = 64) -> bytes:
    """Return a file whose program headers begin at ``at``."""
    head = bytearray(at)
    struct.pack_into("<Q", head, 32, at)
    struct.pack_into("<2H", head, 54, 56, len(headers))
    return bytes(head) + b"".join(struct.pack("<2I6Q", *each) for each in headers)


def test_every_header_is_read_in_order() -> None:
    """Wherever they begin."""
    assert segments(linked(NAME, CODE), source="p") == (NAME, CODE)
    assert segments(linked(CODE, at=4096), source="p") == (CODE,)
    assert segments(linked(), source="p") == ()


@pytest.mark.parametrize("size", [0, 32, 57, 64 + 55])
def test_a_truncated_file_is_an_error(size: int) -> None:
    """In the file's header, and in those of its segments."""
    with pytest.raises(InputError, match=r"^p: a damaged ELF file"):
        segments(linked(CODE)[:size], source="p")


@pytest.mark.parametrize("start", [2**16, 2**63 - 1, 2**63, 2**64 - 1])
def test_headers_outside_of_the_file_are_an_error(start: int) -> None:
    """However far outside; such a file has no build id either."""
    data = bytearray(linked(CODE))
    struct.pack_into("<Q", data, 32, start)

    with pytest.raises(InputError, match=r"^p: a damaged ELF file"):
        segments(bytes(data), source="p")
    assert parse_build_id(bytes(data)) == ""
