"""The segments of a linked file, which its loader reads."""

from __future__ import annotations

import struct
from typing import NamedTuple

_SEGMENT = struct.Struct("<2I6Q")
LOADED, LOADER = 1, 3
"""Kinds of segments: what is loaded into memory, and the path of the loader."""
EXECUTABLE = 1
"""Bit of a segment's flags."""


class Segment(NamedTuple):
    """An entry of a 64-bit little-endian ELF file's program headers."""

    kind: int
    flags: int
    offset: int
    address: int
    physical: int
    size_bytes: int
    """Size in the file."""
    memory_bytes: int
    alignment: int


def segments(data: bytes) -> tuple[Segment, ...]:
    """Return all program headers of a linked file. Raises struct.error if they are truncated."""
    (start,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<2H", data, 54)
    return tuple(
        Segment._make(_SEGMENT.unpack_from(data, start + number * size)) for number in range(count)
    )
