"""Build ids, read from notes."""

from __future__ import annotations

import struct

import pytest

from megtrim.elf.build_id import parse_build_id
from unit.crashes.made_programs import ID, with_build_id
from unit.functions.made_links import linked


def test_the_id_of_a_linked_file() -> None:
    """As crash reports print it; a file need not have one."""
    plain = linked(None)

    assert parse_build_id(with_build_id(plain)) == ID
    assert parse_build_id(plain) == ""


@pytest.mark.parametrize(
    ("at", "value"), [(0x800, 1 << 31), (0x804, 1 << 31), (0x804, 0), (0x808, 1)]
)
def test_a_damaged_note_is_none(at: int, value: int) -> None:
    """An owner or content that is longer than the note, no content, another kind."""
    data = bytearray(with_build_id(linked(None)))
    struct.pack_into("<I", data, at, value)

    assert parse_build_id(bytes(data)) == ""


@pytest.mark.parametrize("size", [0, 4, 64, 100])
def test_a_truncated_file_has_none(size: int) -> None:
    """Crash reports are compared with it, and nothing else depends on it."""
    assert parse_build_id(with_build_id(linked(None))[:size]) == ""
