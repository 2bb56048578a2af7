"""Which linker a link command uses, and the flags it needs for a link of ours.

lld and GNU ld let a linker script's assignment replace a name's definition in objects, archives and
(lld) full-LTO bitcode: seen with lld 11, 14 and 21, and GNU ld 2.40. Others do not: gold 1.16 keeps
a body that something refers to, and drops the names of local functions that it folds, so that
nothing can be proved.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from megtrim.elf.layout import NO_BUILD_ID
from megtrim.util.errors import InputError


class Linker(StrEnum):
    """Linkers that can give a name another address than its definition."""

    LLD = "lld"
    GNU = "GNU ld"


_SIGNS = (
    (Linker.LLD, re.compile(r"^(?:\S+ )?LLD \d", re.MULTILINE)),
    (Linker.GNU, re.compile(r"^GNU ld\b", re.MULTILINE)),
)

_COMPILER = re.compile(r"collect2 version |\s*/")
"""The first line of gcc's output, and a line that shows a call."""

UNFOLDED = {
    # Under full LTO an inlined function has no address of its own, so that no list contains it. At
    # -O2 lld (seen with 21 and 22) lets callers jump past a function that is only a jump.
    Linker.LLD: ("-Wl,--icf=none", "-Wl,--lto-O0", "-Wl,-O1", NO_BUILD_ID),
    Linker.GNU: (NO_BUILD_ID,),
}
"""Flags with which every function keeps its own bytes; later options override earlier ones.

Without a build id, which the program that ships has alone.
"""

_LTO = (b".gnu.lto_", b"`\nBC\xc0\xde")
"""Marks of link-time optimisation: in GCC's objects, and before clang's in an archive."""
_LTO_OBJECT = b"BC\xc0\xde"


def identify_by_version(output: str, *, target: str) -> Linker:
    """Return the linker by the version that it prints. Raises InputError for an unknown one."""
    for linker, sign in _SIGNS:
        if sign.search(output):
            return linker
    lines = [line for line in output.splitlines() if line.strip()]
    # A compiler may print lines first.
    own = next((line for line in lines if not _COMPILER.match(line)), "nothing")
    msg = f"the linker of {target} cannot leave functions out: it prints {own[:100]!r}"
    raise InputError(msg, hint="choose a toolchain with lld or GNU ld, or trim.level: region")


def read_expecting_code(words: Sequence[str], build: Path, linker: Linker, *, target: str) -> None:
    """Raise InputError for objects that a linker other than lld compiles and inlines.

    A list of functions that ran would miss those inlined into others. ``words`` are the arguments
    of the link, relative to ``build``.
    """
    if linker is Linker.LLD or not any(word.startswith("-flto") for word in words):
        return
    for word in words:
        path = build / word
        if not word.endswith((".o", ".a")) or not path.is_file():
            continue
        data = path.read_bytes()
        if data.startswith(_LTO_OBJECT) or any(sign in data for sign in _LTO):
            msg = f"{target}: {linker} compiles {word} while it links, and inlines functions"
            raise InputError(msg, hint="choose a toolchain with lld, or compile without -flto")
