"""Divides the index of unwinding of a file for 32-bit Arm: rows of its first functions, and others.

Unwinders look an address up in this sorted table (``.ARM.exidx``), and the loader reads its size
once. A row has two words: how far away its function is, and how to unwind it or how far away that
is. So a row of zeros says that a function begins at the row itself. Where the table lies between
the first functions and the others, the others' rows may be zeros until they are there. Pure.
"""

import struct
from typing import NamedTuple

from megtrim.libs.elf.layout import refuse

_ROW = struct.Struct("<II")
ROW_BYTES = _ROW.size
_DISTANCE_BITS = 31
_INLINE = 1 << _DISTANCE_BITS
_CANNOT_UNWIND = 1


class DividedIndex(NamedTuple):
    image: bytes
    """The rows of all functions."""
    first_bytes: int
    """Where those of the first functions end."""


def divide(content: bytes, address: int, to: int, from_address: int) -> DividedIndex:
    """Move the index from ``address`` to ``to``; functions from ``from_address`` on are the others.

    Raises ValueError or struct.error for one that is not sorted, or cannot be moved.
    """
    moved = address - to
    out = bytearray()
    first_bytes = 0
    before = 0
    for at, (function, how) in enumerate(_ROW.iter_unpack(content)):
        target = address + ROW_BYTES * at + _read_distance(function)
        if target < before:
            refuse("an index of unwinding that is not sorted")
        before = target
        if target < from_address:
            first_bytes += ROW_BYTES
        stands_here = how == _CANNOT_UNWIND or how & _INLINE
        out += _ROW.pack(_move(function, moved), how if stands_here else _move(how, moved))
    if first_bytes and not to + len(out) <= from_address:
        refuse("an index of unwinding that does not end before the code of the others")
    return DividedIndex(image=bytes(out), first_bytes=first_bytes)


def _read_distance(word: int) -> int:
    distance = word & (_INLINE - 1)
    return distance - (distance >> (_DISTANCE_BITS - 1) << _DISTANCE_BITS)


def _move(word: int, moved: int) -> int:
    distance = _read_distance(word) + moved
    limit = 1 << (_DISTANCE_BITS - 1)
    if not -limit <= distance < limit:
        refuse("an index of unwinding that is too far away")
    return distance & (_INLINE - 1)
