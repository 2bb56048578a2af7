"""Why parts of a linked file are there, who refers to them, and what would go with them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from megtrim.size.references.graph import ReferenceGraph

UNREACHED = "nothing refers to it: the linker keeps its whole object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why some parts are there."""

    size_bytes: int
    """Their own bytes."""
    root: str
    """Why the chain's first part stays."""
    chain: tuple[int, ...]
    """The shortest chain of references from a root to the largest of them; empty if none leads
    there."""
    referrers: tuple[int, ...]
    """The other parts that refer to them, the largest first."""
    retained_bytes: int
    """What would go if they left: their own bytes, and those that only they lead to."""
    retained: tuple[int, ...]
    """What they alone keep, the largest first."""


def explain(parts: Iterable[int], graph: ReferenceGraph) -> Explanation:
    """Return why ``parts``, at least one, are there, and what they keep.

    What a linker keeps without any reference to it, such as all sections of an object where it
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
