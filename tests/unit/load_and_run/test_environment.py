"""Variables that a scenario may set for its program."""

from __future__ import annotations

import pytest

from megtrim.load_and_run.environment import is_name, is_value


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "_", "a1", "PATHS", "MGB_LOG"])
def test_any_other_variable_is_a_scenarios(name: str) -> None:
    """The engine and the libraries around it have many."""
    assert is_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("", "A B", "A=B", "1A", "a-b", "A\n", "A" * 201),
        *("PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "QEMU_LOG", "MIDOUT_OUTPUT", "MEGTRIM_PADDING"),
    ],
)
def test_what_launchers_and_megtrim_read_is_refused(name: str) -> None:
    """And what is no name: it would be another program's option."""
    assert not is_name(name)


def test_a_value_is_one_line() -> None:
    """Of any characters, and perhaps empty."""
    assert is_value("")
    assert is_value("a=b 'c' \N{GREEK SMALL LETTER ALPHA}")
    assert not is_value("a\nb")
    assert not is_value("\0")
    assert not is_value("x" * 4097)
