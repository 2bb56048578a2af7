"""References, looked up from single parts."""

from __future__ import annotations

import numpy as np

from megtrim.size.references.reference_index import ReferenceIndex
from unit.size.references.made_graphs import LOG, MUL, RUN, START, TABLE, made_graph


def test_a_part_has_referrers() -> None:
    """All of them, or those by chosen references."""
    graph = made_graph()
    from_start = graph.origins == START

    assert ReferenceIndex(graph).referrers(LOG) == (START, RUN)
    assert ReferenceIndex(graph, chosen=from_start).referrers(LOG) == (START,)


def test_a_closure_ends_at_what_is_kept_or_is_too_much() -> None:
    """By the parts' own bytes, or by others."""
    graph = made_graph()
    kept = graph.select([START, LOG])
    links = ReferenceIndex(graph)

    assert sorted(links.closure([RUN], kept, 140) or ()) == [RUN, MUL, TABLE]
    assert links.closure([RUN], kept, 139) is None
    assert links.closure([], kept, 0) == []
    ones = np.ones(len(graph.parts), dtype=np.int64)
    assert links.closure([RUN], kept, 2) is None
    assert len(ReferenceIndex(graph, sizes=ones).closure([RUN, MUL], kept, 3) or ()) == 3
