"""What a plan says of the sources that a build would compile."""

from __future__ import annotations

import pytest

from megtrim.plan.rebuilds import describe_forecast


@pytest.mark.parametrize(
    ("predicted", "words"),
    [
        (None, "all files may be compiled"),
        ((), "no file is compiled"),
        (("a.cpp",), "1 file is compiled: a.cpp"),
        (tuple("abcde"), "5 files are compiled: a, b, c, d, e"),
        (tuple("abcdefg"), "7 files are compiled: a, b, c, d, e and 2 more"),
    ],
)
def test_how_many_and_which(predicted: tuple[str, ...] | None, words: str) -> None:
    """By number and name; the first few are enough to see where a change goes."""
    assert describe_forecast(predicted) == words
