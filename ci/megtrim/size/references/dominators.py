"""What each part alone keeps: the dominators of a graph of references.

A part dominates another if every chain from a start to the other leads through it. What it
dominates would go with it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from megtrim.size.references.graph import Mask, Numbers, ReferenceGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class Dominators:
    """The dominators of what some starts reach."""

    above: Numbers
    """The closest part that dominates each part; -1: none, or it is not reached."""
    order: tuple[int, ...]
    """The parts that are reached, each after the part that dominates it."""

    def retained_bytes(self, sizes: Numbers) -> Numbers:
        """Return what would go with each part: its own bytes and those that it dominates."""
        totals = np.zeros(len(sizes), dtype=np.int64)
        totals[list(self.order)] = sizes[list(self.order)]
        for each in reversed(self.order):
            if (above := int(self.above[each])) >= 0:
                totals[above] += totals[each]
        return totals


def find_dominators(
    graph: ReferenceGraph, starts: Iterable[int], *, emptied: Mask | None = None
) -> Dominators:
    """Return the dominators of all that ``starts`` reach; what is ``emptied`` refers to nothing.

    The algorithm is that of Cooper, Harvey and Kennedy (2001): in reverse post-order, each part's
    dominator is the closest common one of those that refer to it, until nothing changes.
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
    """Return the closest common dominator of two, which are given by their ranks."""
    while one != two:
        while one < two:
            one = dominator[one]
        while two < one:
            two = dominator[two]
    return one
