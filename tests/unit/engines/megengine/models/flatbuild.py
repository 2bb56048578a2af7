"""Write FlatBuffers objects and whole ``.mge`` files, so that tests can say what a file holds.

A table is a dict of field index to value: ``u8(3)``, ``u32(3)``, ``u64(3)``, a string, another
dict (a table), ``Numbers`` (a vector of numbers) or a list (a vector of strings or tables).
"""

import struct
from dataclasses import dataclass
from functools import partial
from typing import Any


@dataclass(frozen=True)
class Scalar:
    """A number inside a table."""

    kind: str
    value: int


@dataclass(frozen=True)
class Numbers:
    """A vector of numbers; ``items`` counts its members where they are more than one number."""

    kind: str
    values: tuple[int, ...]
    items: int | None = None


@dataclass(frozen=True)
class Repeated:
    """A vector that leads to the same value ``times`` times, as no writer would make it."""

    value: Any
    times: int


u8, u32, u64 = (partial(Scalar, kind) for kind in ("<B", "<I", "<Q"))


def sized(root: dict[int, Any], identifier: bytes) -> bytes:
    out = bytearray(b"\0\0\0\0" + identifier)
    _point(out, 0, root)
    return struct.pack("<I", len(out)) + bytes(out)


def mge_v1(root: dict[int, Any], *, tensors: bytes = b"", old: bool = False) -> bytes:
    head = b"MGBS" + bytes(4) if old else b"MGBC" + bytes(12)
    return head + struct.pack("<Q", len(tensors)) + tensors + sized(root, b"mgb1")


def mge_v2(root: dict[int, Any]) -> bytes:
    return sized(root, b"mgv2")


def _point(out: bytearray, at: int, value: Any) -> None:
    """Write ``value`` at the end and let the offset at ``at`` lead there."""
    out.extend(bytes(-len(out) % 8))
    start = len(out)
    if isinstance(value, dict):
        start = _table(out, value)
    elif isinstance(value, str):
        out.extend(struct.pack("<I", len(value.encode())) + value.encode() + b"\0")
    elif isinstance(value, Numbers):
        count = len(value.values) if value.items is None else value.items
        out.extend(struct.pack("<I", count))
        out.extend(b"".join(struct.pack(value.kind, each) for each in value.values))
    elif isinstance(value, Repeated):
        after = start + 4 + 4 * value.times + 4
        out.extend(struct.pack("<I", value.times))
        out.extend(bytes(after - len(out) + 4))
        _point(out, after, value.value)
        shift = struct.unpack_from("<I", out, after)[0]
        for slot in range(start + 4, after - 4, 4):
            struct.pack_into("<I", out, slot, after + shift - slot)
    else:
        out.extend(struct.pack("<I", len(value)) + bytes(4 * len(value)))
        for index, item in enumerate(value):
            _point(out, start + 4 + 4 * index, item)
    struct.pack_into("<I", out, at, start - at)


def _table(out: bytearray, fields: dict[int, Any]) -> int:
    count = max(fields, default=-1) + 1
    spec = sorted(fields)
    places = [8 * (1 + spec.index(index)) if index in fields else 0 for index in range(count)]
    fields_at = len(out)
    out.extend(struct.pack(f"<HH{count}H", 4 + 2 * count, 8 * (1 + len(spec)), *places))
    out.extend(bytes(-len(out) % 8))
    start = len(out)
    out.extend(struct.pack("<i", start - fields_at) + bytes(4 + 8 * len(spec)))
    for index in spec:
        value = fields[index]
        if isinstance(value, Scalar):
            struct.pack_into(value.kind, out, start + places[index], value.value)
        else:
            _point(out, start + places[index], value)
    return start
