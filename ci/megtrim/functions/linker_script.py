"""What a linker is given so that functions go: a list of assignments, and what they lead to.

``"_ZN3mgb3fooEv" = megtrim_stub;`` as an input of the link overrides the function of that name,
wherever it comes from, even an archive or a file of bitcode: its body is then referred to by
nobody, and ``--gc-sections`` drops it. The shipped build has one stub for all; in the build for
diagnosis each function has its own, which says its number. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib.resources import files as package_files

from megtrim.elf.function_table import FunctionTable
from megtrim.elf.symbol_names import is_internal, is_linkable
from megtrim.errors import InputError
from megtrim.functions.observables import Observables

STUB = "megtrim_stub"
_MAIN = "main"
"""Called by what no link shows: the C library's first lines."""
_NOT_KEPT = re.compile(r"megtrim: function #([0-9]{1,9}) is not kept")


def _text(name: str) -> str:
    return (package_files("megtrim.functions") / name).read_text(encoding="utf-8")


_NO_NAME = ("megtrim_no_name.S", _text("no_name.S"))

SUBSTITUTES = {"__cxa_demangle": "megtrim_no_name"}
"""Functions that do not become a trap where they are left out, and what they become."""

SOURCES = (("megtrim_stub.S", _text("stub.S")), _NO_NAME)
"""File name and text of what the shipped link is given beside ``script``."""


def named_sources(count: int) -> tuple[tuple[str, str], ...]:
    """Return file names and texts that the link for diagnosis is given beside its script."""
    stubs = "".join(f"STUB({number})\n" for number in range(count))
    return (
        ("megtrim_named_stubs.S", _text("named_stubs.S") + stubs),
        ("megtrim_stub_ran.c", _text("named_stubs.c")),
        _NO_NAME,
    )


def droppable(
    table: FunctionTable, kept: Collection[str], observables: Observables
) -> tuple[str, ...]:
    """Return the names that a build can leave out, sorted; internal functions are among them.

    ``kept`` are those that must stay. What shares code with one that stays, stays as well; so does
    what is not observable, what other files import or export, what the program starts with, and
    what is data under the same name elsewhere.
    """
    stay = {*table.imported, *table.exported, *table.data, _MAIN, *kept}
    groups = (group for group in observables.groups if stay.isdisjoint(group))
    return tuple(sorted(name for group in groups for name in group))


def script(names: Iterable[str]) -> str:
    """Return assignments that make every one of ``names`` the one stub."""
    return "".join(
        f'"{name}" = {SUBSTITUTES.get(name, STUB)};\n' for _, name in _enumerate_assignable(names)
    )


def named_script(names: Iterable[str]) -> str:
    """Return assignments that give each of ``names`` the stub of its number."""
    assigned = (
        (name, SUBSTITUTES.get(name, f"{STUB}_{number}"))
        for number, name in _enumerate_assignable(names)
    )
    return "".join(f'"{name}" = {value};\n' for name, value in assigned)


def not_kept(stderr: str, names: Sequence[str]) -> str | None:
    """Return which of ``names`` a build for diagnosis said that it lacks, None if it did not."""
    found = _NOT_KEPT.search(stderr)
    number = int(found[1]) if found else len(names)
    return names[number] if number < len(names) else None


def _enumerate_assignable(names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield what an assignment can reach, with its number among all names."""
    for number, name in enumerate(names):
        if not is_linkable(name):
            msg = f"found {name[:80]!r}, expected a name that a linker script can hold"
            raise InputError(msg, hint="record the functions again")
        if not is_internal(name):
            yield number, name
