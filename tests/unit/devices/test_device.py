"""What every kind of device does with the files that a program leaves."""

from __future__ import annotations

import pytest

from megtrim.devices.device import (
    LARGEST_FETCHED_BYTES,
    make_too_large_error,
    sort_printable_names,
)
from megtrim.util.errors import ProductFailure


def test_names_are_sorted() -> None:
    """Devices list them in any order."""
    assert sort_printable_names("dump", ["b", "ü", "a"]) == ("a", "b", "ü")


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[31m", "a\N{REPLACEMENT CHARACTER}", "\ud800"])
def test_a_name_that_is_not_text_is_the_programs_fault(name: str) -> None:
    """It could change what a terminal shows."""
    with pytest.raises(ProductFailure, match="whose name is not text") as failed:
        sort_printable_names("dump", ["a", name])

    assert failed.value.message.isprintable()


def test_a_file_that_is_too_large_is_named_with_both_sizes() -> None:
    """A broken program may write without end."""
    failure = make_too_large_error("dump/o", LARGEST_FETCHED_BYTES + 1)

    assert failure.message == (
        "the program left dump/o with 268,435,457 bytes, expected at most 268,435,456"
    )
