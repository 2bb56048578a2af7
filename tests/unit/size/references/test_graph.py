"""What refers to what in a linked file."""

from __future__ import annotations

import numpy as np

from megtrim.size.references.graph import Mask
from unit.size.references.made_graphs import (
    LOG,
    MUL,
    OLD,
    RELIC,
    RUN,
    START,
    TABLE,
    made_graph,
    made_part,
    make_graph,
)


def _numbers(mask: Mask) -> set[int]:
    return {*np.flatnonzero(mask).tolist()}


def test_what_the_roots_reach_is_what_a_linker_keeps() -> None:
    """What only an unreachable part refers to is not reached either."""
    graph = made_graph()

    reached = graph.reach(graph.roots)

    assert _numbers(reached) == {START, RUN, MUL, TABLE, LOG}
    assert graph.count_bytes(reached) == 10 + 20 + 40 + 80 + 160


def test_an_emptied_function_refers_to_nothing() -> None:
    """Its callers still lead to it, so it is reached, but nothing that it called is."""
    graph = made_graph()

    reached = graph.reach(graph.roots, emptied=graph.select([MUL]))

    assert _numbers(reached) == {START, RUN, MUL, LOG}


def test_what_goes_with_a_part_is_what_it_alone_reaches() -> None:
    """The log has another referrer, the table has not."""
    graph = made_graph()

    assert _numbers(graph.without([RUN], graph.roots)) == {RUN, MUL, TABLE}
    assert _numbers(graph.without([OLD], graph.roots)) == set()


def test_the_chain_is_the_shortest() -> None:
    """Although a longer one leads through ``run``; what nothing reaches has none."""
    graph = made_graph()
    chains = graph.chains(graph.roots)

    assert chains.to(LOG) == (START, LOG)
    assert chains.to(TABLE) == (START, RUN, MUL, TABLE)
    assert chains.to(START) == (START,)
    assert chains.to(RELIC) == ()


def test_both_ends_of_a_reference_are_found() -> None:
    """A part that refers to itself does not count, nor does the same reference again."""
    graph = made_graph((MUL, MUL), (RUN, MUL))

    assert graph.referrers(LOG) == (START, RUN)
    assert graph.references(RUN) == (MUL, LOG)
    assert graph.find(("mul", "unknown")) == {MUL}


def test_an_empty_graph_reaches_nothing() -> None:
    """A file may have nothing in memory."""
    graph = make_graph((), (), {})

    assert graph.count_bytes(graph.reach(())) == 0


def test_a_part_without_a_name_shows_its_section() -> None:
    """As other tables of bytes do."""
    part = made_part("f", 1)._replace(names=())

    assert part.name == "[unnamed in .text]"
