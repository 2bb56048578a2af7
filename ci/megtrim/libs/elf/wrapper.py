"""A shared library that only holds bytes, as packages for phones expect of native code. Pure.

Android's loader takes it: it has a name, and tables without symbols. The layout is that of the
System V ABI for 64-bit machines.
"""

import struct

from megtrim.libs.elf.layout import DYNAMIC, ELF_MAGIC, LOADED

CONTENT_OFFSET = 16 * 1024
"""Where the bytes begin in the file: on a page of their own, also on systems with pages of 16 KiB.
"""
_HEADER = struct.Struct("<4s5B7x2HI3QI6H")
_SEGMENT = struct.Struct("<2I6Q")
_ENTRY = struct.Struct("<2Q")
_HASH = struct.pack("<4I", 1, 1, 0, 0)
"""One bucket and one symbol, the one that each table begins with."""
_SYMBOL_BYTES = 24
_WIDE = 2
_LITTLE = 1
_CURRENT = 1
_SHARED = 3
_READABLE = 4
_WRITABLE = 2
_END = 0
_HASHES = 4
_STRINGS = 5
_SYMBOLS = 6
_STRINGS_BYTES = 10
_SYMBOL_ENTRY = 11
_SONAME = 14


def wrap(content: bytes, *, name: str, machine: int) -> bytes:
    """Return a library called ``name`` for a 64-bit little-endian ``machine`` of ELF."""
    strings = b"\0" + name.encode() + b"\0"
    segments_at = _HEADER.size
    hash_at = segments_at + 3 * _SEGMENT.size
    symbols_at = hash_at + len(_HASH)
    strings_at = symbols_at + _SYMBOL_BYTES
    dynamic_at = -(-(strings_at + len(strings)) // 8) * 8
    entries = (
        (_SONAME, 1),
        (_HASHES, hash_at),
        (_STRINGS, strings_at),
        (_SYMBOLS, symbols_at),
        (_STRINGS_BYTES, len(strings)),
        (_SYMBOL_ENTRY, _SYMBOL_BYTES),
        (_END, 0),
    )
    dynamic = b"".join(_ENTRY.pack(*entry) for entry in entries)
    header = _HEADER.pack(
        ELF_MAGIC,
        _WIDE,
        _LITTLE,
        _CURRENT,
        0,
        0,
        _SHARED,
        machine,
        _CURRENT,
        0,
        segments_at,
        0,
        0,
        _HEADER.size,
        _SEGMENT.size,
        3,
        0,
        0,
        0,
    )
    # A loader writes into the tables before it uses them.
    tables = _READABLE | _WRITABLE
    segments = (
        _pack_segment(LOADED, tables, 0, dynamic_at + len(dynamic), CONTENT_OFFSET),
        _pack_segment(LOADED, _READABLE, CONTENT_OFFSET, len(content), CONTENT_OFFSET),
        _pack_segment(DYNAMIC, tables, dynamic_at, len(dynamic), 8),
    )
    head = b"".join((header, *segments, _HASH, bytes(_SYMBOL_BYTES), strings))
    head = head.ljust(dynamic_at, b"\0") + dynamic
    return head.ljust(CONTENT_OFFSET, b"\0") + content


def _pack_segment(kind: int, rights: int, at: int, size_bytes: int, alignment: int) -> bytes:
    return _SEGMENT.pack(kind, rights, at, at, at, size_bytes, size_bytes, alignment)
