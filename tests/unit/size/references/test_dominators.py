"""What each part alone keeps."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from megtrim.size.references.dominators import find_dominators
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

_COUNT = 12
_NUMBERS = st.integers(min_value=0, max_value=_COUNT - 1)


def test_a_part_retains_what_only_it_leads_to() -> None:
    """The log stays without ``run``, because ``start`` calls it, too."""
    graph = made_graph()

    found = find_dominators(graph, graph.roots)

    retained = found.retained_bytes(graph.sizes).tolist()
    assert retained[TABLE] == 80
    assert retained[MUL] == 40 + 80
    assert retained[RUN] == 20 + 40 + 80
    assert retained[START] == 10 + 20 + 40 + 80 + 160
    assert retained[LOG] == 160
    assert retained[OLD] == retained[RELIC] == 0
    assert found.above[LOG] == START
    assert found.above[START] == -1


def test_an_emptied_function_retains_itself_alone() -> None:
    """What it called is not reached."""
    graph = made_graph()

    found = find_dominators(graph, graph.roots, emptied=graph.select([RUN]))

    assert found.retained_bytes(graph.sizes).tolist()[START] == 10 + 20 + 160


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(_NUMBERS, _NUMBERS), max_size=40),
    st.lists(_NUMBERS, min_size=1, max_size=3),
    st.sets(_NUMBERS, max_size=2),
)
def test_it_is_what_removing_each_part_shows(
    references: list[tuple[int, int]], starts: list[int], emptied: set[int]
) -> None:
    """For every part of any graph, loops and all, the bytes that would go are the same."""
    graph = make_graph((made_part(str(n), 1 << n) for n in range(_COUNT)), references, {})
    cut = graph.select(emptied)

    retained = find_dominators(graph, starts, emptied=cut).retained_bytes(graph.sizes)

    assert retained.tolist() == [
        graph.count_bytes(graph.without([number], starts, emptied=cut)) for number in range(_COUNT)
    ]
