"""The functions of a link that every recorder can observe, so that all record the same list.

An emulator's log contains all code that runs; probes only record functions that start after their
runtime. Functions that one of them may miss stay in every link, and are on no list. The others are
grouped by the code that they share (aliases, entries into one another, the part that GCC splits
off): a group runs as one, and is kept or left out as one. So the list of a run of a link is the
same for every recorder.

    megtrim observables v1
    link 6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d
    _ZN3mgb12tensor_stats4nextEv
    _ZN3mgb5GraphC1Ev _ZN3mgb5GraphC2Ev

One group a line, sorted. The file is sent to device jobs, so each name must be allowed in a linker
script. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from megtrim.elf.symbol_names import is_linkable
from megtrim.elf.symbol_table import COLD, FunctionTable, link_identity
from megtrim.functions.link_files import (
    FIRST,
    MAX_BYTES,
    check_names,
    dump_lines,
    parse_lines,
    refusal,
)
from megtrim.util.input_files import read_bytes

MAGIC = "megtrim observables v1"
_HINT = "it is written with each link: trim again"
_OURS = "megtrim_"
_BEFORE_PROBES = frozenset(
    {
        # On the way to the runtime's own start, or assembled from pieces of several files.
        *("_start", "_start_c", "_start_main", "_init", "_fini", "__libc_start_main"),
        # A loader calls a program's own allocator before anything else of the program runs.
        *("malloc", "calloc", "realloc", "reallocarray", "free", "cfree", "malloc_usable_size"),
        *("aligned_alloc", "memalign", "posix_memalign", "valloc", "pvalloc"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observables:
    """The observable functions of one link."""

    link_sha256: str
    """The link identity, see :func:`megtrim.elf.symbol_table.link_identity`."""
    groups: tuple[tuple[str, ...], ...]
    """Names of functions that share code, sorted; each name in one group."""

    def names(self) -> frozenset[str]:
        """Return all names."""
        return frozenset(name for group in self.groups for name in group)

    def ran(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the observed functions of a run of ``names``, sorted: whole groups only."""
        seen = {*names}
        return tuple(
            sorted(name for each in self.groups if not seen.isdisjoint(each) for name in each)
        )


def observables(program_sha256: str, table: FunctionTable, hidden: Collection[str]) -> Observables:
    """Return the observable functions of an unfolded link.

    ``program_sha256`` is the digest of the stripped program. ``hidden`` are functions that some
    recorder misses: those that cannot have a probe, and those of a static program's C library.
    """
    unseen = {*hidden, *table.ifuncs, *_BEFORE_PROBES, *_find_unsized(table)}
    unseen |= {each.name for each in table.at(table.entry)}
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
    """Return functions without size inside another: no address shows which of them ran."""
    return frozenset(
        each.name
        for each in table.functions
        if not each.size_bytes and any(other.size_bytes for other in table.at(each.address))
    )


def _sharing_code(table: FunctionTable) -> Iterable[tuple[str, ...]]:
    """Return all names, grouped by the code that they share."""
    above: dict[str, str] = {each.name: each.name for each in table.functions}

    def first(name: str) -> str:
        while above[name] != name:
            above[name] = name = above[above[name]]
        return name

    end, last = 0, ""
    for each in table.functions:
        if each.size_bytes and each.address < end:
            above[first(each.name)] = first(last)
        if each.address + each.size_bytes > end:
            end, last = each.address + each.size_bytes, each.name
        part = COLD.fullmatch(each.name)
        if part and part[1] in above:
            above[first(each.name)] = first(part[1])
    found = defaultdict(list)
    for name in sorted(above):
        found[first(name)].append(name)
    return map(tuple, found.values())


def dump_observables(found: Observables) -> str:
    """Return the text of the file. Equal values give equal text."""
    return dump_lines(MAGIC, found.link_sha256, map(" ".join, found.groups))


def read_observables(path: Path) -> Observables:
    """Read the file at ``path``. Raises InputError."""
    expected = "a list of observable functions"
    data = read_bytes(path, most_bytes=MAX_BYTES, expected=expected, hint=_HINT)
    return parse_observables(data, source=str(path))


def parse_observables(data: bytes, *, source: str) -> Observables:
    """Parse what ``dump_observables`` wrote. Raises InputError naming ``source:line``."""
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
    for number, (before, after) in enumerate(pairwise(groups), FIRST + 1):
        if before >= after:
            raise refusal(source, number, "does not come after the line before", _HINT)
    return Observables(link_sha256=link, groups=groups)
