"""SHA256SUMS: what is written is read, and nothing else."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.release.documents import dump_checksums, parse_checksums
from megtrim.util.errors import InputError

A, B = "a" * 64, "b" * 64
_PARTS = st.lists(st.sampled_from(["a", "b.c", "d e", "ü", "…", "-x"]), min_size=1, max_size=4)


@given(st.sets(_PARTS.map("/".join), min_size=1))
def test_what_is_written_is_read(paths: set[str]) -> None:
    """For any names."""
    digests = {path: hashlib.sha256(path.encode()).hexdigest() for path in paths}

    assert parse_checksums(dump_checksums(digests), source="S") == digests


@given(st.text())
def test_any_other_text_is_an_error_of_its_own(text: str) -> None:
    """Or it is exactly what would be written."""
    try:
        found = parse_checksums(text, source="S")
    except InputError as error:
        assert error.message.startswith("S:")
    else:
        assert dump_checksums(found) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "S:1: found no end of line"),
        ("\n", "S:1: found ''"),
        (f"{A}  a", "S:1: found no end of line"),
        (f"{A} a\n", "S:1: found"),
        (f"{A} *a\n", "S:1: found"),
        (f"{A.upper()}  a\n", "S:1: found"),
        (f"{A[1:]}  a\n", "S:1: found"),
        (f"{A}  a\n\n", "S:2: found ''"),
        (f"{A}  a\r\n", "S:1: found"),
        (f"{A}  /etc/passwd\n", "S:1: found"),
        (f"{A}  //etc/passwd\n", "S:1: found"),
        (f"{A}  ../a\n", "S:1: found"),
        (f"{A}  a/../b\n", "S:1: found"),
        (f"{A}  ./a\n", "S:1: found"),
        (f"{A}  a//b\n", "S:1: found"),
        (f"{A}  a/\n", "S:1: found"),
        (f"{A}  a\\b\n", "S:1: found"),
        (f"{A}  a\n{B}  a\n", "S:2: found a path out of order, or twice"),
        (f"{A}  b\n{B}  a\n", "S:2: found a path out of order, or twice"),
    ],
)
def test_another_line_is_named(text: str, said: str) -> None:
    """With its number."""
    with pytest.raises(InputError) as caught:
        parse_checksums(text, source="S")
    assert caught.value.message.startswith(said)
