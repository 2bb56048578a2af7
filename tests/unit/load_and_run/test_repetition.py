"""Text and raw bytes that say one thing over and over, whatever that thing is."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.load_and_run.repetition import refusal, refusal_of_records


def floats(*values: float, form: str = "<f") -> bytes:
    return b"".join(struct.pack(form, value) for value in values)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (bytes(64), "is constant: the bytes 00 over and over"),
        (b"\x07\x07", "is constant: the bytes 07 over and over"),
        (floats(0.5, 0.5), "is constant: the bytes 0000003f over and over"),
        (floats(0.5, 0.5, 0.5, form="<d"), "is constant: the bytes 000000000000e03f over and over"),
        (floats(*[1, 2] * 9), "is constant: the bytes 0000803f00000040 over and over"),
        (b"AAAA" * 100, "is constant: the bytes 41 over and over"),
        (b"0.5 0.5 0.5", "is constant: every number is 0.5"),
        (b"0.5\n0.50\n5e-1\n", "is constant: every number is 0.5"),
        (b"[0, 0, 0]", "is constant: every number is 0"),
        (b"nan inf 1 -inf nan", "has 4 NaN or infinite numbers of 5"),
        (b"nan\n", "has 1 NaN or infinite numbers of 1"),
        (b"cat cat\ncat\n", "repeats 'cat' throughout"),
        (b"score: 0.0\nscore: 0.0\n", "repeats 'score: 0.0' throughout"),
    ],
)
def test_what_is_the_same_throughout_proves_nothing(data: bytes, said: str) -> None:
    """A program that computes nothing writes as much."""
    assert refusal("o", data) == f"the output o {said}"


@pytest.mark.parametrize(
    "data",
    [
        b"7\n",
        b"11",
        b"cat",
        b"cat 0.5\n",
        b"0.5 0.25",
        b"papa",
        b"class 3\nclass 4\n",
        b"\x07",
        b"\x00\x01",
        floats(0.5),
        floats(0.5, 0.25),
        floats(0.5, 0.5, 0.25),
        "\N{SNOWMAN} \N{COMET}".encode(),
    ],
)
def test_what_says_more_than_one_thing_is_evidence(data: bytes) -> None:
    """One single number or word cannot vary."""
    assert refusal("o", data) is None


@given(st.binary(min_size=1, max_size=16), st.integers(2, 9))
def test_bytes_of_any_number_that_is_repeated_are_refused(unit: bytes, times: int) -> None:
    """Of the widths that numbers have; text of one word is as long as it likes to be."""
    for width in (1, 2, 4, 8, 16):
        data = b"\xff" + (unit * 16)[: width - 1]
        assert refusal("o", data * times) is not None


@given(st.binary(max_size=200))
def test_any_bytes_have_an_answer(data: bytes) -> None:
    """And no other error."""
    said = refusal("o", data)
    assert said is None or said.startswith("the output o ")


@pytest.mark.parametrize(
    ("data", "count", "said"),
    [
        (b"", 0, "the output o is empty"),
        (b"abab", 2, "the output o is constant: every record is the same"),
        (b"abab", 1, None),
        (b"abac", 2, None),
    ],
)
def test_records_of_one_size(data: bytes, count: int, said: str | None) -> None:
    """One single record cannot vary."""
    assert refusal_of_records("o", data, count) == said
