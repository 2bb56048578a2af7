"""A small program as a linker writes it with ``--emit-relocs``."""

import struct

from unit.libs.elf.made_objects import (
    AARCH64,
    ALLOC,
    CALL,
    POINTER,
    WRITE,
    Named,
    Part,
    object_file,
)

TEXT = 0x1000
RODATA = 0x2000
ARRAY = 0x3000
UNWIND = 0x4000
_CALL = CALL[AARCH64]
_POINTER = POINTER[AARCH64]


def _unwind_table(*functions: int) -> bytes:
    """Return a table with an entry for each function, as linkers leave it."""
    common = struct.pack("<II", 16, 0) + b"\1zR\0\1\1\1\1\x1b" + bytes(3)
    content = common
    for function in functions:
        at = len(content)
        distance = function - (UNWIND + at + 8)
        content += struct.pack("<IIiI", 16, at + 4, distance, 16) + bytes(4)
    return content + bytes(4)


PARTS = (
    Part(
        name=".text",
        content=bytes(64),
        address=TEXT,
        relocations=((TEXT + 4, _CALL, "run", 0), (TEXT + 20, _POINTER, ".rodata", 8)),
    ),
    Part(name=".rodata", content=b"unused\0\0text\0\0\0\0", flags=ALLOC, address=RODATA),
    Part(
        name=".init_array",
        content=bytes(8),
        flags=ALLOC | WRITE,
        kind=14,
        address=ARRAY,
        relocations=((ARRAY, _POINTER, "register", 0),),
    ),
    Part(
        name=".eh_frame",
        content=_unwind_table(TEXT, TEXT + 16),
        flags=ALLOC,
        address=UNWIND,
        relocations=((UNWIND + 24, _POINTER, "dead", 0),),
    ),
)
SYMBOLS = (
    Named(name="start", part=".text", size=16),
    Named(name="run", part=".text", at=16, size=12),
    Named(name="alias", part=".text", at=16, size=12),
    Named(name="register", part=".text", at=32, size=16),
    Named(name="dead", part=".text", at=48, size=16),
    Named(name=".L.str", part=".rodata", size=16),
)
PROGRAM = object_file(PARTS, SYMBOLS, kind=2, entry=TEXT)
