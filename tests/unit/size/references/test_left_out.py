"""What a trim left out."""

from __future__ import annotations

from megtrim.size.references.left_out import (
    TrimmedGraph,
    compare_graphs,
    list_left_out,
    make_row,
)
from unit.size.references.made_graphs import LOG, MUL, OLD, RUN, made_graph, make_graph


def _trimmed(*dropped: str) -> TrimmedGraph:
    return TrimmedGraph(base=made_graph((LOG, OLD)), dropped=dropped)


def test_what_only_a_dropped_function_refers_to_goes_with_it() -> None:
    """All of the base is either kept or left out."""
    trimmed = _trimmed("mul")
    count = trimmed.base.count_bytes

    assert count(trimmed.left_out) == 40 + 80
    assert count(trimmed.kept) + count(trimmed.left_out) == count(trimmed.present)
    assert [each for each in trimmed.base.referrers(MUL) if trimmed.kept[each]] == [RUN]


def test_a_part_with_a_name_that_stays_stays() -> None:
    """A section of several functions is left out only as a whole."""
    trimmed = TrimmedGraph(base=made_graph(), dropped=("mul", "another"))

    assert trimmed.base.count_bytes(trimmed.left_out) == 120
    assert not TrimmedGraph(base=made_graph(), dropped=("another",)).left_out.any()


def test_rows_add_up_to_what_went() -> None:
    """The largest first."""
    trimmed = _trimmed("mul")

    rows = list_left_out(trimmed)

    gone = [(each.symbol, each.left_out_bytes) for each in rows if each.left_out_bytes]
    assert gone == [("table", 80), ("mul", 40)]
    assert sum(each.left_out_bytes for each in rows) == trimmed.base.count_bytes(trimmed.left_out)


def test_two_programs_are_compared_by_symbol() -> None:
    """What was left out of a function makes it smaller, and something may grow."""
    base = made_graph()
    sizes = {"run": 5, "mul": 0, "log": 170}
    parts = tuple(
        each._replace(size_bytes=sizes.get(each.name, each.size_bytes)) for each in base.parts
    )
    shipped = make_graph(parts, (), {})

    rows = compare_graphs(base, shipped)

    assert tuple(each for each in rows if each.left_out_bytes) == (
        make_row("other", "mul", 40, 0),
        make_row("other", "run", 20, 5),
        make_row("other", "log", 160, 170),
    )
