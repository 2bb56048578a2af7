"""The file that says which functions of one link ran in one run.

    megtrim functions v1
    link 6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d
    _ZN3mgb12tensor_stats4nextEv
    ...

Names are sorted, each on its line: of :mod:`megtrim.functions.observables`, those that ran. The
file is made beside a program that anybody may have built, and comes from other machines: every
line is held to what a linker script may hold. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from megtrim.errors import ProductFailure
from megtrim.functions.link_files import (
    FIRST,
    MAX_BYTES,
    check_names,
    dump_lines,
    parse_lines,
    refusal,
)
from megtrim.functions.observables import Observables
from megtrim.input_files import read_bytes

MAGIC = "megtrim functions v1"
_HINT = "record the functions again"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionList:
    """What was observed of one run of one link."""

    link_sha256: str
    """The link identity: of what :func:`megtrim.elf.function_table.link_identity` names."""
    names: tuple[str, ...]
    """Linkage names, sorted and unique, at least one; internal functions too."""


def function_list(observables: Observables, ran: Iterable[str]) -> FunctionList:
    """Return the list of a run of the functions ``ran``: the same, whoever recorded it.

    Raises ProductFailure where nothing is left: a build from it would keep nothing.
    """
    needed = observables.ran(ran)
    if not needed:
        msg = "a list without any function, so nothing would be kept for it"
        raise ProductFailure(msg, hint=_HINT)
    return FunctionList(link_sha256=observables.link_sha256, names=needed)


def dump_list(functions: FunctionList) -> str:
    """Return the text of a list. Equal values give equal text."""
    return dump_lines(MAGIC, functions.link_sha256, functions.names)


def read_list(path: Path) -> FunctionList:
    """Read a list's file. Raises InputError."""
    expected = "a list of functions"
    data = read_bytes(path, most_bytes=MAX_BYTES, expected=expected, hint=_HINT)
    return parse_list(data, source=str(path))


def parse_list(data: bytes, *, source: str) -> FunctionList:
    """Read what ``dump_list`` wrote. Raises InputError naming ``source:line`` for all else."""
    link, names = parse_lines(data, magic=MAGIC, source=source, hint=_HINT)
    if not names:
        raise refusal(source, FIRST, "a list without any function", _HINT)
    for number, name in enumerate(names, FIRST):
        check_names((name,), source=source, line=number, hint=_HINT)
    for number, (before, after) in enumerate(pairwise(names), FIRST + 1):
        if before >= after:
            said = f"{after[:80]!r} does not come after the line before"
            raise refusal(source, number, said, _HINT)
    return FunctionList(link_sha256=link, names=tuple(names))
