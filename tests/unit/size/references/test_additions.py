"""What is nearly free to keep."""

from __future__ import annotations

from megtrim.size.references.additions import Addition, Wish, find_additions
from megtrim.size.references.left_out import TrimmedGraph
from unit.size.references.made_graphs import LOG, MUL, OLD, RUN, START, TABLE, made_graph


def _trimmed(*dropped: str) -> TrimmedGraph:
    return TrimmedGraph(base=made_graph((LOG, OLD)), dropped=dropped)


def test_additions_cost_all_that_they_would_bring_back() -> None:
    """The table comes with the function."""
    assert list(find_additions(_trimmed("mul"), 120)) == [
        Addition(part=MUL, size_bytes=120, needed=(MUL, TABLE), callers=(RUN,))
    ]
    assert list(find_additions(_trimmed("mul"), 119)) == []


def test_additions_share_what_they_bring_back() -> None:
    """The log is paid for once; only what stays counts as a caller."""
    found = find_additions(_trimmed("run", "mul", "log", "old", "relic"), 2000)

    assert [(each.part, each.size_bytes, each.callers) for each in found] == [
        (LOG, 160 + 320 + 640, (START,)),
        (RUN, 20 + 40 + 80, (START,)),
    ]


def test_what_is_known_to_be_needed_comes_first() -> None:
    """With the neighbour that ended without it."""
    wishes = [Wish(name="mul", by="m/s@any: other threads"), Wish(name="gone", by="m/t@any: flags")]

    (first, *_) = find_additions(_trimmed("mul", "old", "relic"), 200, wishes)

    assert first.part == MUL
    assert first.wanted_by == ("m/s@any: other threads",)
