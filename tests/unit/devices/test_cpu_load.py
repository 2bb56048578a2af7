"""What others took of the CPUs, by the counters before and after a program."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.devices.cpu_load import parse_children_s, share_of_others

BEFORE = "cpu  100 10 50 1000 40 5 5 0 30 0\n"


@pytest.mark.parametrize(
    ("after", "own_s", "share"),
    [
        ("cpu  100 10 50 1200 40 5 5 0 30 0", 0.0, 0.0),
        ("cpu  200 10 50 1100 40 5 5 0 30 0", 1.0, 0.0),
        ("cpu  300 10 50 1000 40 5 5 0 30 0", 1.0, 0.5),
        ("cpu  200 60 100 1000 40 5 5 0 30 0", 0.0, 1.0),
        ("cpu  100 10 50 1000 240 5 5 0 30 0", 0.0, 0.0),
        ("cpu  100 10 50 1100 40 15 15 80 30 0", 0.0, 0.5),
        ("cpu  200 10 50 1100 40 5 5 0 130 0", 0.0, 0.5),
        ("cpu  200 10 50 1100 40 5 5 0 30 0", 1.3, 0.0),
    ],
    ids=["idle", "own", "half", "nice and system", "disk", "steal", "guest", "coarse counters"],
)
def test_what_is_neither_idle_nor_ours_is_of_others(after: str, own_s: float, share: float) -> None:
    """Time of virtual machines is counted once; waiting for a disk is idle."""
    assert share_of_others(BEFORE, after, own_s) == pytest.approx(share)


@pytest.mark.parametrize(
    "after", ["", "cpu  1 2 3", "cpu0 200 10 50 1100 40 5 5 0 30 0", "cpu  105 10 50 1010 40 5 5 0"]
)
def test_what_was_not_counted_is_not_known(after: str) -> None:
    """Another system, one CPU alone, or a program that ended within a few steps of the clock."""
    assert share_of_others(BEFORE, after, 0.0) is None
    assert share_of_others(after, BEFORE, 0.0) is None


def test_a_shell_says_what_its_programs_used() -> None:
    """Its name may look like anything."""
    line = "7 (a (b) 1 2) S 1 7 7 0 -1 4194304 1 2 3 4 11 12 150 25 20 0 1 0 5"

    assert parse_children_s(line) == pytest.approx(1.75)
    assert parse_children_s("7 (sh) S 1 7") is None
    assert parse_children_s("") is None
    assert parse_children_s(line.replace("150", "x")) is None


@given(st.text(), st.text(), st.floats(0, 1e6))
def test_nonsense_is_no_load(before: str, after: str, own_s: float) -> None:
    """A machine may print anything."""
    assert share_of_others(before, f"cpu {after}", own_s) is None or "cpu  " in before
    parse_children_s(after)
