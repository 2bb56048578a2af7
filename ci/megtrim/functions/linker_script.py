"""The linker's input that leaves functions out: a script of assignments, and their targets.

As an input of the link, ``"_ZN3mgb3fooEv" = megtrim_stub;`` overrides the function of that name,
even if it is in an archive or in bitcode. Nothing refers to its body then, and ``--gc-sections``
drops it. The shipped build has one stub for all functions, or with crash ids one for each, so that
an address shows which function was called. In the build for diagnosis, each function has a stub of
its own, which prints its number. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib.resources import files as package_files

from megtrim.elf.symbol_names import is_linkable, is_local_name
from megtrim.elf.symbol_table import FunctionTable
from megtrim.functions.observables import Observables
from megtrim.util.errors import InputError

STUB = "megtrim_stub"
_MAIN = "main"
"""Called by the C library's start-up code, which no link shows."""
_NOT_KEPT = re.compile(r"megtrim: function #([0-9]{1,9}) is not kept")


def _text(name: str) -> str:
    return (package_files("megtrim.functions") / name).read_text(encoding="utf-8")


_NO_NAME = ("megtrim_no_name.S", _text("no_name.S"))

SUBSTITUTES = {"__cxa_demangle": "megtrim_no_name"}
"""What replaces a function instead of a trap."""

SOURCES = (("megtrim_stub.S", _text("stub.S")), _NO_NAME)

_STUB_NAME = re.compile(rf"{STUB}(?:_[0-9]{{1,9}})?")


def is_stub(name: str) -> bool:
    return _STUB_NAME.fullmatch(name) is not None


def numbered_sources(count: int) -> tuple[tuple[str, str], ...]:
    """``named_script`` goes with them. A linker drops the stubs that nothing refers to."""
    stubs = "".join(f"STUB({number})\n" for number in range(count))
    return (("megtrim_numbered_stubs.S", _text("numbered_stubs.S") + stubs), _NO_NAME)


def named_sources(count: int) -> tuple[tuple[str, str], ...]:
    stubs = "".join(f"STUB({number})\n" for number in range(count))
    return (
        ("megtrim_named_stubs.S", _text("named_stubs.S") + stubs),
        ("megtrim_stub_ran.c", _text("named_stubs.c")),
        _NO_NAME,
    )


def droppable(
    table: FunctionTable, kept: Collection[str], observables: Observables
) -> tuple[str, ...]:
    """Return the names that a build can leave out, sorted, local functions included.

    Not ``kept``, nor what shares code with such a one, is not observable, is imported or exported,
    starts the program, or is data in another file.
    """
    stay = {*table.imported, *table.exported, *table.data, _MAIN, *kept}
    groups = (group for group in observables.groups if stay.isdisjoint(group))
    return tuple(sorted(name for group in groups for name in group))


def script(names: Iterable[str]) -> str:
    return "".join(
        f'"{name}" = {SUBSTITUTES.get(name, STUB)};\n' for _, name in _enumerate_assignable(names)
    )


def named_script(names: Iterable[str]) -> str:
    assigned = (
        (name, SUBSTITUTES.get(name, f"{STUB}_{number}"))
        for number, name in _enumerate_assignable(names)
    )
    return "".join(f'"{name}" = {value};\n' for name, value in assigned)


def not_kept(stderr: str, names: Sequence[str]) -> str | None:
    found = _NOT_KEPT.search(stderr)
    number = int(found[1]) if found else len(names)
    return names[number] if number < len(names) else None


def _enumerate_assignable(names: Iterable[str]) -> Iterator[tuple[int, str]]:
    for number, name in enumerate(names):
        if not is_linkable(name):
            msg = f"found {name[:80]!r}, expected a name that is allowed in a linker script"
            raise InputError(msg, hint="record the functions again")
        if not is_local_name(name):
            yield number, name
