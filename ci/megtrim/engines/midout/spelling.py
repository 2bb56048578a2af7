"""How midout's files and programs spell a region: the mangled name of a type. Pure."""

import re
from collections.abc import Iterable
from functools import lru_cache

import cxxfilt

from megtrim.core.keep.region import Region
from megtrim.libs.elf.symbol_names import readable
from megtrim.libs.elf.type_names import MAX_NAME, GrammarError, NameParser
from megtrim.libs.util.errors import InputError

PREFIX = "N6midout6RegionI"
LEFT_OUT = "8left_outI"
"""Part of the linkage names of the functions that trap for a region with a crash id."""
_TRAP = re.compile(r"void midout::left_out<(.*?) ?>\(\)")
_MANGLED = re.compile(rf"{PREFIX}[A-Za-z0-9_]+")
_BACK_REFERENCE = re.compile(r"S[0-9A-Z]*_|T[0-9]*_")
_MAX_BACK_REFERENCES = 12


def parse_demangled(text: str) -> tuple[str, tuple[int | str, ...]]:
    """Parse ``midout::Region<midout::tags::TAG, ...>``; return the tag and the arguments.

    Spellings of libstdc++ and libc++ give equal values. Raises GrammarError.
    """
    parser = NameParser(text)
    for word in ("midout", "::", "Region", "<", "midout", "::", "tags", "::"):
        parser.expect(word)
    return parser.rest(parser.integral_constant)


def find_trap(name: str) -> Region | None:
    """Return the region that the function with this linkage name traps for."""
    if LEFT_OUT not in name:
        return None
    try:
        found = _TRAP.fullmatch(readable(name))
        return Region(*parse_demangled(found[1])) if found else None
    except (GrammarError, InputError):
        return None


def problem(mangled: str) -> str:
    """Return why ``mangled`` must not reach the demangler; empty if it may."""
    if len(mangled) > MAX_NAME:
        return f"a name of {len(mangled)} characters, expected at most {MAX_NAME}"
    if not _MANGLED.fullmatch(mangled):
        return f"found {mangled[:80]!r}, expected the mangled name of a midout::Region"
    if len(_BACK_REFERENCE.findall(mangled)) > _MAX_BACK_REFERENCES:
        return f"more than {_MAX_BACK_REFERENCES} back references in one name"
    return ""


def demangle(names: Iterable[str]) -> dict[str, str]:
    """Return each name's readable one; empty if it has none. ``problem`` must accept every name."""
    try:
        return {name: _demangle(name) for name in dict.fromkeys(names)}
    except cxxfilt.LibraryNotFound as error:
        msg = f"names in traces cannot be read: {error}"
        raise InputError(msg, hint="install the C++ library, on Debian: libstdc++6") from None


# Most runs of an engine share most of their regions.
@lru_cache(maxsize=16384)
def _demangle(name: str) -> str:
    try:
        return str(cxxfilt.demangle(name, external_only=False))
    except (cxxfilt.InvalidName, cxxfilt.InternalError, UnicodeDecodeError):
        return ""
