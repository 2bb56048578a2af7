"""What a linked file holds, and what refers to what: reachability, chains, dominators.

A part is what a linker keeps or drops as one: a section of an object or, without a link map, a
symbol. References are edges between parts, by number. Numbers fit into arrays, so a program with
some hundred thousand functions takes seconds. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from megtrim.util.value import Value

Mask = NDArray[np.bool_]
"""Whether each part is meant, by its number."""
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
    """By address."""
    origins: Numbers
    """Which part each reference is in."""
    targets: Numbers
    """Which part it is to. Sorted by origin and target, each pair once, none to itself."""
    roots: Mapping[int, str]
    """Parts that nothing must refer to, and why each stays: ``entry point``."""
    by_name: Mapping[str, int] = field(init=False, repr=False, compare=False)
    """The part of each name; of several parts with one name, the first."""
    sizes: Numbers = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found: dict[str, int] = {}
        for number, part in enumerate(self.parts):
            for name in part.names:
                found.setdefault(name, number)
        object.__setattr__(self, "by_name", found)
        sizes = np.fromiter((each.size_bytes for each in self.parts), np.int64)
        object.__setattr__(self, "sizes", sizes)

    def select(self, numbers: Iterable[int]) -> Mask:
        mask = np.zeros(len(self.parts), dtype=bool)
        mask[list(numbers)] = True
        return mask

    def find(self, names: Iterable[str]) -> frozenset[int]:
        """Names that it does not have are left out."""
        return frozenset(self.by_name[name] for name in names if name in self.by_name)

    def referrers(self, number: int) -> tuple[int, ...]:
        return tuple(int(each) for each in self.origins[self.targets == number])

    def references(self, number: int) -> tuple[int, ...]:
        return tuple(target for _, target in self.iter_references(number))

    def iter_references(self, number: int) -> Iterator[tuple[int, int]]:
        """Yield the place among all references, and the part, of what a part refers to."""
        first, last = np.searchsorted(self.origins, [number, number + 1]).tolist()
        yield from zip(range(first, last), self.targets[first:last].tolist(), strict=True)

    def sort(self, numbers: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(numbers, key=lambda number: (-int(self.sizes[number]), number)))

    def reach(
        self, starts: Iterable[int], *, emptied: Mask | None = None, cut: Mask | None = None
    ) -> Mask:
        """Return what ``starts`` reach by any number of references, and themselves.

        What is ``emptied`` is reached, and refers to nothing: its code is replaced by a trap.
        References that are ``cut``, by their numbers, do not count.
        """
        return self._search(starts, emptied, cut)[0]

    def count_bytes(self, mask: Mask) -> int:
        return int(self.sizes[mask].sum())

    def chains(self, starts: Iterable[int], *, emptied: Mask | None = None) -> Chains:
        """Find the shortest chain of references to each part."""
        _, order, before = self._search(starts, emptied)
        return Chains(order=order, before=before)

    def without(
        self, gone: Collection[int], starts: Iterable[int], *, emptied: Mask | None = None
    ) -> Mask:
        """Return what would go with ``gone``: they, and what only they reach."""
        starts = tuple(starts)
        cut = self.select(gone) if emptied is None else self.select(gone) | emptied
        left = self.reach((each for each in starts if each not in gone), emptied=cut)
        left[list(gone)] = False
        return self.reach(starts, emptied=emptied) & ~left

    def _search(
        self, starts: Iterable[int], emptied: Mask | None, cut: Mask | None = None
    ) -> tuple[Mask, NDArray[np.int32], NDArray[np.int32]]:
        """Search from a part of its own that refers to all ``starts``."""
        above = len(self.parts)
        first = np.array(sorted({*starts}), dtype=np.int64)
        origins, targets = self.origins, self.targets
        stays = np.ones(len(origins), dtype=bool) if cut is None else ~cut
        if emptied is not None:
            stays &= ~emptied[origins]
        origins, targets = origins[stays], targets[stays]
        origins = np.concatenate((origins, np.full(len(first), above)))
        targets = np.concatenate((targets, first))
        weights = np.ones(len(origins), dtype=np.int8)
        shape = (above + 1, above + 1)
        matrix: Any = scipy.sparse.csr_matrix((weights, (origins, targets)), shape=shape)
        order, before = scipy.sparse.csgraph.breadth_first_order(
            matrix, above, return_predecessors=True
        )
        mask = np.zeros(above + 1, dtype=bool)
        mask[order] = True
        return mask[:above], order, before


class Chains(Value):
    order: NDArray[np.int32]
    before: NDArray[np.int32]
    """Which part refers to each part in its chain."""

    def to(self, number: int) -> tuple[int, ...]:
        """Empty if nothing reaches it."""
        above = len(self.before) - 1
        chain = []
        while number not in (above, _NONE):
            chain.append(number)
            number = int(self.before[number])
        return tuple(reversed(chain)) if number == above else ()


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


class Dominators(Value):
    above: Numbers
    """The closest part that dominates each part; -1: none, or it is not reached."""
    order: tuple[int, ...]
    """The parts that are reached, each after the part that dominates it."""

    def retained_bytes(self, sizes: Numbers) -> Numbers:
        """The bytes of each part and of all that it dominates."""
        totals = np.zeros(len(sizes), dtype=np.int64)
        totals[list(self.order)] = sizes[list(self.order)]
        for each in reversed(self.order):
            if (above := int(self.above[each])) >= 0:
                totals[above] += totals[each]
        return totals


def find_dominators(
    graph: ReferenceGraph, starts: Iterable[int], *, emptied: Mask | None = None
) -> Dominators:
    """The algorithm is that of Cooper, Harvey and Kennedy (2001).

    In reverse post-order, each part's dominator is the closest common one of those that refer to
    it, until nothing changes.
    """
    top = len(graph.parts)
    following = _successors(graph, starts, emptied)
    post = _post_order(following, top)
    rank = {number: at for at, number in enumerate(post)}
    before: dict[int, list[int]] = {number: [] for number in post}
    for number in post:
        for each in following.get(number, ()):
            before[each].append(rank[number])
    dominator = [-1] * len(post)
    last = len(post) - 1
    dominator[last] = last
    changed = True
    while changed:
        changed = False
        for at in range(last - 1, -1, -1):
            found = -1
            for each in before[post[at]]:
                if dominator[each] >= 0:
                    found = each if found < 0 else _meet(dominator, each, found)
            if dominator[at] != found:
                dominator[at] = found
                changed = True
    above = np.full(top, -1, dtype=np.int64)
    for at, number in enumerate(post[:-1]):
        above[number] = post[dominator[at]] if dominator[at] != last else -1
    return Dominators(above=above, order=tuple(reversed(post[:-1])))


def _successors(
    graph: ReferenceGraph, starts: Iterable[int], emptied: Mask | None
) -> dict[int, list[int]]:
    """Return what each part refers to, with a part of its own above the starts."""
    bounds = np.searchsorted(graph.origins, np.arange(len(graph.parts) + 1)).tolist()
    targets = graph.targets.tolist()
    cut = set() if emptied is None else {*np.flatnonzero(emptied).tolist()}
    found = {
        number: targets[bounds[number] : bounds[number + 1]]
        for number in range(len(graph.parts))
        if number not in cut and bounds[number] < bounds[number + 1]
    }
    return found | {len(graph.parts): sorted({*starts})}


def _post_order(following: dict[int, list[int]], top: int) -> list[int]:
    seen, order = {top}, []
    ahead = [(top, iter(following[top]))]
    while ahead:
        number, rest = ahead[-1]
        fresh = next((each for each in rest if each not in seen), None)
        if fresh is None:
            order.append(number)
            ahead.pop()
        else:
            seen.add(fresh)
            ahead.append((fresh, iter(following.get(fresh, ()))))
    return order


def _meet(dominator: list[int], one: int, two: int) -> int:
    """Both are given by their ranks."""
    while one != two:
        while one < two:
            one = dominator[one]
        while two < one:
            two = dominator[two]
    return one


UNREACHED = "nothing refers to it: the linker keeps its whole object"


class Explanation(Value):
    size_bytes: int
    root: str
    chain: tuple[int, ...]
    """The shortest from a root to the largest of them; empty if none leads there."""
    referrers: tuple[int, ...]
    """The other parts that refer to them, the largest first."""
    retained_bytes: int
    """What would go with them: their own bytes, and those that only they lead to."""
    retained: tuple[int, ...]
    """What they alone keep, the largest first."""


def explain(parts: Iterable[int], graph: ReferenceGraph) -> Explanation:
    """What a linker keeps without any reference to it, such as all sections of an object where it
    collects no garbage, has no chain; its own bytes are all that would go.
    """
    asked = graph.sort({*parts})
    own = graph.select(asked)
    chain = graph.chains(graph.roots).to(asked[0])
    gone = graph.without(asked, graph.roots) | own
    callers = np.unique(graph.origins[own[graph.targets] & ~own[graph.origins]])
    return Explanation(
        size_bytes=graph.count_bytes(own),
        root=graph.roots[chain[0]] if chain else UNREACHED,
        chain=chain,
        referrers=graph.sort(callers.tolist()),
        retained_bytes=graph.count_bytes(gone),
        retained=graph.sort(np.flatnonzero(gone & ~own).tolist()),
    )
