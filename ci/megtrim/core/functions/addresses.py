"""Finds the functions whose addresses a program takes, in the objects that it is linked from.

A program may compare such addresses, so functions that are left out may not share one. Only calls
and jumps need none, and neither do tables of virtual functions and of unwinding, which no program
compares. Kinds of relocations are those of the ABIs of AArch64, Arm and x86-64. Pure.
"""

from collections.abc import Collection, Iterator

from megtrim.libs.elf.layout import (
    AARCH64,
    ALLOCATED,
    ARM,
    EXECUTED,
    SYMBOL_TABLE,
    X86_64,
    PlacedSection,
)
from megtrim.libs.elf.objects import Object, read_each

_BRANCHES = {
    AARCH64: frozenset({279, 280, 282, 283}),
    ARM: frozenset({1, 10, 27, 28, 29, 30, 51, 102, 103}),
    X86_64: frozenset({4}),
}
_RELATIVE = 2
"""x86-64: also older assemblers' relocation of a call."""
_THROUGH_TABLE = 41
"""x86-64: of a call or jump through the table of addresses, or of a load from it."""
_CALLS = (b"\xe8", b"\xe9")
_CONDITIONAL = range(0x80, 0x90)
_INDIRECT = (b"\xff\x15", b"\xff\x25")
_VIRTUAL = "_ZTV"
_UNWINDING = (".eh_frame", ".ARM.ex", ".gcc_except_table")


def find_addressed(data: bytes, names: Collection[str], *, source: str) -> frozenset[str]:
    """Return those of ``names`` whose address an object or archive takes.

    Files of other kinds take none, such as objects with a compiler's intermediate code. Raises
    InputError for a damaged one.
    """

    def find(_: str, unit: Object) -> Iterator[str]:
        return _find_in_object(unit, names)

    return frozenset(name for _, name in read_each(data, find, source=source))


def _find_in_object(unit: Object, names: Collection[str]) -> Iterator[str]:
    table = unit.find_table(SYMBOL_TABLE)
    if table is None:
        return
    wanted = {at: name for at, (name, *_) in enumerate(unit.entries(table)) if name in names}
    for number, filling in unit.relocated.items() if wanted else ():
        section = unit.sections[number]
        if not _is_compared(section):
            continue
        code = unit.content(section) if section.flags & EXECUTED else b""
        for table_at in filling:
            for each in unit.relocations(unit.sections[table_at]):
                name = wanted.get(each.symbol, "")
                if name and not _is_branch(unit.machine, each.kind, code, each.address):
                    yield name


def _is_compared(section: PlacedSection) -> bool:
    is_loaded = bool(section.flags & ALLOCATED)
    return is_loaded and _VIRTUAL not in section.name and not section.name.startswith(_UNWINDING)


def _is_branch(machine: int, kind: int, code: bytes, at: int) -> bool:
    if kind in _BRANCHES[machine]:
        return True
    if machine != X86_64 or at < 2 or not code:
        return False
    before = code[at - 2 : at]
    if kind == _RELATIVE:
        return before[1:] in _CALLS or (before[0] == 0x0F and before[1] in _CONDITIONAL)
    return kind == _THROUGH_TABLE and before in _INDIRECT
