"""The functions of a linked file: names and addresses, from its symbol table.

Every symbol of a function counts, also aliases and local functions. A file has some hundred
thousand symbols, so the library reads headers and sections, and plain slicing reads the symbols.
Pure: bytes in, values out.
"""

from __future__ import annotations

import hashlib
import io
import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import accumulate
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile

from megtrim.elf.symbol_names import MAX_NAME
from megtrim.errors import InputError
from megtrim.input_files import read_bytes

Found = TypeVar("Found")

_MACHINES = {"EM_AARCH64": "aarch64", "EM_X86_64": "x86_64"}
_MAX_FILE_BYTES = 4 * 1024**3
_MAX_SECTIONS = 1_000_000
_MAX_SYMBOLS = 8_000_000
_MAX_NAMES_BYTES = 1024**3
_SYMBOL = struct.Struct("<IBBHQQ")
_WORD_BYTES = 8
_LOCAL, _UNDEFINED, _IFUNC = 0, 0, 10
_FUNCTIONS = (2, _IFUNC)
_NO_NAMES = (3, 4)
"""Symbols of sections and of files."""
COLD = re.compile(r"(.+)\.cold(?:\.[0-9]+)?")
"""The rarely executed part of a function, which GCC places elsewhere."""
_LINKERS_OWN = re.compile(r"__(?:CortexA53843419_|AArch64\w*Thunk_|\w*_veneer)")
"""Code that linkers insert between a call and its function; it differs in each link."""
_LINKED = ("ET_EXEC", "ET_DYN")
_HINT = "expected a program or shared library as the linker wrote it, not stripped"


@dataclass(frozen=True, slots=True)
class Function:
    """One name of one function."""

    name: str
    """The linkage name."""
    address: int
    size_bytes: int
    """0 if it is not recorded: stubs, and functions written in assembler."""
    local: bool = False
    """Its symbol is local; linkers also make hidden symbols local."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTable:
    """All functions of one linked file."""

    machine: str
    """``aarch64`` or ``x86_64``."""
    entry: int
    """Address of the first instruction; 0 in most shared libraries."""
    functions: tuple[Function, ...]
    """Sorted by address, then by name; with each alias."""
    imported: frozenset[str]
    """Names that the file imports from shared libraries, functions or not."""
    exported: frozenset[str]
    """Names that it exports, functions or not."""
    registrations: int
    """Number of functions that are called before ``main``, by the size of their arrays."""
    ifuncs: frozenset[str]
    """Functions whose implementation is chosen when the program starts."""
    data: frozenset[str] = frozenset()
    """Names that are functions in one of the linked files, and data in another."""
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _reach: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Prepare the lookup of addresses."""
        ends = (each.address + max(each.size_bytes, 1) for each in self.functions)
        object.__setattr__(self, "_starts", tuple(each.address for each in self.functions))
        object.__setattr__(self, "_reach", tuple(accumulate(ends, max)))

    def at(self, address: int) -> tuple[Function, ...]:
        """Return the functions that contain ``address``, with all their names."""
        found = []
        at = bisect_right(self._starts, address) - 1
        while at >= 0 and self._reach[at] > address:
            each = self.functions[at]
            if each.address + max(each.size_bytes, 1) > address:
                found.append(each)
            at -= 1
        return tuple(reversed(found))


def holding(table: FunctionTable, addresses: Iterable[int]) -> tuple[str, ...]:
    """Return the names of all functions that contain one of ``addresses``, sorted.

    A function without size is left out if another one contains the address: an empty function has
    the address of whatever follows it.
    """
    found: set[str] = set()
    ahead = iter(table.functions)
    upcoming = next(ahead, None)
    open_ones: list[tuple[int, str, int]] = []
    covered = 0
    for address in sorted({*addresses}):
        while upcoming is not None and upcoming.address <= address:
            end = upcoming.address + max(upcoming.size_bytes, 1)
            heappush(open_ones, (end, upcoming.name, upcoming.size_bytes))
            covered = max(covered, end if upcoming.size_bytes else 0)
            upcoming = next(ahead, None)
        while open_ones and open_ones[0][0] <= address:
            heappop(open_ones)
        # A function that was found once is not checked again for its other addresses.
        found.update(name for _, name, size in open_ones if size or address >= covered)
        open_ones.clear()
    return tuple(sorted(found))


def link_identity(program_sha256: str, table: FunctionTable, groups: Iterable[str]) -> str:
    """Return the identity of an unfolded link and of the function lists made with it.

    It is the sha256 of the digest of its stripped bytes, its names, and the ``groups`` that lists
    are made of. Lists are by name, and stripped bytes contain no names, so a renamed function, or a
    new one with the same code, must change the identity. So must a function that older lists did
    not observe: in those, it would count as one that did not run.
    """
    places = (f"{each.address:x} {each.name}" for each in table.functions)
    lines = (program_sha256, *places, "", *groups)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def read_linked(path: Path) -> bytes:
    """Read the bytes of a linked file. Raises InputError."""
    return read_bytes(path, most_bytes=_MAX_FILE_BYTES, expected="a linked file", hint=_HINT)


def read_table(path: Path) -> FunctionTable:
    """Read the linked file at ``path``. Raises InputError, as :func:`parse_table` does."""
    return parse_table(read_linked(path), source=str(path))


def parse_table(data: bytes, *, source: str) -> FunctionTable:
    """Parse a linked file's bytes.

    Raises InputError for a damaged ELF file, another machine's, or a stripped one.
    """
    return _whole(_read, data, source)


def read_registrations(path: Path) -> int:
    """Return how many functions the linked file at ``path`` calls before ``main``.

    The file may be stripped: these functions are listed in arrays.
    """
    return _whole(_parse_registrations, read_linked(path), str(path))


def _whole(read: Callable[[bytes, str], Found], data: bytes, source: str) -> Found:
    try:
        return read(data, source)
    except (
        *(ELFError, ConstructError, struct.error, UnicodeError, ValueError, OverflowError),
        *(AssertionError, AttributeError, LookupError, TypeError, MemoryError),
    ):
        # The library trusts its input: its exceptions depend on what is damaged.
        msg = f"{source}: a damaged ELF file"
        raise InputError(msg, hint=_HINT) from None


def _open(data: bytes, source: str) -> tuple[ELFFile, list[_Section]]:
    elf = ELFFile(io.BytesIO(data))
    machine = _MACHINES.get(str(elf["e_machine"]))
    if machine is None or elf.elfclass != 64 or not elf.little_endian:
        msg = (
            f"{source}: a file for {elf['e_machine']}; functions are trimmed on aarch64 and x86_64"
        )
        raise InputError(msg, hint="use trim.level: region for other machines")
    if str(elf["e_type"]) not in _LINKED:
        msg = f"{source}: found {elf['e_type']}, expected a linked file"
        raise InputError(msg, hint=_HINT)
    if elf.num_sections() > _MAX_SECTIONS:
        msg = f"{elf.num_sections()} sections"
        raise ValueError(msg)
    return elf, [_Section(data, section) for section in elf.iter_sections()]


def _parse_registrations(data: bytes, source: str) -> int:
    return _registrations(_open(data, source)[1])


def _registrations(sections: list[_Section]) -> int:
    arrays = (each for each in sections if each.kind in {"SHT_PREINIT_ARRAY", "SHT_INIT_ARRAY"})
    return sum(each.size_bytes // _WORD_BYTES for each in arrays)


def _read(data: bytes, source: str) -> FunctionTable:
    elf, sections = _open(data, source)
    symbols = [each for each in sections if each.kind == "SHT_SYMTAB"]
    if not symbols:
        msg = f"{source}: has no symbol table, so its functions have no names"
        raise InputError(msg, hint=_HINT)
    functions, ifuncs, data_names = _functions(symbols[0], sections)
    # A valid file has one; a hostile file may have any number.
    dynamic = [each for each in sections if each.kind == "SHT_DYNSYM"][:1]
    named = [
        (name, place) for each in dynamic for name, place in _iter_named_symbols(each, sections)
    ]
    return FunctionTable(
        machine=_MACHINES[str(elf["e_machine"])],
        entry=int(elf["e_entry"]),
        functions=functions,
        imported=frozenset(name for name, place in named if name and place == _UNDEFINED),
        exported=frozenset(name for name, place in named if name and place != _UNDEFINED),
        registrations=_registrations(sections),
        ifuncs=ifuncs,
        data=data_names,
    )


def _functions(
    symbols: _Section, sections: list[_Section]
) -> tuple[tuple[Function, ...], frozenset[str], frozenset[str]]:
    """Return the functions, the names of ifuncs, and the names that are also data."""
    names = _Names(sections[symbols.link])
    found, ifuncs, data = [], set(), set()
    for at, info, _, place, address, size in symbols.symbols():
        kind = info & 15
        if place == _UNDEFINED or kind in _NO_NAMES or not (name := names.at(at)):
            continue
        if kind not in _FUNCTIONS:
            data.add(name)
            continue
        if _LINKERS_OWN.match(name):
            continue
        found.append(Function(name, address, size, info >> 4 == _LOCAL))
        if kind == _IFUNC:
            ifuncs.add(name)
    found.sort(key=attrgetter("address", "name", "size_bytes"))
    return tuple(found), frozenset(ifuncs), frozenset(data & {each.name for each in found})


def _iter_named_symbols(symbols: _Section, sections: list[_Section]) -> Iterator[tuple[str, int]]:
    """Yield name and section of each symbol that has a name."""
    names = _Names(sections[symbols.link])
    for at, _, _, place, _, _ in symbols.symbols():
        if name := names.at(at):
            yield name, place


class _Section:
    """The needed fields of a section, checked against the size of the file."""

    def __init__(self, data: bytes, section: Any) -> None:
        self.kind = str(section["sh_type"])
        self.link = int(section["sh_link"])
        self.size_bytes = int(section["sh_size"])
        self._at = int(section["sh_offset"])
        self._data = data
        if self.kind != "SHT_NOBITS" and self._at + self.size_bytes > len(data):
            msg = "a section ends after the end of the file"
            raise ValueError(msg)

    def content(self) -> bytes:
        """Return the section's bytes."""
        return self._data[self._at : self._at + self.size_bytes]

    def symbols(self) -> Iterator[tuple[int, int, int, int, int, int]]:
        """Yield each symbol's raw fields: name, info, other, section, address, size."""
        if self.size_bytes > _MAX_SYMBOLS * _SYMBOL.size:
            msg = "too many symbols"
            raise ValueError(msg)
        return _SYMBOL.iter_unpack(self.content())


class _Names:
    """A string table."""

    def __init__(self, section: _Section) -> None:
        self._content = section.content()
        # Names may share their ends, so that even a small file can have more text than memory.
        self._left_bytes = _MAX_NAMES_BYTES

    def at(self, start: int) -> str:
        """Return the name that begins at ``start``."""
        end = self._content.index(b"\0", start, start + MAX_NAME + 1)
        self._left_bytes -= end - start
        if self._left_bytes < 0:
            msg = "too long names"
            raise ValueError(msg)
        return self._content[start:end].decode("utf-8", "backslashreplace")
