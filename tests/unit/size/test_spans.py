"""Every byte of a stretch counts once, whatever claims it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from megtrim.size.spans import Spans

_CLAIMS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40), st.integers(0, 9)), max_size=8)


def test_the_first_claim_counts() -> None:
    """And what no one claims is known, too."""
    spans = Spans([(2, 6, "a"), (4, 9, "b"), (5, 6, "c"), (12, 14, "d")])

    assert list(spans.cut(0, 13)) == [
        *[(0, 2, None), (2, 6, "a"), (6, 9, "b"), (9, 12, None), (12, 13, "d")]
    ]
    assert [spans.at(place) for place in (1, 5, 8, 9, 13, 14)] == [None, "a", "b", None, "d", None]


@given(_CLAIMS, st.integers(0, 40), st.integers(0, 40))
def test_pieces_cover_the_stretch_exactly(
    claims: list[tuple[int, int, int]], start: int, end: int
) -> None:
    """In order, without gaps, and with the label that each byte has by itself."""
    spans = Spans(sorted(claims))

    pieces = list(spans.cut(start, end))

    labels = [(place, label) for first, last, label in pieces for place in range(first, last)]
    assert labels == [(place, spans.at(place)) for place in range(start, end)]
    assert all(first < last for first, last, _ in pieces)
