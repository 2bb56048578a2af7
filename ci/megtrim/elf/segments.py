"""The segments of a linked file, which its loader reads."""

from __future__ import annotations

import struct
from typing import NamedTuple

from megtrim.errors import InputError

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


def segments(data: bytes, *, source: str) -> tuple[Segment, ...]:
    """Return all program headers of a linked file. Raises InputError if they are not in it."""
    try:
        (start,) = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<2H", data, 54)
        headers = data[start : start + size * count]
        return tuple(
            Segment._make(_SEGMENT.unpack_from(headers, size * number)) for number in range(count)
        )
    except struct.error:
        msg = f"{source}: a damaged ELF file: its program headers are outside of the file"
        raise InputError(msg, hint="build or fetch the file again") from None
