"""How a shared library for Android holds the C++ runtime: NDK's libc++, with its operators.

What an app may link depends on it. Two libc++ in one process disturb each other if the functions
of either can be called in place of the other's. Pure: bytes in, values out.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum

from megtrim.elf.layout import ElfLayout
from megtrim.elf.needed_libraries import parse_needed_names
from megtrim.errors import InputError

_SHARED_RUNTIME = "libc++_shared.so"
_ENTRY_POINTS = frozenset(
    {
        *("__cxa_allocate_exception", "__cxa_begin_catch", "__cxa_end_catch", "__cxa_throw"),
        *("__gxx_personality_v0", "_ZdaPv", "_ZdlPv", "_Znaj", "_Znam", "_Znwj", "_Znwm"),
    }
)
"""Of memory and exceptions; the operators with 32-bit sizes, too."""


class RuntimeLink(Enum):
    """Where a library has its C++ runtime from."""

    SHARED = "the one of the whole app"
    HIDDEN = "one of its own, or none, which no other code can call"
    EXPORTED = "one of its own, which other code may call by mistake"


@dataclass(frozen=True, slots=True, kw_only=True)
class CxxRuntime:
    """What was found."""

    link: RuntimeLink
    exported: tuple[str, ...] = ()
    """Functions of the runtime that it exports, sorted."""


def find_cxx_runtime(data: bytes, *, source: str) -> CxxRuntime:
    """Return where a shared library has its C++ runtime from.

    Raises InputError naming ``source`` for what is not a linked ELF file, or a damaged one.
    """
    needed = parse_needed_names(data, source=source)
    try:
        names = {each.name for each in ElfLayout(data).dynamic_symbols()}
    except (ValueError, LookupError, struct.error):
        msg = f"{source}: a damaged ELF file"
        raise InputError(msg, hint="build or fetch the file again") from None
    if _SHARED_RUNTIME in needed:
        return CxxRuntime(link=RuntimeLink.SHARED)
    exported = tuple(sorted(names & _ENTRY_POINTS))
    link = RuntimeLink.EXPORTED if exported else RuntimeLink.HIDDEN
    return CxxRuntime(link=link, exported=exported)
