"""Which linker a link command comes to, and what it must be told for a link of ours.

lld and GNU ld take a linker script's assignment to a name in place of the name's definition, from
objects, archives and (lld) full-LTO bitcode alike: seen with lld 11, 14 and 21, and GNU ld 2.40.
Others do not take such scripts, or not so: gold 1.16 keeps the body where something refers to it,
and forgets the names of internal functions that it folds, so that nothing can be proved.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from megtrim.errors import InputError


class Linker(StrEnum):
    """Linkers that can give a name another place than its definition."""

    LLD = "lld"
    GNU = "GNU ld"


_SIGNS = (
    (Linker.LLD, re.compile(r"^(?:\S+ )?LLD \d", re.MULTILINE)),
    (Linker.GNU, re.compile(r"^GNU ld\b", re.MULTILINE)),
)

_COMPILER = re.compile(r"collect2 version |\s*/")
"""How gcc begins, and the line in which it shows a call."""

UNFOLDED = {
    # Under full LTO a function that is inlined has no place of its own, and no list has it. At -O2
    # lld (seen with 21 and 22) has callers jump past a function that is nothing but a jump.
    Linker.LLD: ("-Wl,--icf=none", "-Wl,--lto-O0", "-Wl,-O1"),
    Linker.GNU: (),
}
"""With which every function keeps its own bytes; a later option wins over an earlier one."""

_LTO = (b".gnu.lto_", b"`\nBC\xc0\xde")
"""In GCC's objects for optimisation at link time; before clang's in an archive."""
_LTO_OBJECT = b"BC\xc0\xde"


def identify_by_version(said: str, *, target: str) -> Linker:
    """Return the linker by what it says of its version, or raise InputError for another one."""
    for linker, sign in _SIGNS:
        if sign.search(said):
            return linker
    lines = [line for line in said.splitlines() if line.strip()]
    # A compiler may speak first.
    own = next((line for line in lines if not _COMPILER.match(line)), "nothing")
    msg = f"{target} is linked by a linker that cannot leave functions out: it says {own[:100]!r}"
    raise InputError(msg, hint="choose a toolchain with lld or GNU ld, or trim.level: region")


def read_expecting_code(words: Sequence[str], build: Path, linker: Linker, *, target: str) -> None:
    """Refuse objects that another linker than lld compiles, which cannot leave inlining out.

    A list that is taken after it lacks functions that ran inside of others. ``words`` are those
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
