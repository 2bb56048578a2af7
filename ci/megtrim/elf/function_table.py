"""The functions of a linked file: names and addresses, from its symbol table.

Every symbol of a function counts, aliases and internal functions too. A file holds some hundred
thousand; so the library reads headers and sections, and plain slices the symbols. Pure: bytes
in, values out.
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
"""The part of a function that GCC moves elsewhere, for it is seldom reached."""
_LINKERS_OWN = re.compile(r"__(?:CortexA53843419_|AArch64\w*Thunk_|\w*_veneer)")
"""What linkers add between a call and its function, by its address: different in each link."""
_LINKED = ("ET_EXEC", "ET_DYN")
_HINT = "expected a program or shared library as the linker wrote it, not stripped"


@dataclass(frozen=True, slots=True)
class Function:
    """One name of one function."""

    name: str
    """The linkage name."""
    address: int
    size_bytes: int
    """0 where nobody said it: stubs, and functions written in assembler."""
    local: bool = False
    """Its symbol is local: the function is internal, or was hidden, which a link makes local."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTable:
    """All functions of one linked file."""

    machine: str
    """``aarch64`` or ``x86_64``."""
    entry: int
    """Address of the first instruction; 0 in most shared libraries."""
    functions: tuple[Function, ...]
    """By address, then by name; aliases each."""
    imported: frozenset[str]
    """What the file takes from shared libraries, functions or not."""
    exported: frozenset[str]
    """What it offers to others, functions or not."""
    registrations: int
    """Functions that are called before ``main``: the entries of their arrays."""
    ifuncs: frozenset[str]
    """Functions whose code is chosen when the program starts."""
    data: frozenset[str] = frozenset()
    """Names of functions that stand for data as well, in another of the linked files."""
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _reach: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Prepare to look up addresses."""
        ends = (each.address + max(each.size_bytes, 1) for each in self.functions)
        object.__setattr__(self, "_starts", tuple(each.address for each in self.functions))
        object.__setattr__(self, "_reach", tuple(accumulate(ends, max)))

    def at(self, address: int) -> tuple[Function, ...]:
        """Return the functions that hold ``address``, under all of their names."""
        found = []
        at = bisect_right(self._starts, address) - 1
        while at >= 0 and self._reach[at] > address:
            each = self.functions[at]
            if each.address + max(each.size_bytes, 1) > address:
                found.append(each)
            at -= 1
        return tuple(reversed(found))


def holding(table: FunctionTable, addresses: Iterable[int]) -> tuple[str, ...]:
    """Return the names of all functions that hold one of ``addresses``, sorted.

    A function of no size is not among them where another holds the address: an empty one lies
    wherever the linker put the next.
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
        # Once found, a function need not be looked at again, however many addresses it holds.
        found.update(name for _, name, size in open_ones if size or address >= covered)
        open_ones.clear()
    return tuple(sorted(found))


def link_identity(program_sha256: str, table: FunctionTable, groups: Iterable[str]) -> str:
    """Return what names an unfolded link and the lists that are made of it.

    That is the sha256 of its stripped bytes' digest, its names, and the ``groups`` that lists are
    made of. Names are not in stripped bytes, and lists are by name: a function that is called
    otherwise, or a new one that does what another does, makes another link. So does a function
    that lists did not tell of before: on a list of then it would count as one that did not run.
    """
    places = (f"{each.address:x} {each.name}" for each in table.functions)
    lines = (program_sha256, *places, "", *groups)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def read_linked(path: Path) -> bytes:
    """Read the bytes of a linked file."""
    return read_bytes(path, most_bytes=_MAX_FILE_BYTES, expected="a linked file", hint=_HINT)


def read_table(path: Path) -> FunctionTable:
    """Read the linked file at ``path``."""
    return parse_table(read_linked(path), source=str(path))


def parse_table(data: bytes, *, source: str) -> FunctionTable:
    """Read a linked file's bytes.

    Raises InputError for what is no whole ELF file, another machine's, or stripped.
    """
    return _whole(_read, data, source)


def read_registrations(path: Path) -> int:
    """Return how many functions the linked file at ``path`` calls before ``main``.

    It may be stripped: they stand in arrays of their own.
    """
    return _whole(_parse_registrations, read_linked(path), str(path))


def _whole(read: Callable[[bytes, str], Found], data: bytes, source: str) -> Found:
    try:
        return read(data, source)
    except (
        *(ELFError, ConstructError, struct.error, UnicodeError, ValueError, OverflowError),
        *(AssertionError, AttributeError, LookupError, TypeError, MemoryError),
    ):
        # The reader trusts its input: what it trips over depends on what is damaged.
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
    # A file has one; more would be read as often as somebody wrote them there.
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
    """Return the functions, and the names that are an ifunc or data."""
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
    """What is needed of a section, held to the bytes that there are."""

    def __init__(self, data: bytes, section: Any) -> None:
        self.kind = str(section["sh_type"])
        self.link = int(section["sh_link"])
        self.size_bytes = int(section["sh_size"])
        self._at = int(section["sh_offset"])
        self._data = data
        if self.kind != "SHT_NOBITS" and self._at + self.size_bytes > len(data):
            msg = "a section ends behind the file"
            raise ValueError(msg)

    def content(self) -> bytes:
        """Return the section's bytes."""
        return self._data[self._at : self._at + self.size_bytes]

    def symbols(self) -> Iterator[tuple[int, int, int, int, int, int]]:
        """Yield each symbol as it stands: name, info, other, section, address, size."""
        if self.size_bytes > _MAX_SYMBOLS * _SYMBOL.size:
            msg = "too many symbols"
            raise ValueError(msg)
        return _SYMBOL.iter_unpack(self.content())


class _Names:
    """A table of names."""

    def __init__(self, section: _Section) -> None:
        self._content = section.content()
        # Names may share their ends, so even a small file can hold more text than memory does.
        self._left_bytes = _MAX_NAMES_BYTES

    def at(self, start: int) -> str:
        """Return the name that begins at ``start``."""
        end = self._content.index(b"\0", start, start + MAX_NAME + 1)
        self._left_bytes -= end - start
        if self._left_bytes < 0:
            msg = "too long names"
            raise ValueError(msg)
        return self._content[start:end].decode("utf-8", "backslashreplace")
