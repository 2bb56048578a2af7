"""A small FlatBuffers reader that checks every offset before following it.

FlatBuffers' own Python runtime has no verifier. This one knows tables, strings and vectors (not
schemas), fails with an InputError that names the byte, and does a bounded amount of work for any
bytes. Pure: bytes in, values out.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NoReturn

from megtrim.util.errors import InputError

MAX_STEPS = 5_000_000
"""Most values read from one buffer. A real model needs a few dozen for each operator."""

MAX_STRING_BYTES = 64 * 1024
_U8 = struct.Struct("<B")
_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")
_U64 = struct.Struct("<Q")


class Buffer:
    """The bytes of one FlatBuffers object inside a file, with a limit for the work on them."""

    __slots__ = ("_data", "_end", "_source", "_start", "_steps", "parts")

    def __init__(self, data: bytes, *, start: int, end: int, source: str) -> None:
        self._data = data
        self._start = start
        self._end = end
        self._source = source
        self._steps = MAX_STEPS
        self.parts: list[int] = []
        """Offsets of all tables that were read, and of their lists of fields."""

    def fail(self, at: int, found: str) -> NoReturn:
        """Raise the InputError of a damaged file; ``at`` is an offset in the file."""
        msg = f"{self._source}: damaged at byte {at}: {found}"
        raise InputError(msg, hint="fetch or dump the model again; an encrypted one needs its key")

    def read(self, kind: struct.Struct, at: int) -> int:
        self.need(at, kind.size)
        number: int = kind.unpack_from(self._data, at)[0]
        return number

    def need(self, at: int, size: int) -> None:
        """Raise InputError unless there are ``size`` bytes at ``at``, or for too much work."""
        if at < self._start or at + size > self._end:
            self.fail(at, f"{size} bytes are needed there, the data ends at {self._end}")
        self._spend(at, 1)

    def _spend(self, at: int, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            self.fail(at, "the structure needs more work than any model")

    def follow(self, at: int) -> int:
        """Return the target of the offset at ``at``; offsets only lead forward."""
        distance = self.read(_U32, at)
        if not distance:
            self.fail(at, "an offset of 0 leads nowhere")
        return at + distance

    def string(self, at: int) -> str:
        size = self.read(_U32, at)
        if size > MAX_STRING_BYTES:
            self.fail(at, f"a string of {size} bytes")
        self.need(at + 4, size)
        self._spend(at, size // 8)
        return self._data[at + 4 : at + 4 + size].decode("utf-8", errors="replace")

    def vector(self, at: int, item_bytes: int) -> tuple[int, int]:
        """Return the offset of the first item, and the number of items, of a vector."""
        count = self.read(_U32, at)
        self.need(at + 4, count * item_bytes)
        return at + 4, count

    def root(self, at: int, identifier: bytes) -> Table:
        found = self._data[at + 4 : at + 8]
        if found != identifier:
            self.fail(at + 4, f"identifier {found!r}, expected {identifier!r}")
        return Table(self, self.follow(at))


class Table:
    """One table. Fields are read by their index in the schema; a union counts as two."""

    __slots__ = ("_buffer", "_fields", "_fields_bytes", "at")

    def __init__(self, buffer: Buffer, at: int) -> None:
        self._buffer = buffer
        self.at = at
        self._fields = at - buffer.read(_I32, at)
        self._fields_bytes = buffer.read(_U16, self._fields)
        if self._fields_bytes < 4 or self._fields_bytes % 2:
            buffer.fail(self._fields, f"a table of fields of {self._fields_bytes} bytes")
        buffer.need(self._fields, self._fields_bytes)
        buffer.parts += (at, self._fields)

    def fail(self, found: str) -> NoReturn:
        self._buffer.fail(self.at, found)

    def _field(self, index: int) -> int:
        """Return the offset of field ``index``, or 0 if it is missing."""
        slot = 4 + 2 * index
        if slot + 2 > self._fields_bytes:
            return 0
        distance = self._buffer.read(_U16, self._fields + slot)
        return self.at + distance if distance else 0

    def has(self, index: int) -> bool:
        return self._field(index) != 0

    def _number(self, index: int, kind: struct.Struct) -> int:
        at = self._field(index)
        return self._buffer.read(kind, at) if at else 0

    def u8(self, index: int) -> int:
        return self._number(index, _U8)

    def u32(self, index: int) -> int:
        return self._number(index, _U32)

    def u64(self, index: int) -> int:
        return self._number(index, _U64)

    def string(self, index: int) -> str:
        at = self._field(index)
        return self._buffer.string(self._buffer.follow(at)) if at else ""

    def table(self, index: int) -> Table | None:
        at = self._field(index)
        return Table(self._buffer, self._buffer.follow(at)) if at else None

    def size(self, index: int, item_bytes: int) -> int:
        return self.vector(index, item_bytes)[1]

    def vector(self, index: int, item_bytes: int) -> tuple[int, int]:
        """Return the offset and the number of the items of a vector, zeros if it is missing."""
        at = self._field(index)
        return self._buffer.vector(self._buffer.follow(at), item_bytes) if at else (0, 0)

    def u32s(self, index: int, *, stride: int = 1) -> Iterator[int]:
        """Yield every ``stride``-th 32-bit number of a vector, from the first."""
        first, count = self.vector(index, 4 * stride)
        for number in range(count):
            yield self._buffer.read(_U32, first + 4 * stride * number)

    def tables(self, index: int) -> Iterator[Table]:
        first, count = self.vector(index, 4)
        for number in range(count):
            yield Table(self._buffer, self._buffer.follow(first + 4 * number))

    def strings(self, index: int) -> Iterator[str]:
        first, count = self.vector(index, 4)
        for number in range(count):
            yield self._buffer.string(self._buffer.follow(first + 4 * number))
