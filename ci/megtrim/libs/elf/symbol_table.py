"""The functions of a linked file: names and addresses, from its symbol table."""

import hashlib
import re
import struct
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import accumulate
from operator import attrgetter
from pathlib import Path

from megtrim.libs.elf.layout import (
    AARCH64,
    ARM,
    DAMAGE,
    DYNAMIC_SYMBOLS,
    MACHINES,
    SYMBOL_TABLE,
    X86_64,
    ElfLayout,
    PlacedSection,
    make_damage_error,
)
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.value import Value

_TRIMMED_MACHINES = ("aarch64", "armv7l", "x86_64")
_MAX_FILE_BYTES = 4 * 1024**3
_LOCAL = 0
_UNDEFINED = 0
_IN_NO_SECTION = -1
"""The linker's own, such as the name of a version that exports have."""
_NO_KIND = 0
"""Clang gives the part of a function that it splits off no kind."""
_IFUNC = 10
_FUNCTIONS = (2, _IFUNC)
_CODE_OR_DATA = (1, *_FUNCTIONS)
_NO_NAMES = (3, 4)
"""Symbols of sections and of files."""
_ARRAYS = (14, 16)
"""Kinds of sections that list what is called before ``main``."""
COLD = re.compile(r"(.+)\.cold(?:\.[0-9]+)?")
"""The rarely executed part of a function, which GCC places elsewhere."""
_LINKERS_OWN = re.compile(
    r"__(?:CortexA53843419_|AArch64\w*Thunk_|[\w@.]*_veneer|[\w@.]*_from_(?:arm|thumb)$)"
    r"|__(?:ARM|Thumb)[vV]\w*?Thunk_(?P<target>.+)"
)
"""Code that linkers insert between a call and its function; it differs in each link."""
_COPIES = {X86_64: 5, AARCH64: 1024, ARM: 20}
"""By machine: the relocation that copies a library's data into the program."""
_ENTRY_WORDS = {4: 3, 9: 2}
"""By kind of a table of relocations: the words of an entry."""
_HINT = "expected a program or shared library as the linker wrote it, not stripped"


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    address: int
    size_bytes: int
    """0 if it is not recorded: stubs, and functions written in assembler."""
    local: bool = False
    """Its symbol is local; linkers also make hidden symbols local."""
    thumb: bool = False
    """On 32-bit Arm: its instructions are Thumb's, of 2 or 4 bytes."""


class FunctionTable(Value):
    machine: str
    entry: int
    """Address of the first instruction; 0 in most shared libraries."""
    functions: tuple[Function, ...]
    """Sorted by address, then by name; with each alias."""
    imported: frozenset[str]
    exported: frozenset[str]
    registrations: int
    ifuncs: frozenset[str]
    """Functions whose implementation is chosen when the program starts."""
    data: frozenset[str] = frozenset()
    """Names that are functions in one of the linked files, and data in another."""
    thunks: Mapping[int, str] = field(default_factory=dict)
    """By its address, the name of the function that a linker's own code on 32-bit Arm jumps to."""
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _reach: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ends = (function.address + max(function.size_bytes, 1) for function in self.functions)
        object.__setattr__(self, "_starts", tuple(function.address for function in self.functions))
        object.__setattr__(self, "_reach", tuple(accumulate(ends, max)))

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(function.name for function in self.functions)

    def at(self, address: int) -> tuple[Function, ...]:
        found = []
        at = bisect_right(self._starts, address) - 1
        while at >= 0 and self._reach[at] > address:
            each = self.functions[at]
            if each.address + max(each.size_bytes, 1) > address:
                found.append(each)
            at -= 1
        return tuple(reversed(found))


def find_whole(name: str) -> str:
    """Return the name of the function that this is a part of; the name itself if it is none."""
    part = COLD.fullmatch(name)
    return part[1] if part else name


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

    Stripped bytes have no names and lists are by name, so names count, and ``groups``: a function
    that older lists did not observe would be one that did not run.
    """
    places = (f"{function.address:x} {function.name}" for function in table.functions)
    lines = (program_sha256, *places, "", *groups)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def read_linked(path: Path) -> bytes:
    return read_bytes(path, most_bytes=_MAX_FILE_BYTES, expected="a linked file", hint=_HINT)


def read_table(path: Path) -> FunctionTable:
    return parse_table(read_linked(path), source=str(path))


def parse_table(data: bytes, *, source: str) -> FunctionTable:
    """Raises InputError for a damaged ELF file, another machine's, or a stripped one."""
    layout = _open(data, source)
    symbols = layout.find_table(SYMBOL_TABLE)
    if symbols is None:
        msg = f"{source}: has no symbol table, so its functions have no names"
        raise InputError(msg, hint=_HINT)
    dynamic = layout.find_table(DYNAMIC_SYMBOLS)
    try:
        functions, ifuncs, data_names, thunks = _list_functions(symbols, layout)
        places = (
            [(name, place) for name, _, place, *_ in layout.entries(dynamic)] if dynamic else []
        )
        copied = _find_copied(layout, places)
    except DAMAGE as error:
        raise make_damage_error(source, error, hint=_HINT) from None
    named = [(name, place) for name, place in places if name]
    return FunctionTable(
        machine=MACHINES[layout.machine],
        entry=layout.entry & _place_bits(layout),
        functions=functions,
        imported=frozenset(name for name, place in named if place == _UNDEFINED) | copied,
        exported=frozenset(name for name, place in named if place != _UNDEFINED) - copied,
        registrations=_count_registrations(layout),
        ifuncs=ifuncs,
        data=data_names,
        thunks=thunks,
    )


def _find_copied(layout: ElfLayout, symbols: Sequence[tuple[str, int]]) -> frozenset[str]:
    """Return data of libraries that a program holds a copy of, such as ``stderr`` of the C library.

    The program has it only while it refers to it, so it is none of its own exports.
    """
    found = set()
    copies = _COPIES[layout.machine]
    entry = struct.Struct("<QQ" if layout.is_wide else "<II")
    shift = 32 if layout.is_wide else 8
    for table in layout.sections:
        if table.kind not in _ENTRY_WORDS or not table.in_memory:
            continue
        content = layout.content(table)
        step = entry.size // 2 * _ENTRY_WORDS[table.kind]
        for at in range(0, len(content) - step + 1, step):
            _, info = entry.unpack_from(content, at)
            if info & ((1 << shift) - 1) == copies:
                found.add(symbols[info >> shift][0])
    return frozenset(found)


class DynamicNames(Value):
    imported: frozenset[str]
    exported: frozenset[str]
    """Functions and data, without what linkers define and without variables of threads."""


def read_dynamic_names(path: Path) -> DynamicNames:
    """Read what a linked file, perhaps a stripped one, imports and exports."""
    layout = _open(read_linked(path), str(path))
    dynamic = layout.find_table(DYNAMIC_SYMBOLS)
    try:
        entries = [*layout.entries(dynamic)] if dynamic else []
    except DAMAGE as error:
        raise make_damage_error(str(path), error, hint=_HINT) from None
    imported = set()
    exported = set()
    for name, info, place, *_ in entries:
        if place == _UNDEFINED:
            imported.add(name)
        elif info & 15 in _CODE_OR_DATA and place != _IN_NO_SECTION:
            exported.add(name)
    return DynamicNames(imported=frozenset(imported), exported=frozenset(exported))


def read_registrations(path: Path) -> int:
    """Return how many functions a linked file, perhaps a stripped one, calls before ``main``."""
    return _count_registrations(_open(read_linked(path), str(path)))


def _open(data: bytes, source: str) -> ElfLayout:
    try:
        layout = ElfLayout(data)
    except DAMAGE as error:
        raise make_damage_error(source, error, hint=_HINT) from None
    machine = MACHINES.get(layout.machine, f"machine {layout.machine}")
    if machine not in _TRIMMED_MACHINES or layout.is_wide == (layout.machine == ARM):
        msg = f"{source}: a file for {machine}; functions are trimmed on aarch64, armv7l and x86_64"
        raise InputError(msg, hint="use trim.level: region for other machines")
    if layout.relocatable:
        msg = f"{source}: found an object, expected a linked file"
        raise InputError(msg, hint=_HINT)
    return layout


def _count_registrations(layout: ElfLayout) -> int:
    arrays = (section for section in layout.sections if section.kind in _ARRAYS)
    return sum(array.size_bytes // (8 if layout.is_wide else 4) for array in arrays)


def _place_bits(layout: ElfLayout) -> int:
    """Return a mask for addresses of code; on 32-bit Arm the lowest bit says that it is Thumb."""
    return ~1 if layout.machine == ARM else ~0


def _list_functions(
    symbols: PlacedSection, layout: ElfLayout
) -> tuple[tuple[Function, ...], frozenset[str], frozenset[str], dict[int, str]]:
    found = []
    ifuncs = set()
    data = set()
    thunks: dict[int, str] = {}
    place_bits = _place_bits(layout)
    for name, info, place, address, size in layout.entries(symbols):
        kind = info & 15
        if place == _UNDEFINED or kind in _NO_NAMES or not name:
            continue
        if kind not in _FUNCTIONS and not (kind == _NO_KIND and size and COLD.fullmatch(name)):
            data.add(name)
            continue
        # GNU ld gives a name that a script assigned the address 0 when it drops the target.
        if place < 0:
            continue
        start = address & place_bits
        if own := _LINKERS_OWN.match(name):
            thunks.update({start: own["target"]} if own["target"] else {})
            continue
        found.append(Function(name, start, size, info >> 4 == _LOCAL, start != address))
        if kind == _IFUNC:
            ifuncs.add(name)
    found.sort(key=attrgetter("address", "name", "size_bytes"))
    shared = frozenset(data & {each.name for each in found})
    return tuple(found), frozenset(ifuncs), shared, thunks
