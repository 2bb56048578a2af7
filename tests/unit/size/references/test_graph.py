import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megtrim.size.references.graph import UNREACHED, Mask, count_retained, explain
from megtrim.size.references.linked_file import ENTRY
from unit.size.references.made_graphs import (
    LOG,
    MUL,
    OLD,
    RELIC,
    RUN,
    START,
    TABLE,
    list_targets,
    made_graph,
    made_part,
    make_graph,
)


def _numbers(mask: Mask) -> set[int]:
    return {*np.flatnonzero(mask).tolist()}


def test_what_the_roots_reach_is_what_a_linker_keeps() -> None:
    graph = made_graph()

    reached = graph.reach(graph.roots)

    assert _numbers(reached) == {START, RUN, MUL, TABLE, LOG}
    assert graph.count_bytes(reached) == 10 + 20 + 40 + 80 + 160


def test_an_emptied_function_refers_to_nothing() -> None:
    graph = made_graph()

    reached = graph.reach(graph.roots, emptied=graph.select([MUL]))

    assert _numbers(reached) == {START, RUN, MUL, LOG}


def test_what_goes_with_a_part_is_what_it_alone_reaches() -> None:
    graph = made_graph()

    assert _numbers(graph.without([RUN], graph.roots)) == {RUN, MUL, TABLE}
    assert _numbers(graph.without([OLD], graph.roots)) == set()


@pytest.mark.parametrize(
    ("number", "chain"),
    [(LOG, (START, LOG)), (TABLE, (START, RUN, MUL, TABLE)), (START, (START,)), (RELIC, ())],
)
def test_the_chain_is_the_shortest(number: int, chain: tuple[int, ...]) -> None:
    graph = made_graph()

    assert graph.chain(graph.roots, number) == chain


def test_what_a_part_refers_to_is_there_once() -> None:
    graph = made_graph((MUL, MUL), (RUN, MUL))

    assert list_targets(graph, RUN) == (MUL, LOG)
    assert graph.find(("mul", "unknown")) == {MUL}


def test_an_empty_graph_reaches_nothing() -> None:
    graph = make_graph((), (), {})

    assert graph.count_bytes(graph.reach(())) == 0


def test_a_part_without_a_name_shows_its_section() -> None:
    part = made_part("f", 1)._replace(names=())

    assert part.name == "[unnamed in .text]"


_COUNT = 12
_NUMBERS = st.integers(min_value=0, max_value=_COUNT - 1)


def test_a_part_retains_what_only_it_leads_to() -> None:
    graph = made_graph()

    retained = count_retained(graph, graph.roots).tolist()

    assert retained == [10 + 20 + 40 + 80 + 160, 20 + 40 + 80, 40 + 80, 80, 160, 0, 0]


@settings(max_examples=30)
@given(
    st.lists(st.tuples(_NUMBERS, _NUMBERS), max_size=40), st.lists(_NUMBERS, min_size=1, max_size=3)
)
def test_it_is_what_removing_each_part_shows(
    references: list[tuple[int, int]], starts: list[int]
) -> None:
    graph = make_graph((made_part(str(n), 1 << n) for n in range(_COUNT)), references, {})

    retained = count_retained(graph, starts).tolist()

    assert retained == [
        graph.count_bytes(graph.without([number], starts)) for number in range(_COUNT)
    ]


def test_one_part_has_a_chain_and_what_it_keeps() -> None:
    found = explain([MUL], made_graph())

    assert (found.root, found.chain, found.referrers) == (ENTRY, (START, RUN, MUL), (RUN,))
    assert (found.size_bytes, found.retained_bytes, found.retained) == (40, 120, (TABLE,))


def test_several_parts_are_explained_together() -> None:
    found = explain([RUN, LOG], made_graph())

    assert (found.chain, found.referrers) == ((START, LOG), (START,))
    assert (found.size_bytes, found.retained_bytes, found.retained) == (180, 300, (TABLE, MUL))


def test_what_nothing_leads_to_goes_alone() -> None:
    """The linker keeps it with its object; its referrer is not reached either."""
    found = explain([RELIC], made_graph())

    assert (found.root, found.chain, found.referrers) == (UNREACHED, (), (OLD,))
    assert found.retained_bytes == found.size_bytes == 640
