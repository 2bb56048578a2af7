"""Deferred functions: out of a linked program into its rest, at the addresses that they had.

Their sections get another name in copies of the objects, so that a script of the linker places them
behind everything else, after the unwind tables. The file is cut there. A runtime (``rest.c``) takes
the rest in, block by block, where the program reaches it. Pure: bytes in, bytes out.
"""

import hashlib
import struct
from bisect import bisect_left
from collections.abc import Callable, Collection, Container, Iterator, Mapping
from importlib.resources import files as package_files

from megtrim.libs.elf.layout import (
    AARCH64,
    ALLOCATED,
    ARM,
    DAMAGE,
    EXECUTED,
    PROGBITS,
    SYMBOL_TABLE,
    WRITTEN,
    ElfLayout,
    PlacedSection,
)
from megtrim.libs.elf.objects import INDEX_OF_UNWINDING, Object, read_each
from megtrim.libs.elf.symbol_names import brief
from megtrim.libs.elf.symbol_table import COLD, FunctionTable
from megtrim.libs.util.errors import ProductFailure
from megtrim.libs.util.value import Value

RUNTIME = "\n".join(
    (package_files("megtrim.core.functions") / name).read_text("utf-8")
    for name in ("blake2b.c", "rest_machines.c", "rest.c")
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
  .megtrim_data ALIGN(CONSTANT(MAXPAGESIZE)) : { KEEP(*(.rdat.megtrim)) *(.rdat*) }
} INSERT AFTER .bss;
"""
_LOADERS_TABLE_ON_ARM = f"""
  .rel.dyn {_NEXT_PAGE} : {{ *(.rel.dyn) }}
  .ARM.exidx SIZEOF(.rel.dyn) ? ALIGN(8) : {_NEXT_PAGE}"""
_SCRIPT_ON_ARM = """SECTIONS {%s : { *(.ARM.exidx* .gnu.linkonce.armexidx.*) }
  .megtrim_rows : { KEEP(*(.megtrim_rows)) }
  .megtrim_rest ALIGN(CONSTANT(MAXPAGESIZE)) : { *(.restextab.*) *(.rest .rest.*) }
  .megtrim_data ALIGN(CONSTANT(MAXPAGESIZE)) : { KEEP(*(.rdat.megtrim)) *(.rdat*) }
} INSERT AFTER .bss;
"""
_EXPORT = "VERSION { { global: megtrim_rest; }; }\n"
ROOM_BYTES = 64
"""Before the deferred code, for what the unwind tables need beyond what they had."""
CODE = ".megtrim_rest"
DATA = ".megtrim_data"
ROWS = ".eh_frame_hdr"
ENTRIES = ".eh_frame"
INDEX = ".ARM.exidx"
LATE_ROWS = ".megtrim_rows"
"""On 32-bit Arm: rows of functions that stay, and room for those of the others."""
_MARK = b".rest"
_DATA_MARK = b".rdat"
_TEXT = ".text"
_SPLIT = ".text.split."
"""What clang cut off a function by a list of its blocks."""
_EXCEPTIONS = (".gcc_except_table", ".ARM.extab.text")
"""Before the name of the function's section, without its ``.text``."""
BLOCK_BYTES = 65_536
IMPORTS = 256
"""Most names in other files that deferred data may refer to."""
_REPLACED = ("sigaction", "sigprocmask", "pthread_sigmask")
_SIGNAL = ("signal", "bsd_signal", "ssignal", "sysv_signal", "__sysv_signal")
"""Names that the C library has for one function."""
_OURS = "megtrim_rest"
_NUMBER = struct.Struct("<I")
_BY_TABLE = range(300, 314)
_PAGE = 311
_LOAD = 312
"""Relocations of arm64 for the linker's table of addresses; those of adrp and ldr for an entry."""
_COMPUTED = {_PAGE: 275, _LOAD: 277}
_WORD_LOADS = 0xFFC00000
_WORD_LOAD = 0xF9400000
_ADD = 0x91000000
_WEAK = 2
_FUNCTION = 2
_THREAD_LOCAL = 0x400
_LAYOUTS = f"{_SCRIPT}{_LOADERS_TABLE}{_SCRIPT_ON_ARM}{_LOADERS_TABLE_ON_ARM}"
IDENTITY = hashlib.sha256(f"{RUNTIME}{_LAYOUTS}{_EXPORT}".encode()).hexdigest()
"""Of how a program gets at its rest."""
HINT = "this linker cannot place functions as megtrim needs it: trim.level: function"


Edit = tuple[int, bytes]
"""Offset, and the new bytes there."""


def sources(untrimmed_bytes: int) -> tuple[tuple[str, str], ...]:
    """``untrimmed_bytes``: of the stripped unfolded link. A rest also lists its functions."""
    blocks = untrimmed_bytes * 17 // 16 // BLOCK_BYTES + 6
    sizes = f"#define MEGTRIM_BLOCKS {blocks}\n#define MEGTRIM_IMPORTS {IMPORTS}\n"
    return (("megtrim_rest.c", f"{sizes}{RUNTIME}"),)


def layout(machine: int, *, by_lld: bool, shared: bool = False) -> str:
    """Return the script for a linker. GNU ld does not move the loader's table, and takes no second
    version script: a shared object's own one may hide all names that it does not know.
    """
    export = _EXPORT if by_lld and shared else ""
    if machine == ARM:
        tables = _LOADERS_TABLE_ON_ARM if by_lld else f"\n  {INDEX} {_NEXT_PAGE}"
        return _SCRIPT_ON_ARM % tables + export
    tables = _LOADERS_TABLE if by_lld else f"\n  {ROWS} {_NEXT_PAGE}"
    return _SCRIPT % tables + export


def flags(*, by_lld: bool, shared: bool) -> tuple[str, ...]:
    """A shared object is never unloaded: faults need the handler that is in it. The loader's table
    is cut as it is, not packed.
    """
    wraps = tuple(f"-Wl,--wrap={name}" for name in (*_REPLACED, *_SIGNAL))
    wraps += tuple(f"-Wl,--undefined={name}" for name in _REPLACED)
    wraps += ("-Wl,--pack-dyn-relocs=none",) if by_lld else ()
    return (*wraps, "-Wl,-z,nodelete") if shared else wraps


class Deferred(Value):
    whole: frozenset[str]
    """Functions that are deferred."""
    cut: frozenset[str] = frozenset()
    """Functions of which the part is deferred that clang cut off by a list of their blocks."""


def forget(data: bytes, deferred: Deferred, *, source: str) -> list[Edit]:
    """Return the edits after which what is deferred refers to nothing in a copy of ``data``.

    Raises InputError for a damaged object or archive.
    """

    def find(_: str, unit: Object) -> Iterator[Edit]:
        for at in sorted(_find_deferred(unit, deferred)):
            for table in unit.relocated.get(at, ()):
                size_at = unit.header_at(table) + unit.fields.size_at
                yield size_at, bytes(unit.fields.word.size)

    return _find_edits(data, find, source)


def edits(
    data: bytes,
    deferred: Deferred,
    needed: Container[tuple[str, str]] | None,
    near: Container[str],
    *,
    source: str,
) -> list[Edit]:
    """Return the edits that rename the sections of the functions in a copy of ``data``, and those
    by which code computes the addresses of what is ``near``.

    A section is renamed if all functions in it are ``deferred``, and one of read-only data if
    it, with its member's name before its own, is not ``needed``; None: all are. Raises InputError
    for a damaged object or archive.
    """

    def find(member: str, unit: Object) -> Iterator[Edit]:
        moved = dict.fromkeys(_find_deferred(unit, deferred), _MARK)
        for at, each in enumerate(unit.sections):
            if needed is not None and _is_data(each) and (member, each.name) not in needed:
                moved[at] = _DATA_MARK
        yield from _rename(unit, moved)
        yield from _address(unit, near)

    return _find_edits(data, find, source)


def _find_edits(
    data: bytes, find: Callable[[str, Object], Iterator[Edit]], source: str
) -> list[Edit]:
    return [(start + at, new) for start, (at, new) in read_each(data, find, source=source)]


def _address(unit: Object, near: Container[str]) -> Iterator[Edit]:
    """Let code for arm64 compute an address instead of loading it from the linker's table, which
    has a word and a row of the loader's for it. Later linkers do so themselves.
    """
    table = unit.find_table(SYMBOL_TABLE)
    if unit.machine != AARCH64 or table is None:
        return
    names = [
        name if section or info >> 4 != _WEAK else ""
        for name, info, section, _, _ in unit.entries(table)
    ]
    for at, filling in unit.relocated.items():
        section = unit.sections[at]
        content = unit.content(section)
        found = [
            (each, _NUMBER.unpack_from(content, each.address)[0])
            for number in filling
            for each in unit.relocations(unit.sections[number])
            if each.kind in _BY_TABLE and names[each.symbol] in near
        ]
        stay = set()
        for each, code in found:
            loads_a_word = each.kind == _LOAD and code & _WORD_LOADS == _WORD_LOAD
            if each.kind != _PAGE and not loads_a_word:
                stay.add(each.symbol)
        for each, code in found:
            if each.symbol not in stay:
                kind = _NUMBER.pack(_COMPUTED[each.kind])
                yield each.entry + unit.fields.info_at, kind
                if each.kind == _LOAD:
                    added = _NUMBER.pack(code & ~_WORD_LOADS | _ADD)
                    yield section.offset + each.address, added


def _rename(unit: Object, moved: Mapping[int, bytes]) -> Iterator[Edit]:
    """Mark the names of the sections, unless something else shares the bytes of one."""
    texts = unit.section_names
    symbols = unit.find_table(SYMBOL_TABLE)
    if texts is None:
        return
    ours = _follow(unit, moved)
    users = [(unit.name_at(at), at in ours) for at in range(len(unit.sections))]
    if symbols and unit.symbol_names == texts:
        entry = struct.Struct(f"<I{unit.fields.symbol_bytes - _NUMBER.size}x")
        users += [(name, False) for name, *_ in entry.iter_unpack(unit.content(symbols))]
    users.sort()
    content = unit.content(texts)
    for at, mark in sorted(moved.items()):
        place = unit.name_at(at)
        begin = bisect_left(users, (content.rfind(b"\0", 0, place) + 1, False))
        end = bisect_left(users, (place + len(mark), False))
        if all(ours for _, ours in users[begin:end]):
            yield texts.offset + place, mark


def _find_deferred(unit: Object, deferred: Deferred) -> set[int]:
    functions: dict[int, list[str]] = {}
    for symbol in unit.find_symbols().values():
        if symbol.kind == _FUNCTION:
            functions.setdefault(symbol.section, []).append(symbol.name)
    moved = {
        at
        for at, held in functions.items()
        if _is_code(unit.sections[at]) and all(name in deferred.whole for name in held)
    }
    for at, section in enumerate(unit.sections):
        cut_off = section.name.startswith(_SPLIT) and _is_code(section)
        if cut_off and section.name.removeprefix(_SPLIT) in deferred.cut:
            moved.add(at)
    own = {unit.sections[at].name.removeprefix(_TEXT) for at in moved}
    for at, section in enumerate(unit.sections):
        for before in _EXCEPTIONS:
            name = section.name.removeprefix(before)
            if name != section.name and name and name in own:
                moved.add(at)
    return moved


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


def _follow(unit: Object, moved: Collection[int]) -> set[int]:
    """Return the sections whose names may change with those of ``moved``, which they may share: on
    32-bit Arm, how to unwind is found by what a section belongs to, not by its name.
    """
    indices = {
        at
        for at, each in enumerate(unit.sections)
        if each.kind == INDEX_OF_UNWINDING and each.link in moved
    }
    found = {*moved, *indices}
    return found.union(*(unit.relocated.get(at, ()) for at in found))


def prove(
    before: FunctionTable,
    after: FunctionTable,
    deferred: Deferred,
    place: range,
    *,
    source: str,
) -> None:
    """Compare the unfolded link with the one in which what is ``deferred`` lies in ``place``.

    Raises ProductFailure.
    """
    held = {each.name for each in after.functions if each.address in place}
    held = {name for name in held if not _is_cut_off(name, deferred)}
    new = {each for each in after.exported - before.exported if not each.startswith(_OURS)}
    still_there = () if held else deferred.whole
    no_longer_called = () if after.registrations >= before.registrations else ("main",)
    problems: tuple[tuple[Collection[str], str], ...] = (
        (held - deferred.whole, "functions that are to stay lie in the rest"),
        (before.exported - after.exported, "names are no longer exported"),
        (new, "names became exported"),
        (still_there, "functions that are to be deferred are still there"),
        (no_longer_called, "less is called before main"),
    )
    for wrong, problem in problems:
        if wrong:
            msg = f"{source}: its functions cannot be deferred: {problem}, {brief(min(wrong))}"
            raise ProductFailure(msg, hint=HINT)


def _is_cut_off(name: str, deferred: Deferred) -> bool:
    part = COLD.fullmatch(name)
    return part is not None and part[1] in deferred.cut


def find_place(data: bytes, *, source: str) -> range:
    """Return the addresses of what is deferred in a linked file."""
    try:
        section = next(each for each in ElfLayout(data).sections if each.name == CODE)
    except (*DAMAGE, StopIteration):
        msg = f"{source}: nothing was deferred"
        raise ProductFailure(msg, hint=HINT) from None
    return range(section.address, section.address + section.size_bytes)
