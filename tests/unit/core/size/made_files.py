"""Small files whose bytes are known."""

import struct

from megtrim.core.size.attribution import NameSources
from megtrim.core.size.breakdown import Breakdown, break_down
from unit.libs.elf.made_objects import ALLOC, DATA, Named, Part, object_file

PARTS = (
    Part(name=".text", content=b"\xcc" * 64),
    Part(name=".rodata", content=b"text" + bytes(12) + b"table---" + b"rest", flags=ALLOC),
)
SYMBOLS = (
    Named(name="_Z1fv", part=".text", size=20),
    Named(name="alias", part=".text", size=20),
    Named(name="inner", part=".text", size=4, at=8),
    Named(name="label", part=".text", at=32),
    Named(name="g", part=".text", size=8, at=48),
    Named(name="table", part=".rodata", size=8, at=16, kind=DATA),
)
OBJECT = object_file(PARTS, SYMBOLS)
LINKED = object_file(PARTS, SYMBOLS, kind=2)
_ENGINE_PARTS = (
    Part(name=".text", content=b"\1" * 64),
    Part(name=".rodata", content=b"constants", flags=ALLOC),
)
_ENGINE_SYMBOLS = (
    Named(name="_ZN3mgb3opr3AddIiE3runEv", part=".text", size=20),
    Named(name="_ZN3mgb3opr3AddIfE3runEv", part=".text", size=30, at=20),
    Named(name="_ZN6megdnn3x864goneEv", part=".text", size=14, at=50),
)


def break_down_engine() -> tuple[bytes, Breakdown]:
    data = object_file(_ENGINE_PARTS, _ENGINE_SYMBOLS)
    return data, break_down(data, NameSources(), source="one.o")


PROGBITS = 1
SYMTAB = 2
STRTAB = 3
RELA = 4
NOBITS = 8
NOTE = 7
REL = 9
RELR = 19
ANDROID_RELA = 0x60000002
INIT_ARRAY = 14
W = 1
A = 2
X = 4
ENTRY_BYTES = {SYMTAB: 24, RELA: 24, REL: 16, RELR: 8, ANDROID_RELA: 1}
Section = tuple[str, int, int, int]
"""Name, type, flags, bytes."""


def elf(*sections: Section, machine: int = 183, tail: int = 0) -> bytes:
    named = [("", 0, 0, 0), *sections, (".shstrtab", STRTAB, 0, 0)]
    names = b"\0"
    entries: list[tuple[int, int, int, int, int]] = []
    body = b""
    for name, kind, flags, size in named[:-1]:
        entries.append((len(names) if name else 0, kind, flags, 64 + len(body), size))
        names += name.encode() + b"\0" if name else b""
        body += bytes(0 if kind == NOBITS else size)
    entries.append((len(names), STRTAB, 0, 64 + len(body), len(names) + 10))
    body += names + b".shstrtab\0"
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64,
                        len(entries), len(entries) - 1)  # fmt: skip
    table = b"".join(
        struct.pack(
            "<IIQQQQIIQQ",
            name,
            kind,
            flags,
            0,
            at,
            size,
            int(kind == SYMTAB),
            0,
            1,
            ENTRY_BYTES.get(kind, 0),
        )
        for name, kind, flags, at, size in entries
    )
    return head + body + table + bytes(tail)
