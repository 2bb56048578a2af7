"""What the bytes of a program or shared library are for, read from its section table.

The groups add up to the exact size of the file: what belongs to no section (headers, gaps) is
``other``, like symbol tables and debug information. Pure: bytes in, values out.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile

from megtrim.errors import InputError
from megtrim.input_files import read_bytes

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC = b"\x7fELF"
_MAX_SECTIONS = 65_536
_MAX_FILE_BYTES = 4 * 1024**3

_MACHINES = {
    "EM_386": "i686",
    "EM_AARCH64": "aarch64",
    "EM_ARM": "armv7l",
    "EM_RISCV": "riscv64",
    "EM_X86_64": "x86_64",
}
_WRITE, _ALLOC, _EXECUTE = 0x1, 0x2, 0x4
_RELOCATIONS = ("SHT_REL", "SHT_ANDROID_REL")
_PACKED_RELOCATIONS = tuple(str(kind) for kind in (0x60000001, 0x60000002, 0x6FFFFF00))
"""Android's kinds, which the library returns as numbers."""

_UNWIND = (".eh_frame", ".gcc_except_table", ".ARM.exidx", ".ARM.extab")
_SYMBOLS = (".debug_", ".zdebug_")


class Group(StrEnum):
    """The purposes of a file's bytes, in the order of reports."""

    TEXT = "text"
    RODATA = "rodata"
    DATA = "data"
    RELOCATIONS = "relocations"
    UNWIND = "unwind"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class ElfFacts:
    """One program or shared library."""

    size_bytes: int
    machine: str
    """As ``uname -m`` prints it, or the ELF name if megtrim does not build for it."""
    stripped: bool
    """It has neither a symbol table nor debug information."""
    groups: tuple[tuple[Group, int], ...]
    """Every group with its bytes, in the order of :class:`Group`; they add up to the size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    name: str
    kind: str
    flags: int
    size_bytes: int


def parse_elf(data: bytes, *, source: str) -> ElfFacts:
    """Parse a program's bytes. Raises InputError for anything but an intact ELF file."""
    if not data.startswith(_MAGIC):
        msg = f"{source}: not an ELF file: it begins with {data[:4]!r}"
        raise InputError(msg, hint="expected a program or shared library for Linux or Android")
    try:
        machine, sections = _read(data)
    except (
        *(ELFError, ConstructError, UnicodeError, ValueError, OverflowError),
        *(AssertionError, AttributeError, LookupError, TypeError, MemoryError),
    ):
        # The library trusts its input: its exceptions depend on what is damaged.
        msg = f"{source}: a damaged ELF file"
        raise InputError(msg, hint="build or fetch the file again") from None
    sizes = dict.fromkeys(Group, 0)
    for section in sections:
        sizes[_group(section)] += section.size_bytes
    sizes[Group.OTHER] = len(data) - sum(
        size for group, size in sizes.items() if group is not Group.OTHER
    )
    if sizes[Group.OTHER] < 0:
        msg = f"{source}: a damaged ELF file: its sections are larger than its {len(data)} bytes"
        raise InputError(msg, hint="build or fetch the file again")
    return ElfFacts(
        size_bytes=len(data),
        machine=machine,
        stripped=not any(_is_symbols(section) for section in sections),
        groups=tuple(sizes.items()),
    )


def _group(section: _Section) -> Group:
    if not section.flags & _ALLOC:
        return Group.OTHER
    if section.kind.startswith(_RELOCATIONS) or section.kind in _PACKED_RELOCATIONS:
        return Group.RELOCATIONS
    if section.name.startswith(_UNWIND):
        return Group.UNWIND
    if section.flags & _EXECUTE:
        return Group.TEXT
    if section.flags & _WRITE:
        return Group.DATA
    return Group.RODATA if section.kind == "SHT_PROGBITS" else Group.OTHER


def _is_symbols(section: _Section) -> bool:
    return section.kind == "SHT_SYMTAB" or section.name.startswith(_SYMBOLS)


def read_elf(path: Path) -> ElfFacts:
    """Read the program at ``path``. Raises InputError."""
    expected = "a built program or shared library"
    data = read_bytes(path, most_bytes=_MAX_FILE_BYTES, expected=expected)
    return parse_elf(data, source=str(path))


def _read(data: bytes) -> tuple[str, list[_Section]]:
    """Return the machine and the sections that occupy bytes of the file."""
    elf = ELFFile(io.BytesIO(data))
    if elf.num_sections() > _MAX_SECTIONS:
        msg = f"{elf.num_sections()} sections"
        raise ValueError(msg)
    machine = str(elf["e_machine"])
    sections = [
        _Section(
            name=section.name,
            kind=str(section["sh_type"]),
            flags=section["sh_flags"],
            size_bytes=section["sh_size"],
        )
        for section in elf.iter_sections()
        if section["sh_type"] not in {"SHT_NULL", "SHT_NOBITS"}
    ]
    return _MACHINES.get(machine, machine), sections
