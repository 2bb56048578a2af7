"""Which functions were left out of a program, and which of them what remains refers to.

It is all that a lookup needs of the link that has every function: a release has it in place of that
link, one list for each program. The document holds names once, sorted, and refers to them by their
index. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from megtrim.util.strict_json import dump, load

VERSION = 3
HINT = "another version of megtrim wrote it, or it was damaged: fetch the release again"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutFunctions:
    """The functions that were left out of a program; names are linkage names, sorted."""

    names: tuple[str, ...] = ()
    reachable: tuple[str, ...] = ()
    """Those that remaining code or data refers to; all of them where that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    """The document; numbers are indices in ``functions``."""

    version: int = VERSION
    program_sha256: str
    functions: tuple[str, ...]
    reachable: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse what is out of order, twice, or refers to nothing."""
        _expect_sorted("functions", self.functions)
        _expect_sorted("reachable", self.reachable)
        if self.reachable and self.reachable[-1] >= len(self.functions):
            msg = f"reachable: found {self.reachable[-1]}, expected an index of functions"
            raise ValueError(msg)


def dump_left_out(left_out: LeftOutFunctions, *, program_sha256: str) -> str:
    """Write the list of a program; ``program_sha256`` is the digest of the file that ships."""
    index = {name: at for at, name in enumerate(left_out.names)}
    document = _Document(
        program_sha256=program_sha256,
        functions=left_out.names,
        reachable=tuple(sorted({index[each] for each in left_out.reachable})),
    )
    return dump(document)


def parse_left_out(text: str, *, source: str) -> tuple[LeftOutFunctions, str]:
    """Return the list, and the sha256 of the program that it is of.

    Anything but exactly its shape is an InputError naming ``source``.
    """
    read = load(_Document, text, source=source, version=VERSION, hint=HINT)
    reachable = tuple(read.functions[each] for each in read.reachable)
    return LeftOutFunctions(names=read.functions, reachable=reachable), read.program_sha256


def _expect_sorted(where: str, values: Sequence[int] | Sequence[str]) -> None:
    if list(values) != sorted({*values}):
        msg = f"{where}: found an entry out of order, or twice, expected each once, sorted"
        raise ValueError(msg)
