"""Names of functions as linkers know them: what a script may hold, and what is surely internal.

A name comes from a file that anybody may have made and goes into a linker script, so what is
passed on is held to letters that mean nothing there. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

import cxxfilt

from megtrim.errors import InputError

MAX_NAME = 65_536
"""Characters of one name; templates make names of some thousands."""

_NAME = re.compile(r"[A-Za-z_.$][A-Za-z0-9_.$]*")
_SURELY_INTERNAL = re.compile(
    # A namespace without a name, or clang's numbers of lambdas that no other file can name.
    r"_Z.*(?:_GLOBAL__N_|\$_[0-9])"
    # A static function; what runs before main; what a compiler makes for static variables.
    r"|_ZL|_GLOBAL__(?:sub_)?[ID]_|__cxx_global_(?:var_init|array_dtor)"
)
_LENGTH = re.compile(r"[0-9]{1,5}")
_BACK_REFERENCE = re.compile(r"(?=([ST])([0-9A-Z]{0,4})_)")
_BRACKET = re.compile(r"\(anonymous namespace\)|\boperator\(\)(?=[(<[])|[][(){}]")
"""A bracket, or a name with brackets of its own."""
_PART = re.compile(
    # Brackets that hold nothing long, or are none.
    r"operator(?:<=>|<<=?|>>=?|<=?|>=?|->\*?)|->|\(\)|\(anonymous namespace\)|[^<>()o-]+|.",
    re.DOTALL,
)
_MAX_BRIEF = 80
_MAX_READABLE = 1 << 20
"""Characters that a name may take when its back references are spelled out."""


def is_linkable(name: str) -> bool:
    """Say whether ``name`` can stand between quotes in a linker script."""
    return len(name) <= MAX_NAME and _NAME.fullmatch(name) is not None


def is_internal(name: str) -> bool:
    """Say whether the name alone tells that no other file can refer to the function.

    A static C function is internal as well, but its name does not tell.
    """
    return _SURELY_INTERNAL.match(name) is not None or _is_static_member(name)


def identifiers(names: Iterable[str]) -> frozenset[str]:
    """Return the words that linkage names are made of."""
    return frozenset(word for name in names for word in _words(name))


def _words(name: str) -> Iterator[str]:
    if not name.startswith("_Z"):
        yield name
        return
    at = 0
    while length := _LENGTH.search(name, at):
        at = length.end() + int(length[0])
        yield name[length.end() : at]


def _is_static_member(name: str) -> bool:
    """Say whether it is a static function in a namespace: ``_ZN2nsL3fooEv``."""
    if not name.startswith("_ZN"):
        return False
    at = 3
    while length := _LENGTH.match(name, at):
        at = length.end() + int(length[0])
    return name[at : at + 1] == "L" and name[at + 1 : at + 2].isdigit()


@lru_cache(maxsize=65_536)
def readable(name: str) -> str:
    """Return the name as it stands in the source, or ``name`` where it cannot be told.

    The demangler is C code that spells out back references, each of which can double what is
    there: a name that could grow without bounds is left as it is. Raises InputError where this
    machine has no C++ library.
    """
    if not name.startswith("_Z") or not is_linkable(name) or _spelled_out(name) > _MAX_READABLE:
        return name
    try:
        return str(cxxfilt.demangle(name, external_only=False))
    except (cxxfilt.InvalidName, cxxfilt.InternalError, UnicodeDecodeError):
        return name
    except cxxfilt.LibraryNotFound as error:
        msg = f"names of functions cannot be read: {error}"
        raise InputError(msg, hint="install the C++ library, on Debian: libstdc++6") from None


def without_arguments(said: str) -> Iterator[str]:
    """Yield a readable name up to each list of arguments in it, the function's own last.

    Those before are of the functions that it is local to: ``f(int)::{lambda()#1}::operator()()``.
    """
    depth = 0
    for found in _BRACKET.finditer(said):
        bracket = found[0]
        if bracket in "([{":
            if bracket == "(" and not depth:
                yield said[: found.start()]
            depth += 1
        elif bracket in ")]}":
            depth -= 1


def brief(name: str) -> str:
    """Return the readable name for a list of several: a long one without what its brackets hold."""
    said = readable(name)
    if len(said) > _MAX_BRIEF:
        said = "".join(_outside_brackets(said))
    return said if len(said) <= _MAX_BRIEF else f"{said[: _MAX_BRIEF - 1]}…"


def _outside_brackets(said: str) -> Iterator[str]:
    depth = 0
    for found in _PART.finditer(said):
        part = found[0]
        if part in (">", ")"):
            depth = max(0, depth - 1)
        if depth == 0:
            yield f"{part}…" if part in ("<", "(") else part
        if part in ("<", "("):
            depth += 1


def _spelled_out(name: str) -> int:
    """Return at least as many characters as ``name`` takes with back references spelled out.

    What the first reference to a number stands for is at most all that is before it; a later one
    to the same or a lower number stands for something that was complete by then.
    """
    added = 0
    known: dict[str, list[int]] = {"S": [], "T": []}
    for found in _BACK_REFERENCE.finditer(name):
        number = int(found[2], 36) + 1 if found[2] else 0
        if number > found.start():
            continue  # letters of something else: there is not so much that it could refer to
        sizes = known[found[1]]
        sizes += [found.start() + added] * (number + 1 - len(sizes))
        added += sizes[number]
        if added > _MAX_READABLE:
            break
    return len(name) + added
