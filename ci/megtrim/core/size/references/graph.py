"""What a linked file holds, and what refers to what: reachability, chains, dominators. Pure.

A part is what a linker keeps or drops as one: a section of an object or, without a link map, a
symbol. Numbers fit into arrays, so a program with some hundred thousand functions takes seconds.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from megtrim.libs.util.value import Value

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]
_NONE = -9999


class Part(NamedTuple):
    names: tuple[str, ...]
    """Linkage names of what it holds, the largest first; empty if nothing names it."""
    section: str
    source: str
    """Object, or archive and member as in the link map; empty if it is not known."""
    size_bytes: int
    """In the file, with what only serves it: its unwind entry, and relocations for the loader."""

    @property
    def name(self) -> str:
        return self.names[0] if self.names else f"[unnamed in {self.section}]"


class ReferenceGraph(Value):
    parts: tuple[Part, ...]
    origins: Numbers
    """Which part each reference is in."""
    targets: Numbers
    """Which part it is to. Sorted by origin and target, each pair once, none to itself."""
    roots: Mapping[int, str]
    """Parts that nothing must refer to, and why each stays: ``entry point``."""

    @cached_property
    def by_name(self) -> Mapping[str, int]:
        numbered = reversed([*enumerate(self.parts)])
        return {name: number for number, part in numbered for name in part.names}

    @cached_property
    def sizes(self) -> Numbers:
        return np.fromiter((part.size_bytes for part in self.parts), np.int64)

    def select(self, numbers: Iterable[int]) -> Mask:
        mask = np.zeros(len(self.parts), dtype=bool)
        mask[list(numbers)] = True
        return mask

    def find(self, names: Iterable[str]) -> frozenset[int]:
        return frozenset(self.by_name[name] for name in names if name in self.by_name)

    def iter_references(self, number: int) -> Iterator[tuple[int, int]]:
        first, last = np.searchsorted(self.origins, [number, number + 1]).tolist()
        yield from zip(range(first, last), self.targets[first:last].tolist(), strict=True)

    def sort(self, numbers: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(numbers, key=lambda number: (-int(self.sizes[number]), number)))

    def reach(
        self, starts: Iterable[int], *, emptied: Mask | None = None, cut: Mask | None = None
    ) -> Mask:
        """Return what ``starts`` reach, and them. ``emptied`` refers to nothing, nor do ``cut``."""
        return self._search(starts, emptied, cut)[0]

    def count_bytes(self, mask: Mask) -> int:
        return int(self.sizes[mask].sum())

    def chain(self, starts: Iterable[int], number: int) -> tuple[int, ...]:
        """Return the shortest chain of references to a part, from its start; empty: none."""
        _, before = self._search(starts)
        above = len(self.parts)
        chain = []
        while number not in (above, _NONE):
            chain.append(number)
            number = int(before[number])
        return tuple(reversed(chain)) if number == above else ()

    def without(self, gone: Collection[int], starts: Collection[int]) -> Mask:
        """Return what would go with ``gone``: they, and what only they reach."""
        left = self.reach({*starts}.difference(gone), emptied=self.select(gone))
        left[list(gone)] = False
        return self.reach(starts) & ~left

    def _search(
        self, starts: Iterable[int], emptied: Mask | None = None, cut: Mask | None = None
    ) -> tuple[Mask, NDArray[np.int32]]:
        """Search from a part of its own that refers to all ``starts``; also return predecessors."""
        above = len(self.parts)
        first = np.array(sorted({*starts}), dtype=np.int64)
        stays = np.ones(len(self.origins), dtype=bool) if cut is None else ~cut
        if emptied is not None:
            stays &= ~emptied[self.origins]
        origins = np.concatenate((self.origins[stays], np.full(len(first), above)))
        targets = np.concatenate((self.targets[stays], first))
        weights = np.ones(len(origins), dtype=np.int8)
        shape = (above + 1, above + 1)
        matrix: Any = scipy.sparse.csr_matrix((weights, (origins, targets)), shape=shape)
        order, before = scipy.sparse.csgraph.breadth_first_order(
            matrix, above, return_predecessors=True
        )
        mask = np.zeros(above + 1, dtype=bool)
        mask[order] = True
        return mask[:above], before


def join(
    parts: tuple[Part, ...], origins: Numbers, targets: Numbers, roots: Mapping[int, str]
) -> ReferenceGraph:
    others = origins != targets
    keys = np.unique(origins[others] * len(parts) + targets[others])
    return ReferenceGraph(
        parts=parts,
        origins=keys // max(len(parts), 1),
        targets=keys % max(len(parts), 1),
        roots=roots,
    )


def count_retained(graph: ReferenceGraph, starts: Iterable[int]) -> Numbers:
    """Return what would go with each part: its own bytes, and those of all that it dominates.

    By Cooper, Harvey and Kennedy (2001). What ``starts`` do not reach has none.
    """
    bounds = np.searchsorted(graph.origins, np.arange(len(graph.parts) + 1)).tolist()
    targets = graph.targets.tolist()
    following = [targets[first:last] for first, last in pairwise(bounds)]
    following.append(sorted({*starts}))  # those of a part of its own, above the starts
    post = _post_order(following)
    rank = {number: at for at, number in enumerate(post)}
    before: dict[int, list[int]] = {number: [] for number in post}
    for number in post:
        for target in following[number]:
            before[target].append(rank[number])
    last = len(post) - 1
    dominator = [-1] * last + [last]
    changed = True
    while changed:
        changed = False
        for at in range(last - 1, -1, -1):
            found = -1
            for one in before[post[at]]:
                if dominator[one] >= 0:
                    found = one if found < 0 else _meet(dominator, one, found)
            changed |= dominator[at] != found
            dominator[at] = found
    totals = np.zeros(len(graph.parts) + 1, dtype=np.int64)
    totals[post[:-1]] = graph.sizes[post[:-1]]
    for at, number in enumerate(post[:-1]):
        totals[post[dominator[at]]] += totals[number]
    return totals[:-1]


def _post_order(following: list[list[int]]) -> list[int]:
    top = len(following) - 1
    seen = {top}
    order = []
    ahead = [(top, iter(following[top]))]
    while ahead:
        number, rest = ahead[-1]
        fresh = next((target for target in rest if target not in seen), None)
        if fresh is None:
            order.append(number)
            ahead.pop()
        else:
            seen.add(fresh)
            ahead.append((fresh, iter(following[fresh])))
    return order


def _meet(dominator: list[int], one: int, two: int) -> int:
    while one != two:
        one, two = (dominator[one], two) if one < two else (one, dominator[two])
    return one


UNREACHED = "nothing refers to it: the linker keeps its whole object"


class Explanation(Value):
    size_bytes: int
    root: str
    chain: tuple[int, ...]
    """The shortest from a root to the largest of them; empty if none leads there."""
    referrers: tuple[int, ...]
    retained_bytes: int
    """What would go with them: their own bytes, and those that only they lead to."""
    retained: tuple[int, ...]


def explain(parts: Iterable[int], graph: ReferenceGraph) -> Explanation:
    """What a linker keeps without any reference has no chain; its own bytes are all that go."""
    asked = graph.sort({*parts})
    own = graph.select(asked)
    chain = graph.chain(graph.roots, asked[0])
    gone = graph.without(asked, graph.roots) | own
    into_own = own[graph.targets] & ~own[graph.origins]
    callers = np.unique(graph.origins[into_own])
    retained = np.flatnonzero(gone & ~own)
    return Explanation(
        size_bytes=graph.count_bytes(own),
        root=graph.roots[chain[0]] if chain else UNREACHED,
        chain=chain,
        referrers=graph.sort(callers.tolist()),
        retained_bytes=graph.count_bytes(gone),
        retained=graph.sort(retained.tolist()),
    )
