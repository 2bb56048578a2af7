"""Deferred functions: out of a linked program into its rest, at the addresses that they had.

Their sections get another name in copies of the objects, so that a script of the linker places them
behind everything else, after the unwind tables. The file is cut there. A runtime (``rest.c``) takes
the rest in, block by block, where the program reaches it. Pure: bytes in, bytes out.
"""

import hashlib
import struct
from bisect import bisect_left
from collections.abc import Collection, Container, Iterator
from importlib.resources import files as package_files

from megtrim.elf.layout import (
    ALLOCATED,
    DAMAGE,
    EXECUTED,
    PROGBITS,
    SYMBOL_TABLE,
    WRITTEN,
    ElfLayout,
    PlacedSection,
)
from megtrim.elf.objects import RELOCATIONS_WITH_ADDENDS, Object, members, open_object
from megtrim.elf.symbol_names import brief
from megtrim.elf.symbol_table import FunctionTable
from megtrim.util.errors import InputError, ProductFailure

RUNTIME = "\n".join(
    (package_files("megtrim.functions") / name).read_text("utf-8")
    for name in ("blake2b.c", "rest.c")
)
_NEXT_PAGE = "ALIGN(CONSTANT(MAXPAGESIZE)) + ((. - SIZEOF(.bss)) & (CONSTANT(MAXPAGESIZE) - 1))"
"""The tables begin in their page where the file's data ends: a linker need not fill it up."""
_LOADERS_TABLE = f"""
  .rela.dyn {_NEXT_PAGE} : {{ *(.rela.dyn) }}
  .eh_frame_hdr SIZEOF(.rela.dyn) ? ALIGN(8) : {_NEXT_PAGE}"""
_SCRIPT = """SECTIONS {%s : { *(.eh_frame_hdr) }
  .eh_frame : { KEEP(*(.eh_frame)) }
  .megtrim_rest ALIGN(CONSTANT(MAXPAGESIZE)) : {
    . += 64;
    *(.restexcept_table.*) *(.rest .rest.*)
  }
  .megtrim_data ALIGN(CONSTANT(MAXPAGESIZE)) : { *(.rdat*) }
} INSERT AFTER .bss;
"""
_EXPORT = "VERSION { { global: megtrim_rest; }; }\n"
ROOM_BYTES = 64
"""Before the deferred code, for what the unwind tables need beyond what they had."""
CODE, DATA, ROWS, ENTRIES = ".megtrim_rest", ".megtrim_data", ".eh_frame_hdr", ".eh_frame"
_MARK, _DATA_MARK = b".rest", b".rdat"
_TEXT, _EXCEPTIONS = ".text", ".gcc_except_table"
BLOCK_BYTES = 65_536
IMPORTS = 256
"""Most names in other files that deferred data may refer to."""
_WRAPPED = ("sigaction", "sigprocmask", "pthread_sigmask", "signal")
_OURS = "megtrim_rest"
_SYMBOL = struct.Struct("<I20x")
_FUNCTION, _THREAD_LOCAL = 2, 0x400
IDENTITY = hashlib.sha256(f"{RUNTIME}{_SCRIPT}{_LOADERS_TABLE}{_EXPORT}".encode()).hexdigest()
"""Of how a program gets at its rest."""
HINT = "this linker cannot place functions as megtrim needs it: trim.level: function"


def sources(untrimmed_bytes: int) -> tuple[tuple[str, str], ...]:
    """``untrimmed_bytes``: of the stripped unfolded link, which no rest exceeds."""
    blocks = untrimmed_bytes // BLOCK_BYTES + 6
    sizes = f"#define MEGTRIM_BLOCKS {blocks}\n#define MEGTRIM_IMPORTS {IMPORTS}\n"
    return (("megtrim_rest.c", f"{sizes}{RUNTIME}"),)


def layout(*, by_lld: bool, shared: bool = False) -> str:
    """Return the script for a linker. GNU ld does not move the loader's table, and takes no second
    version script: a shared object's own one may hide all names that it does not know.
    """
    tables = _LOADERS_TABLE if by_lld else f"\n  .eh_frame_hdr {_NEXT_PAGE}"
    return _SCRIPT % tables + (_EXPORT if by_lld and shared else "")


def flags(*, shared: bool) -> tuple[str, ...]:
    """A shared object is never unloaded: faults need the handler that is in it."""
    wraps = tuple(f"-Wl,--wrap={name}" for name in _WRAPPED)
    wraps += tuple(f"-Wl,--undefined={name}" for name in _WRAPPED if name != "signal")
    return (*wraps, "-Wl,-z,nodelete") if shared else wraps


def forget(data: bytes, names: Collection[str], *, source: str) -> list[tuple[int, bytes]]:
    """Return the edits after which the functions refer to nothing in a copy of ``data``.

    Raises InputError for a damaged object or archive.
    """
    wanted = frozenset(names)
    return [
        (start + unit.header_at(table) + unit.fields.size_at, bytes(unit.fields.word.size))
        for _, start, unit in _iter_objects(data, source)
        for at in sorted(_find_deferred(unit, wanted))
        for table in unit.relocated.get(at, ())
    ]


def edits(
    data: bytes,
    names: Collection[str],
    needed: Container[tuple[str, str]] | None,
    *,
    source: str,
) -> list[tuple[int, bytes]]:
    """Return the edits that rename the sections of the functions in a copy of ``data``.

    A section is renamed if all functions in it are among ``names``, and one of read-only data if
    it, with its member's name before its own, is not ``needed``; None: all are. Raises InputError
    for a damaged object or archive.
    """
    wanted = frozenset(names)
    return [
        edit
        for member, start, unit in _iter_objects(data, source)
        for edit in _rename(
            unit, start, _find_deferred(unit, wanted), _find_data(unit, member, needed)
        )
    ]


def _iter_objects(data: bytes, source: str) -> Iterator[tuple[str, int, Object]]:
    view = memoryview(data)
    try:
        for member, start, end in members(view):
            unit = open_object(bytes(view[start:end]))
            if unit is not None and unit.section_names is not None:
                yield member, start, unit
    except DAMAGE:
        msg = f"{source}: a damaged object or archive"
        raise InputError(msg, hint="build it again") from None


def _rename(
    unit: Object, start: int, code: Collection[int], data: Collection[int]
) -> Iterator[tuple[int, bytes]]:
    """Rename the sections, unless something else shares the bytes of a name."""
    texts, symbols = unit.section_names, unit.find_table(SYMBOL_TABLE)
    if texts is None:
        return
    moved = {**dict.fromkeys(code, _MARK), **dict.fromkeys(data, _DATA_MARK)}
    users = [
        (unit.name_at(at), at in moved or _fills(each, moved))
        for at, each in enumerate(unit.sections)
    ]
    if symbols and unit.symbol_names == texts:
        users += [(name, False) for name, *_ in _SYMBOL.iter_unpack(unit.content(symbols))]
    users.sort()
    content = unit.content(texts)
    for at, mark in sorted(moved.items()):
        place = unit.name_at(at)
        begin = bisect_left(users, (content.rfind(b"\0", 0, place) + 1, False))
        end = bisect_left(users, (place + len(mark), False))
        if all(ours for _, ours in users[begin:end]):
            yield start + texts.offset + place, mark


def _find_deferred(unit: Object, names: Collection[str]) -> set[int]:
    functions: dict[int, list[str]] = {}
    for symbol in unit.find_symbols().values():
        if symbol.kind == _FUNCTION:
            functions.setdefault(symbol.section, []).append(symbol.name)
    moved = {
        at
        for at, held in functions.items()
        if _is_code(unit.sections[at]) and all(name in names for name in held)
    }
    own = {unit.sections[at].name.removeprefix(_TEXT) for at in moved}
    for at, each in enumerate(unit.sections):
        name = each.name.removeprefix(_EXCEPTIONS)
        if name != each.name and name in own - {""}:
            moved.add(at)
    return moved


def _find_data(unit: Object, member: str, needed: Container[tuple[str, str]] | None) -> set[int]:
    return {
        at
        for at, each in enumerate(unit.sections)
        if needed is not None and _is_data(each) and (member, each.name) not in needed
    }


def _is_data(section: PlacedSection) -> bool:
    flags = section.flags & (ALLOCATED | EXECUTED | WRITTEN | _THREAD_LOCAL)
    named = f"{section.name}."
    return section.kind == PROGBITS and (
        (named.startswith(".rodata.") and flags == ALLOCATED)
        or (named.startswith(".data.rel.ro.") and flags == ALLOCATED | WRITTEN)
    )


def _is_code(section: PlacedSection) -> bool:
    code = ALLOCATED | EXECUTED
    named = f"{section.name}.".startswith(f"{_TEXT}.")
    return named and section.kind == PROGBITS and section.flags & (code | WRITTEN) == code


def _fills(section: PlacedSection, moved: Collection[int]) -> bool:
    return section.kind == RELOCATIONS_WITH_ADDENDS and section.info in moved


def prove(
    before: FunctionTable,
    after: FunctionTable,
    deferred: Collection[str],
    place: range,
    *,
    source: str,
) -> None:
    """Compare the unfolded link with the one whose functions ``deferred`` lie in ``place``.

    Raises ProductFailure.
    """
    held = {each.name for each in after.functions if each.address in place}
    new = {each for each in after.exported - before.exported if not each.startswith(_OURS)}
    expected = before.registrations
    for wrong, problem in (
        (held - {*deferred}, "functions that are to stay lie in the rest"),
        (before.exported - after.exported, "names are no longer exported"),
        (new, "names became exported"),
        (() if held else deferred, "functions that are to be deferred are still there"),
        (() if after.registrations >= expected else ("main",), "less is called before main"),
    ):
        if wrong:
            msg = f"{source}: its functions cannot be deferred: {problem}, {brief(min(wrong))}"
            raise ProductFailure(msg, hint=HINT)


def find_place(data: bytes, *, source: str) -> range:
    """Return the addresses of what is deferred in a linked file."""
    try:
        section = next(each for each in ElfLayout(data).sections if each.name == CODE)
    except (*DAMAGE, StopIteration):
        msg = f"{source}: nothing was deferred"
        raise ProductFailure(msg, hint=HINT) from None
    return range(section.address, section.address + section.size_bytes)
