"""The functions of a link that every recorder can observe, so that all record the same list.

An emulator's log contains all code that runs; probes miss what starts before their runtime. What
one of them may miss stays in every link, and is on no list. The others are grouped by the code
that they share (aliases, entries into one another, the part that GCC splits off).

megtrim observables v1
link 6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d
_ZN3mgb12tensor_stats4nextEv
_ZN3mgb5GraphC1Ev _ZN3mgb5GraphC2Ev

One group a line, sorted. Those that ran are listed alike, one name a line, under the heading
``megtrim functions v1``. Names must be allowed in a linker script. Pure.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from megtrim.libs.elf.symbol_names import is_linkable
from megtrim.libs.elf.symbol_table import COLD, FunctionTable, link_identity
from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.value import Value

MAX_BYTES = 256 * 1024 * 1024
FIRST = 3
_LINK = re.compile(r"link ([0-9a-f]{64})")


def parse_lines(data: bytes, *, magic: str, source: str, hint: str) -> tuple[str, list[str]]:
    """Return the link that a file belongs to, and its lines. Raises InputError."""
    if len(data) > MAX_BYTES:
        raise refusal(source, 1, f"more than {MAX_BYTES} bytes", hint)
    # Names are ASCII; anything else is escaped for the message.
    lines = data.decode("ascii", "backslashreplace").split("\n")
    if lines[0] != magic:
        raise refusal(source, 1, f"found {lines[0][:80]!r}, expected {magic!r}", hint)
    link = _LINK.fullmatch(lines[1]) if len(lines) > 1 else None
    if link is None:
        raise refusal(source, 2, "expected the word link and a sha256", hint)
    if lines[-1]:
        problem = "the last line does not end with a newline: is the file truncated?"
        raise refusal(source, len(lines), problem, hint)
    return link[1], lines[FIRST - 1 : -1]


def check_names(names: Sequence[str], *, source: str, line: int, hint: str) -> None:
    for name in names:
        if not is_linkable(name):
            raise refusal(source, line, f"found {name[:80]!r}, expected a linkage name", hint)


def refusal(source: str, line: int, problem: str, hint: str) -> InputError:
    return InputError(f"{source}:{line}: {problem}", hint=hint)


MAGIC = "megtrim observables v1"
_HINT = "it is written with each link: trim again"
_OURS = "megtrim_"
_BEFORE_PROBES = frozenset(
    {
        # On the way to the runtime's own start, or assembled from pieces of several files.
        "_start",
        "_start_c",
        "_start_main",
        "_init",
        "_fini",
        "__libc_start_main",
        # A loader calls a program's own allocator before anything else of the program runs.
        "malloc",
        "calloc",
        "realloc",
        "reallocarray",
        "free",
        "cfree",
        "malloc_usable_size",
        "aligned_alloc",
        "memalign",
        "posix_memalign",
        "valloc",
        "pvalloc",
    }
)


class Observables(Value):
    link_sha256: str
    """The link identity, see :func:`megtrim.libs.elf.symbol_table.link_identity`."""
    groups: tuple[tuple[str, ...], ...]
    """Names of functions that share code, sorted; each name in one group."""

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(name for group in self.groups for name in group)

    def ran(self, names: Iterable[str]) -> tuple[str, ...]:
        seen = {*names}
        return tuple(
            sorted(name for group in self.groups if not seen.isdisjoint(group) for name in group)
        )


def observables(program_sha256: str, table: FunctionTable, hidden: Collection[str]) -> Observables:
    """``program_sha256`` is of the stripped program; some recorder misses the ``hidden``.

    Exports stay, and other files may call them before a recorder is ready.
    """
    unseen = {*hidden, *table.ifuncs, *_BEFORE_PROBES, *_find_unsized(table)}
    unseen |= {each.name for each in table.at(table.entry)}
    unseen |= table.exported
    groups = tuple(
        sorted(
            group
            for group in _sharing_code(table)
            if unseen.isdisjoint(group)
            and all(is_linkable(name) and not name.startswith(_OURS) for name in group)
        )
    )
    identity = link_identity(program_sha256, table, map(" ".join, groups))
    return Observables(link_sha256=identity, groups=groups)


def _find_unsized(table: FunctionTable) -> frozenset[str]:
    return frozenset(
        function.name
        for function in table.functions
        if not function.size_bytes and any(other.size_bytes for other in table.at(function.address))
    )


def _sharing_code(table: FunctionTable) -> Iterable[tuple[str, ...]]:
    above: dict[str, str] = {function.name: function.name for function in table.functions}

    def first(name: str) -> str:
        while above[name] != name:
            above[name] = name = above[above[name]]
        return name

    end = 0
    last = ""
    for function in table.functions:
        if function.size_bytes and function.address < end:
            above[first(function.name)] = first(last)
        if function.address + function.size_bytes > end:
            end = function.address + function.size_bytes
            last = function.name
        part = COLD.fullmatch(function.name)
        if part and part[1] in above:
            above[first(function.name)] = first(part[1])
    found = defaultdict(list)
    for name in sorted(above):
        found[first(name)].append(name)
    return map(tuple, found.values())


def _expect_ascending(lines: Sequence[str], *, source: str, hint: str) -> None:
    for number, (before, after) in enumerate(pairwise(lines), FIRST + 1):
        if before >= after:
            problem = f"{after[:80]!r} does not come after the line before"
            raise refusal(source, number, problem, hint)


def dump_observables(found: Observables) -> str:
    lines = map(" ".join, found.groups)
    return "\n".join([MAGIC, f"link {found.link_sha256}", *lines, ""])


def read_observables(path: Path) -> Observables:
    expected = "a list of observable functions"
    data = read_bytes(path, most_bytes=MAX_BYTES, expected=expected, hint=_HINT)
    return parse_observables(data, source=str(path))


def parse_observables(data: bytes, *, source: str) -> Observables:
    link, lines = parse_lines(data, magic=MAGIC, source=source, hint=_HINT)
    groups = tuple(tuple(line.split(" ")) for line in lines)
    known: set[str] = set()
    for number, group in enumerate(groups, FIRST):
        check_names(group, source=source, line=number, hint=_HINT)
        if not known.isdisjoint(group) or len({*group}) < len(group):
            raise refusal(source, number, "a name occurs twice", _HINT)
        known.update(group)
        if list(group) != sorted(group):
            raise refusal(source, number, "its names are not sorted", _HINT)
    _expect_ascending(lines, source=source, hint=_HINT)
    return Observables(link_sha256=link, groups=groups)


LIST_MAGIC = "megtrim functions v1"
_LIST_HINT = "record the functions again"


class FunctionList(Value):
    link_sha256: str
    names: tuple[str, ...]
    """Linkage names, sorted and unique, at least one; also of local functions."""


def function_list(observables: Observables, ran: Iterable[str]) -> FunctionList:
    """Raises ProductFailure for an empty list: a build from it would keep nothing."""
    needed = observables.ran(ran)
    if not needed:
        msg = "none of the listed functions ran, so nothing would be kept for it"
        raise ProductFailure(msg, hint=_LIST_HINT)
    return FunctionList(link_sha256=observables.link_sha256, names=needed)


def dump_list(functions: FunctionList) -> str:
    return "\n".join([LIST_MAGIC, f"link {functions.link_sha256}", *functions.names, ""])


def read_list(path: Path) -> FunctionList:
    expected = "a list of functions"
    data = read_bytes(path, most_bytes=MAX_BYTES, expected=expected, hint=_LIST_HINT)
    return parse_list(data, source=str(path))


def parse_list(data: bytes, *, source: str) -> FunctionList:
    link, names = parse_lines(data, magic=LIST_MAGIC, source=source, hint=_LIST_HINT)
    if not names:
        raise refusal(source, FIRST, "a list without any function", _LIST_HINT)
    for number, name in enumerate(names, FIRST):
        check_names((name,), source=source, line=number, hint=_LIST_HINT)
    _expect_ascending(names, source=source, hint=_LIST_HINT)
    return FunctionList(link_sha256=link, names=tuple(names))
