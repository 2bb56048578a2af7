"""Linked files, made part by part: their code, their symbols, and what they register."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from megtrim.core.functions.calls import Disassembly, parse_code
from megtrim.libs.elf.symbol_table import Function, FunctionTable, parse_table

ARM = 40
AARCH64 = 183
X86_64 = 62
NO_TYPE = 0
DATA = 1
FUNCTION = 2
SECTION = 3
FILE = 4
THREAD = 6
IFUNC = 10
LOCAL = 0
GLOBAL = 1
WEAK = 2
CODE_AT = 0x10000
"""Address of the code; the file holds it at its beginning plus a page."""
_PAGE = 0x1000
_ABSOLUTE = 0xFFF1
_SYMTAB = 2
_STRTAB = 3
_PROGBITS = 1
_INIT = 14
_PREINIT = 16
_DYNSYM = 11
LLD = b"""\
             VMA              LMA     Size Align Out     In      Symbol
             270              270       15     1 .interp
             270              270       15     1         <internal>:(.interp)
            1000             1000      100     4 .text
            1000             1000       20     4         /ndk/usr/lib/crtbegin_dynamic.o:(.text)
            1000             1000       20     1                 _start
            1020             1020       10     4         a.dir/src/main.cpp.o:(.text.main)
            1030             1030       40     4         lite/liblite.a(run.cpp.o):(.text.run)
            1030             1030       40     1                 mgb::run(int (*)(long))
            1080             1080       10     4         /sys root/libc.a(memcpy.o):(.text)
"""
GNU = b"""\
Discarded input sections

 .text.unused   0x0000000000000000       0x20 gone.o

Linker script and memory map

LOAD main.o
 .text          0x0000000000001000       0x20 /usr/lib/Scrt1.o
                0x0000000000001000                _start
 .text._ZN3mgb3runEv
                0x0000000000001030       0x40 lite/liblite.a(run.cpp.o)
                0x0000000000001030                mgb::run(int (*)(long))
 *fill*         0x0000000000001070       0x10
 .text          0x0000000000001080       0x10 /usr/lib/libc.a(memcpy.o)
"""


@dataclass(frozen=True, kw_only=True)
class Symbol:
    """One symbol; ``at`` counts from the beginning of the code, None: not defined here."""

    name: str
    at: int | None = 0
    size: int = 4
    kind: int = FUNCTION
    binding: int = GLOBAL
    absolute: bool = False
    """In no section, at address 0."""


def linked(
    symbols: Sequence[Symbol] | None,
    *,
    code: bytes = bytes(64),
    dynamic: Sequence[Symbol] = (),
    registered: tuple[int, int] = (0, 0),
    machine: int = AARCH64,
    entry: int = CODE_AT,
    kind: int = 3,
) -> bytes:
    """Return a program; ``registered`` counts entries of .preinit_array and .init_array.

    Without ``symbols`` it is stripped.
    """
    word = 4 if machine == ARM else 8
    rows: list[tuple[str, int, bytes, int]] = [
        (".text", _PROGBITS, code, 0),
        (".preinit_array", _PREINIT, bytes(word * registered[0]), 0),
        (".init_array", _INIT, bytes(word * registered[1]), 0),
    ]
    for name, number, table in ((".symtab", _SYMTAB, symbols), (".dynsym", _DYNSYM, dynamic)):
        if table is not None:
            entries, names = _symbols(table, machine)
            rows.append((name, number, entries, len(rows) + 2))
            rows.append((f"{name}.names", _STRTAB, names, 0))
    return _file(rows, code, machine, entry, kind)


def table(*symbols: Symbol, code: bytes = bytes(64), **options: object) -> FunctionTable:
    return parse_table(linked(symbols, code=code, **options), source="made")  # type: ignore[arg-type]


def functions(*named: tuple[str, int, int], machine: str = "aarch64") -> FunctionTable:
    found = sorted((Function(*each) for each in named), key=lambda e: (e.address, e.name))
    none = frozenset[str]()
    return FunctionTable(
        machine=machine,
        entry=0,
        functions=tuple(found),
        imported=none,
        exported=none,
        registrations=0,
        ifuncs=none,
    )


def calling(
    names: Sequence[str],
    calls: Mapping[str, Sequence[str]],
    *,
    alias: str = "",
    jumps: bool = False,
) -> Disassembly:
    """Return a program in which functions call each other; ``alias`` is another of the second.

    Each has room for four instructions of four bytes.
    """
    content = b""
    first = 0x14000000 if jumps else 0x94000000
    for at, name in enumerate(names):
        steps = (4 * (names.index(to) - at) - place for place, to in enumerate(calls.get(name, ())))
        words = (struct.pack("<I", first | (step & 0x3FFFFFF)) for step in steps)
        content += b"".join(words).ljust(16, b"\x1f")
    placed = list(enumerate(names))
    if alias:
        placed.append((1, alias))
    data = linked([Symbol(name=each, at=16 * at, size=16) for at, each in placed], code=content)
    return parse_code(data, parse_table(data, source="x"), source="x")


def _symbols(symbols: Sequence[Symbol], machine: int) -> tuple[bytes, bytes]:
    names = b"\0"
    entries = bytes(16 if machine == ARM else 24)
    for each in symbols:
        start = len(names) if each.name else 0
        names += each.name.encode() + b"\0" if each.name else b""
        place = 0 if each.at is None else 1
        address = 0 if each.at is None else CODE_AT + each.at
        if each.absolute:
            place = _ABSOLUTE
            address = 0
        info = each.binding << 4 | each.kind
        if machine == ARM:
            entries += struct.pack("<IIIBBH", start, address, each.size, info, 0, place)
        else:
            entries += struct.pack("<IBBHQQ", start, info, 0, place, address, each.size)
    return entries, names


def _file(
    rows: list[tuple[str, int, bytes, int]], code: bytes, machine: int, entry: int, kind: int
) -> bytes:
    body = b""
    names = b"\0"
    narrow = machine == ARM
    header, symbol = ("<10I", 16) if narrow else ("<IIQQQQIIQQ", 24)
    headers = struct.pack(header, *(0,) * 10)
    for name, number, content, link in [*rows, (".shstrtab", _STRTAB, b"", 0)]:
        start = len(names)
        names += name.encode() + b"\0"
        held = names if name == ".shstrtab" else content
        place = _PAGE + len(body)
        each_bytes = symbol if number in (_SYMTAB, _DYNSYM) else 0
        headers += struct.pack(
            header, start, number, 0, 0, place, len(held), link, 0, 1, each_bytes
        )
        body += held
    head = b"\x7fELF" + bytes([1 if narrow else 2, 1, 1]) + bytes(9)
    sizes = (52, 32, 1, 40) if narrow else (64, 56, 1, 64)
    head += struct.pack(
        "<HHIIIIIHHHHHH" if narrow else "<HHIQQQIHHHHHH",
        kind,
        machine,
        1,
        entry,
        sizes[0],
        _PAGE + len(body),
        0,
        *sizes,
        len(rows) + 2,
        len(rows) + 1,
    )
    loaded = (_PAGE, CODE_AT, CODE_AT, len(code), len(code))
    if narrow:
        head += struct.pack("<8I", 1, *loaded, 5, _PAGE)
    else:
        head += struct.pack("<2I6Q", 1, 5, *loaded, _PAGE)
    return head.ljust(_PAGE, b"\0") + body + headers
