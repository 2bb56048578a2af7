"""The file that lists which functions of one link ran in one run.

    megtrim functions v1
    link 6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d
    _ZN3mgb12tensor_stats4nextEv
    ...

Names are sorted, one a line: those of :mod:`megtrim.functions.observables` that ran. The file comes
from other machines, where an untrusted program ran, so each line must be a name that is allowed in
a linker script. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from megtrim.functions.link_files import (
    FIRST,
    MAX_BYTES,
    check_names,
    dump_lines,
    parse_lines,
    refusal,
)
from megtrim.functions.observables import Observables
from megtrim.util.errors import ProductFailure
from megtrim.util.input_files import read_bytes

MAGIC = "megtrim functions v1"
_HINT = "record the functions again"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionList:
    """The functions that ran in one run of one link."""

    link_sha256: str
    """The link identity, see :func:`megtrim.elf.symbol_table.link_identity`."""
    names: tuple[str, ...]
    """Linkage names, sorted and unique, at least one; also of local functions."""


def function_list(observables: Observables, ran: Iterable[str]) -> FunctionList:
    """Return the list for a run of the functions ``ran``: the same for every recorder.

    Raises ProductFailure if it would be empty: a build from it would keep nothing.
    """
    needed = observables.ran(ran)
    if not needed:
        msg = "no function of the list ran, so nothing would be kept for it"
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
    """Parse what ``dump_list`` wrote. Raises InputError naming ``source:line``."""
    link, names = parse_lines(data, magic=MAGIC, source=source, hint=_HINT)
    if not names:
        raise refusal(source, FIRST, "a list without any function", _HINT)
    for number, name in enumerate(names, FIRST):
        check_names((name,), source=source, line=number, hint=_HINT)
    for number, (before, after) in enumerate(pairwise(names), FIRST + 1):
        if before >= after:
            problem = f"{after[:80]!r} does not come after the line before"
            raise refusal(source, number, problem, _HINT)
    return FunctionList(link_sha256=link, names=tuple(names))
