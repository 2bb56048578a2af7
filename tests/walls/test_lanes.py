"""The order in which the files of tests begin."""

from __future__ import annotations

from conftest import LONGEST
from support.pages import ROOT


def test_the_longest_files_are_there() -> None:
    """A file that was renamed would begin with the others, and end after them."""
    missing = [name for name in LONGEST if not (ROOT / "tests" / name).is_file()]

    assert missing == []
    assert len(set(LONGEST)) == len(LONGEST)
