"""Why something is there."""

from __future__ import annotations

from megtrim.size.references.explanation import UNREACHED, explain
from megtrim.size.references.roots import ENTRY
from unit.size.references.made_graphs import LOG, MUL, OLD, RELIC, RUN, START, TABLE, made_graph


def test_one_part_has_a_chain_and_what_it_keeps() -> None:
    """Its bytes, who refers to it, and what would go with it."""
    found = explain([MUL], made_graph())

    assert (found.root, found.chain) == (ENTRY, (START, RUN, MUL))
    assert found.referrers == (RUN,)
    assert (found.size_bytes, found.retained_bytes) == (40, 120)
    assert found.retained == (TABLE,)


def test_several_parts_are_explained_together() -> None:
    """By the chain to the largest of them; those among them are no referrers."""
    found = explain([RUN, LOG], made_graph())

    assert found.chain == (START, LOG)
    assert found.referrers == (START,)
    assert (found.size_bytes, found.retained_bytes) == (180, 300)
    assert found.retained == (TABLE, MUL)


def test_what_nothing_leads_to_goes_alone() -> None:
    """The linker keeps it with its object; its referrer is not reached either."""
    found = explain([RELIC], made_graph())

    assert (found.root, found.chain) == (UNREACHED, ())
    assert found.referrers == (OLD,)
    assert found.retained_bytes == found.size_bytes == 640
