"""The file that says which functions of one link ran in one run.

    megtrim functions v1
    link 6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d
    _ZN3mgb12tensor_stats4nextEv
    ...

Names are sorted, each on its line. It is made beside a program that anybody may have built, and
comes from other machines: every line is held to what a linker script may hold. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from megtrim.errors import InputError, ProductFailure
from megtrim.functions.names import is_linkable
from megtrim.reading import read_bytes

MAGIC = "megtrim functions v1"
MAX_LIST_BYTES = 256 * 1024 * 1024
_LINK = re.compile(r"link ([0-9a-f]{64})")
_HINT = "record the functions again"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionList:
    """What one run needs of one link."""

    link_sha256: str
    """The link identity: of what :func:`megtrim.functions.table.link_identity` names."""
    names: tuple[str, ...]
    """Linkage names, sorted and unique, at least one; internal functions too."""


def function_list(link_sha256: str, names: Iterable[str]) -> FunctionList:
    """Return a list of those of ``names`` that could be left out of a link at all.

    A name that no linker script can hold stays in every link, so no list needs it. Raises
    ProductFailure where nothing is left: a build from it would keep nothing.
    """
    needed = tuple(sorted({name for name in names if is_linkable(name)}))
    if not needed:
        msg = "a list without any function, so nothing would be kept for it"
        raise ProductFailure(msg, hint=_HINT)
    return FunctionList(link_sha256=link_sha256, names=needed)


def dump_list(functions: FunctionList) -> str:
    """Return the text of a list. Equal values give equal text."""
    return "\n".join([MAGIC, f"link {functions.link_sha256}", *functions.names, ""])


def read_list(path: Path) -> FunctionList:
    """Read a list's file. Raises InputError."""
    expected = "a list of functions"
    data = read_bytes(path, most_bytes=MAX_LIST_BYTES, expected=expected, hint=_HINT)
    return parse_list(data, source=str(path))


def parse_list(data: bytes, *, source: str) -> FunctionList:
    """Read what ``dump_list`` wrote. Raises InputError naming ``source:line`` for all else."""
    if len(data) > MAX_LIST_BYTES:
        raise _refusal(source, 1, f"more than {MAX_LIST_BYTES} bytes")
    # Only what is ASCII can be a name; anything else is shown as it is.
    lines = data.decode("ascii", "backslashreplace").split("\n")
    if lines[0] != MAGIC:
        raise _refusal(source, 1, f"found {lines[0][:80]!r}, expected {MAGIC!r}")
    link = _LINK.fullmatch(lines[1]) if len(lines) > 1 else None
    if link is None:
        raise _refusal(source, 2, "expected the word link and a sha256")
    if lines[-1]:
        raise _refusal(source, len(lines), "the last line has no end: is the file cut off?")
    names = lines[2:-1]
    if not names:
        raise _refusal(source, 3, "a list without any function")
    for number, name in enumerate(names, 3):
        if not is_linkable(name):
            raise _refusal(source, number, f"found {name[:80]!r}, expected a linkage name")
    for number, (before, after) in enumerate(pairwise(names), 4):
        if before >= after:
            raise _refusal(source, number, f"{after[:80]!r} does not come after the line before")
    return FunctionList(link_sha256=link[1], names=tuple(names))


def _refusal(source: str, line: int, said: str) -> InputError:
    return InputError(f"{source}:{line}: {said}", hint=_HINT)
