"""Which functions were left out of a program, and how what remains of it leads to them.

It is all that a lookup needs of the link that has every function: a release has it in place of that
link, one list for each program. The document holds names once, sorted, and refers to them by their
index. Linkage names are long and begin alike, so each is written as the number of letters that it
shares with the one before it, a blank, and the rest: a third of the bytes. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from megtrim.strict_json import dump, load

VERSION = 2
_MOST_LETTERS = 256 * 1024 * 1024
"""Of all names of a list: a damaged one could stand for any number of them."""
_DIGITS = 9
HINT = "another version of megtrim wrote it, or it was damaged: fetch the release again"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutFunctions:
    """The functions that were left out of a program; names are linkage names, sorted."""

    names: tuple[str, ...] = ()
    reachable: tuple[str, ...] = ()
    """Those that remaining code or data refers to; all of them where that is not known."""
    calls: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """What each direct call of a trap called before: by the address of the call in the program."""
    callers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What each function that a scenario ran calls of them directly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Caller:
    function: str
    calls: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    """The document; numbers are indices in ``functions``, which has shortened names."""

    version: int = VERSION
    program_sha256: str
    functions: tuple[str, ...]
    reachable: tuple[int, ...]
    calls: tuple[tuple[int, ...], ...]
    """The address of each call, and the functions that it may have called."""
    callers: tuple[_Caller, ...]

    def __post_init__(self) -> None:
        """Refuse what is out of order, twice, or refers to nothing."""
        _expect_sorted("functions", tuple(_iter_whole("functions", self.functions)))
        callers = [each.function for each in self.callers]
        _expect_sorted("callers", tuple(_iter_whole("callers", callers)))
        for at, each in enumerate(self.calls):
            if len(each) < 2:
                msg = f"calls[{at}]: found {len(each)} numbers, expected an address and functions"
                raise ValueError(msg)
        _expect_sorted("calls", [each[0] for each in self.calls])
        lists = (
            ("reachable", self.reachable),
            *((f"calls[{at}]", each[1:]) for at, each in enumerate(self.calls)),
            *((f"callers[{at}].calls", each.calls) for at, each in enumerate(self.callers)),
        )
        for where, indices in lists:
            _expect_sorted(where, indices)
            if indices and indices[-1] >= len(self.functions):
                msg = f"{where}: found {indices[-1]}, expected an index of functions"
                raise ValueError(msg)


def dump_left_out(left_out: LeftOutFunctions, *, program_sha256: str) -> str:
    """Write the list of a program; ``program_sha256`` is the digest of the file that ships."""
    index = {name: at for at, name in enumerate(left_out.names)}

    def refer(names: Iterable[str]) -> tuple[int, ...]:
        return tuple(sorted({index[each] for each in names}))

    callers = sorted(left_out.callers)
    document = _Document(
        program_sha256=program_sha256,
        functions=tuple(_iter_short(left_out.names)),
        reachable=refer(left_out.reachable),
        calls=tuple((at, *refer(names)) for at, names in sorted(left_out.calls.items())),
        callers=tuple(
            _Caller(function=short, calls=refer(left_out.callers[function]))
            for short, function in zip(_iter_short(callers), callers, strict=True)
        ),
    )
    return dump(document)


def parse_left_out(text: str, *, source: str) -> tuple[LeftOutFunctions, str]:
    """Return the list, and the sha256 of the program that it is of.

    Anything but exactly its shape is an InputError naming ``source``.
    """
    read = load(_Document, text, source=source, version=VERSION, hint=HINT)

    functions = tuple(_iter_whole("functions", read.functions))
    callers = _iter_whole("callers", [each.function for each in read.callers])

    def names(indices: Iterable[int]) -> tuple[str, ...]:
        return tuple(functions[each] for each in indices)

    found = LeftOutFunctions(
        names=functions,
        reachable=names(read.reachable),
        calls={each[0]: names(each[1:]) for each in read.calls},
        callers={
            function: names(each.calls)
            for function, each in zip(callers, read.callers, strict=True)
        },
    )
    return found, read.program_sha256


def _iter_short(names: Iterable[str]) -> Iterator[str]:
    """Yield each name as the letters that it shares with the one before it, and the rest."""
    before = ""
    for each in names:
        pairs = enumerate(zip(before, each, strict=False))
        differs = (at for at, (one, two) in pairs if one != two)
        shared = next(differs, min(len(before), len(each)))
        yield f"{shared} {each[shared:]}"
        before = each


def _iter_whole(where: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the names that were shortened. Raises ValueError for what shortens nothing."""
    before, letters = "", 0
    for at, each in enumerate(names):
        number, blank, rest = each.partition(" ")
        shared = int(number) if blank and number.isdecimal() and len(number) < _DIGITS else -1
        if not 0 <= shared <= len(before):
            msg = f"{where}[{at}]: found {each[:60]!r}, expected letters shared, a blank, a name"
            raise ValueError(msg)
        before = before[:shared] + rest
        letters += len(before)
        if letters > _MOST_LETTERS:
            msg = f"{where}: found more than {_MOST_LETTERS} letters, expected names of functions"
            raise ValueError(msg)
        yield before


def _expect_sorted(where: str, values: Sequence[int] | Sequence[str]) -> None:
    if list(values) != sorted({*values}):
        msg = f"{where}: found an entry out of order, or twice, expected each once, sorted"
        raise ValueError(msg)
