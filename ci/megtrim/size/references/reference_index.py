"""A graph's references as lists, to look up many times from single parts. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from megtrim.size.references.graph import Mask, Numbers, ReferenceGraph


class ReferenceIndex:
    """The references of a graph, all or those of a mask."""

    def __init__(
        self, graph: ReferenceGraph, *, chosen: Mask | None = None, sizes: Numbers | None = None
    ) -> None:
        """Sort them. ``sizes``: what parts take, where that is not their own bytes."""
        count = len(graph.parts)
        origins, targets = graph.origins, graph.targets
        if chosen is not None:
            origins, targets = origins[chosen], targets[chosen]
        self._targets = targets.tolist()
        self._bounds = np.searchsorted(origins, np.arange(count + 1)).tolist()
        order = np.argsort(targets, kind="stable")
        self._origins = origins[order].tolist()
        self._starts = np.searchsorted(targets[order], np.arange(count + 1)).tolist()
        self._sizes = (graph.sizes if sizes is None else sizes).tolist()

    def referrers(self, number: int) -> tuple[int, ...]:
        """Return the parts that refer to this one."""
        return tuple(self._origins[self._starts[number] : self._starts[number + 1]])

    def closure(self, starts: Iterable[int], kept: Mask, within_bytes: int) -> list[int] | None:
        """Return parts and all that they lead to and that is not kept; None: more bytes."""
        found = dict.fromkeys(starts)
        ahead, left_bytes = [*found], within_bytes
        while ahead:
            each = ahead.pop()
            left_bytes -= self._sizes[each]
            if left_bytes < 0:
                return None
            for target in self._targets[self._bounds[each] : self._bounds[each + 1]]:
                if target not in found and not kept[target]:
                    found[target] = None
                    ahead.append(target)
        return list(found)
