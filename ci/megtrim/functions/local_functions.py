"""Empties functions in a copy of an object or archive, where no linker script reaches them.

A linker script can put a stub in the place of a name that other files may use. An internal
function (static, or in a namespace without a name) has no such name, and the unwind tables of
the others stay behind. So the function's own section is emptied in place: its code becomes a
trap, its relocations and its unwind entry go, and with them whatever only they held. Nothing
moves, so an archive keeps its index. Pure: bytes in, edits out.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from megtrim.elf import eh_frame
from megtrim.elf.objects import (
    ALLOCATED,
    CODE,
    EXECUTED,
    X86_64,
    Object,
    Relocation,
    Symbol,
    members,
)
from megtrim.errors import InputError
from megtrim.functions import stub_code

_NO_TYPE, _FUNCTION, _SECTION = 0, 2, 3
_PADDING_BYTES = 16
_SIZE = struct.Struct("<Q")
_PLACE = struct.Struct("<QQ")
_START_AT, _SIZE_AT, _ALIGNMENT_AT = 24, 32, 48
_SYMBOL_SIZE_AT = 16
_COLD = b".cold"
_BEHIND_THE_PLACE = frozenset({2, 4, 9, 41, 42})
"""x86-64's relocations that count from the end of the 4 bytes that they fill in."""


def number_names(names: Iterable[str]) -> dict[bytes, int]:
    """Return the names as ``edits`` takes them: as objects spell them, with their places."""
    return {name.encode("utf-8", "backslashreplace"): at for at, name in enumerate(names)}


def edits(
    data: bytes,
    names: Mapping[bytes, int],
    *,
    source: str,
    named: bool = False,
    unwind_tables: bool = True,
) -> list[tuple[int, bytes]]:
    """Return what to write where in a copy of ``data``, so that the functions are emptied.

    A section goes when it is one function's own, that function is among ``names`` under all of
    its names, and no code that stays enters it but at its beginning. Everything else stays as it
    is, and so do whole files that are no 64-bit objects for aarch64 or x86-64: scripts, thin
    archives, code for optimisation at the link. With ``named``, what is left of a function tells
    its number. Without ``unwind_tables`` the tables of the functions that stay go as well.
    Raises InputError for a damaged object or archive.
    """
    view = memoryview(data)
    try:
        return [
            (start + at, content)
            for start, end in members(view)
            for at, content in _edits(Object(view[start:end]), names, named, unwind_tables)
        ]
    except (ValueError, LookupError, struct.error, OverflowError, MemoryError, TypeError):
        msg = f"{source}: a damaged object or archive"
        raise InputError(msg, hint="build it again") from None


def _edits(
    unit: Object, names: Mapping[bytes, int], named: bool, unwind_tables: bool
) -> Iterator[tuple[int, bytes]]:
    if not unit.usable or _compiled_at_the_link(unit):
        return
    symbols = unit.symbols()
    emptied = _own_sections(unit, symbols, names)
    _spare_entered(unit, symbols, emptied)
    numbers = {at: names[each[0].name] for at, each in emptied.items()} if named else {}
    for at, start, code in stub_code.lay_out_sections(unit, emptied, numbers):
        header = unit.sections[at].header
        yield start, code
        yield header + _START_AT, _PLACE.pack(start, len(code))
        yield header + _ALIGNMENT_AT, _SIZE.pack(stub_code.alignment(unit.machine))
        for symbol in emptied[at]:
            yield symbol.entry + _SYMBOL_SIZE_AT, _SIZE.pack(len(code))
        for section in unit.relocated.get(at, ()):
            yield section.header + _SIZE_AT, _SIZE.pack(0)
    yield from eh_frame.forgotten(unit, symbols, emptied if unwind_tables else None)


def _compiled_at_the_link(unit: Object) -> bool:
    """Whether GCC may compile it once more, from what it holds beside its machine code."""
    return b"\0.gnu.lto_" in unit.names


def _own_sections(
    unit: Object, symbols: Mapping[int, Symbol], names: Mapping[bytes, int]
) -> dict[int, list[Symbol]]:
    """Return the sections that one function fills and that can go, with all of its symbols."""
    found = defaultdict(list)
    others = set()
    for each in symbols.values():
        if each.kind == _SECTION or (each.kind == _NO_TYPE and each.name.startswith(b"$")):
            continue
        if _goes(each.name, names) and _fills(each, unit):
            found[each.section].append(each)
        else:
            others.add(each.section)
    return {at: functions for at, functions in found.items() if at not in others}


def _goes(name: bytes, names: Mapping[bytes, int]) -> bool:
    """Whether a function can go. GCC's cold half of one goes with it: it is entered anywhere."""
    whole, cold, _ = name.partition(_COLD)
    return name in names and (not cold or whole in names)


def _fills(function: Symbol, unit: Object) -> bool:
    """Whether its section is this function's own, and has room for a trap."""
    section = unit.sections[function.section]
    code = ALLOCATED | EXECUTED
    return (
        (function.kind, function.address) == (_FUNCTION, 0)
        and (section.kind, section.flags & code) == (CODE, code)
        and 0 < function.size_bytes <= section.size_bytes < function.size_bytes + _PADDING_BYTES
        and section.size_bytes >= len(stub_code.trap(unit.machine))
        and (unit.name(section) + b".").startswith(b".text.")
    )


def _spare_entered(
    unit: Object, symbols: Mapping[int, Symbol], emptied: dict[int, list[Symbol]]
) -> None:
    """Leave out sections that code which stays enters behind their beginning.

    Data that points there (tables of a ``switch``) is used by the function itself alone.
    """
    waiting = [
        at for at in unit.relocated if unit.sections[at].flags & EXECUTED and at not in emptied
    ]
    while emptied and waiting:
        for section in unit.relocated.get(waiting.pop(), ()):
            for each in unit.relocations(section):
                target = symbols.get(each.symbol)
                if target and target.section in emptied and _offset(unit, each, target):
                    del emptied[target.section]
                    waiting.append(target.section)


def _offset(unit: Object, relocation: Relocation, target: Symbol) -> int:
    behind = unit.machine == X86_64 and relocation.kind in _BEHIND_THE_PLACE
    return target.address + relocation.addend + (4 if behind else 0)
