"""Objects and archives as compilers write them, made part by part, and read back."""

import io
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from elftools.elf.elffile import ELFFile

from megtrim.libs.elf.layout import Segment

PROGBITS = 1
SYMTAB = 2
STRTAB = 3
RELA = 4
REL = 9
DYNSYM = 11
SYMTAB_SHNDX = 18
WRITE = 1
ALLOC = 2
EXECUTE = 4
NO_TYPE = 0
DATA = 1
FUNCTION = 2
SECTION = 3
IFUNC = 10
ARM = 40
AARCH64 = 183
X86_64 = 62
CALL = {ARM: 28, AARCH64: 283, X86_64: 4}
POINTER = {AARCH64: 257, X86_64: 1}
DISTANCE = {ARM: 42, AARCH64: 261, X86_64: 2}
EXIDX = 0x70000001


@dataclass(frozen=True, kw_only=True)
class Part:
    """One section with its relocations: place, kind, symbol or section by name, addend.

    For 32-bit Arm the addends are not written: they are in the content.
    """

    name: str
    content: bytes
    flags: int = ALLOC | EXECUTE
    relocations: tuple[tuple[int, int, str, int], ...] = ()
    kind: int = PROGBITS
    address: int = 0
    """Of a part of a linked file; the places of its relocations are addresses then."""


@dataclass(frozen=True, kw_only=True)
class Named:
    """One symbol."""

    name: str
    part: str
    size: int = 0
    kind: int = FUNCTION
    at: int = 0


def object_file(
    parts: Sequence[Part],
    symbols: Sequence[Named],
    *,
    machine: int = AARCH64,
    extended: bool = False,
    kind: int = 1,
    entry: int = 0,
) -> bytes:
    index = {part.name: at for at, part in enumerate(parts, 1)}
    addresses = {part.name: part.address for part in parts}
    numbers = {name: at for at, name in enumerate(index, 1)}
    numbers |= {each.name: at for at, each in enumerate(symbols, len(parts) + 1)}
    names = b"\0"
    entries = bytes(16 if machine == ARM else 24)
    indices = [0]
    of_sections = [Named(name="", part=part.name, kind=SECTION) for part in parts]
    for each in (*of_sections, *symbols):
        place = 0xFFFF if extended else index[each.part]
        start = len(names) if each.name else 0
        address = addresses[each.part] + each.at
        if machine == ARM:
            entries += struct.pack("<IIIBBH", start, address, each.size, each.kind, 0, place)
        else:
            entries += struct.pack("<IBBHQQ", start, each.kind, 0, place, address, each.size)
        names += each.name.encode() + b"\0" if each.name else b""
        indices.append(index[each.part])
    filled = [part for part in parts if part.relocations]
    symtab = 1 + len(parts) + len(filled)
    rows = [(part.name, part.kind, part.flags, part.content, 0, 0, part.address) for part in parts]
    for part in filled:
        content = b"".join(
            struct.pack("<II", at, numbers[target] << 8 | kind)
            if machine == ARM
            else struct.pack("<QIIq", at, kind, numbers[target], addend)
            for at, kind, target, addend in part.relocations
        )
        how = (".rel", REL) if machine == ARM else (".rela", RELA)
        rows.append((how[0] + part.name, how[1], 0, content, symtab, index[part.name], 0))
    rows += [
        (".symtab", SYMTAB, 0, entries, symtab + 1, 1, 0),
        (".strtab", STRTAB, 0, names, 0, 0, 0),
    ]
    if extended:
        table = struct.pack(f"<{len(indices)}I", *indices)
        rows.append((".symtab_shndx", SYMTAB_SHNDX, 0, table, symtab, 0, 0))
    return _elf(rows, machine, kind, entry)


_Row = tuple[str, int, int, bytes, int, int, int]
"""Name, kind, flags, content, link, info and address of a section."""


def shared_library(*exported: str, symbols: Sequence[str] = ()) -> bytes:
    rows: list[_Row] = [(".text", PROGBITS, ALLOC | EXECUTE, bytes(16), 0, 0, 0)]
    for name, kind, listed in ((".dynsym", DYNSYM, exported), (".symtab", SYMTAB, symbols)):
        if not listed and kind == SYMTAB:
            continue
        names = b"\0"
        entries = struct.pack("<IBBHQQ", *(0,) * 6)
        for each in listed:
            entries += struct.pack("<IBBHQQ", len(names), 1 << 4 | FUNCTION, 0, 1, 0, 4)
            names += each.encode() + b"\0"
        rows += [(name, kind, ALLOC, entries, len(rows) + 2, 1, 0)]
        rows += [(f"{name}.str", STRTAB, ALLOC, names, 0, 0, 0)]
    return _elf(rows, AARCH64, 3, 0)


def _elf(rows: list[_Row], machine: int, kind: int, entry: int) -> bytes:
    rows = [("", 0, 0, b"", 0, 0, 0), *rows, (".shstrtab", STRTAB, 0, b"", 0, 0, 0)]
    names = b"".join(row[0].encode() + b"\0" for row in rows)
    rows[-1] = (*rows[-1][:3], names, 0, 0, 0)
    body = b""
    table = b""
    start = 0
    for name, section, flags, content, link, info, address in rows:
        body += bytes(-len(body) % 8)
        widths = {SYMTAB: 16, REL: 8} if machine == ARM else {SYMTAB: 24, DYNSYM: 24, RELA: 24}
        table += struct.pack("<10I" if machine == ARM else "<IIQQQQIIQQ", start, section, flags,
                             address, 64 + len(body), len(content), link, info, 16,
                             widths.get(section, 0))  # fmt: skip
        body += content
        start += len(name) + 1
    body += bytes(-len(body) % 8)
    form = "<HHIQQQIHHHHHH"
    sizes = (64, 0, 0, 64)
    if machine == ARM:
        form = "<HHIIIIIHHHHHH"
        sizes = (52, 0, 0, 40)
    head = b"\x7fELF" + bytes([1 if machine == ARM else 2, 1, 1]) + bytes(9) + struct.pack(
        form, kind, machine, 1, entry, 0, 64 + len(body), 0, *sizes,
        len(rows), len(rows) - 1,
    )  # fmt: skip
    return head.ljust(64, b"\0") + body + table


def with_segments(*headers: Segment, at: int = 64, machine: int = AARCH64) -> bytes:
    """Return a shared library whose program headers begin at ``at``."""
    head = bytearray(at)
    head[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<HH", head, 16, 3, machine)
    struct.pack_into("<Q", head, 32, at)
    struct.pack_into("<2H", head, 54, 56, len(headers))
    return bytes(head) + b"".join(struct.pack("<2I6Q", *each) for each in headers)


def with_machine(data: bytes, machine: int) -> bytes:
    """Return the file as one for another machine; one of 32 bits is marked as such alone."""
    return data[:18] + struct.pack("<H", machine) + data[20:]


def archive(members: Mapping[str, bytes], *, magic: bytes = b"!<arch>\n") -> bytes:
    """Return an archive of these members; a name ``#1/N`` has its own first N bytes as its name."""
    data = magic
    for name, content in members.items():
        data += f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(content):<10}`\n".encode()
        data += content + b"\n" * (len(content) % 2)
    return data


def unwind_table(*functions: tuple[str, str | None], machine: int = AARCH64) -> Part:
    """Return a table with one entry for each function, and the part with its exceptions."""
    common = struct.pack("<II", 8, 0) + bytes(4)
    content = common
    relocations = []
    for function, exceptions in functions:
        at = len(content)
        content += struct.pack("<IIII", 20, at + 4, 0, 32) + bytes(8)
        relocations.append((at + 8, DISTANCE[machine], function, 0))
        if exceptions is not None:
            relocations.append((at + 17, POINTER[machine], exceptions, 0))
    return Part(
        name=".eh_frame", content=content + bytes(4), flags=ALLOC, relocations=tuple(relocations)
    )


@dataclass(kw_only=True)
class Read:
    """What another reader says of an object."""

    sections: dict[str, tuple[int, bytes, int]] = field(default_factory=dict)
    """Name to flags, content and alignment."""
    symbols: dict[str, int] = field(default_factory=dict)
    """Name to size."""
    relocations: dict[str, tuple[tuple[int, str], ...]] = field(default_factory=dict)
    """Name of the relocation section to places, and the sections they refer to."""


def read(data: bytes) -> Read:
    elf = ELFFile(io.BytesIO(data))
    found = Read()
    table: Any = elf.get_section_by_name(".symtab")
    section: Any
    for section in elf.iter_sections():
        alignment = int(section["sh_addralign"])
        found.sections[section.name] = (int(section["sh_flags"]), section.data(), alignment)
        if section["sh_type"] in ("SHT_RELA", "SHT_REL"):
            found.relocations[section.name] = tuple(
                (int(each["r_offset"]), _target(elf, table, int(each["r_info_sym"])))
                for each in section.iter_relocations()
            )
    found.symbols = {each.name: int(each["st_size"]) for each in table.iter_symbols() if each.name}
    return found


def _target(elf: ELFFile, table: Any, number: int) -> str:
    place = table.get_symbol(number)["st_shndx"]
    return elf.get_section(place).name if isinstance(place, int) else ""
