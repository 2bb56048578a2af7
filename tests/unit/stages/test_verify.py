"""Outputs of the plain and the reduced build: compared one by one, and refused as evidence."""

from __future__ import annotations

from typing import Any

import pytest

from megtrim.stages.verify import _compared
from unit.stages.support import evidence, floats

GOOD = floats(1.0, 2.0, 3.0)


def compared(
    plain: dict[str, bytes], reduced: dict[str, bytes], tolerance: float = 0.0
) -> dict[str, Any]:
    return _compared(evidence(outputs=plain), evidence(outputs=reduced), tolerance)


def row(name: str, *, equal: bool = True, difference: float | None = 0.0) -> dict[str, Any]:
    return {"name": name, "size_bytes": 12, "equal": equal, "largest_difference": difference}


def test_equal_outputs_pass() -> None:
    """Whatever the description in the file says: it differs between builds."""
    assert compared({"a": GOOD}, {"a": floats(1.0, 2.0, 3.0, text="no names here")}) == {
        "status": "pass",
        "text": "outputs equal to the last bit (1 tensor, 12 bytes)",
        "outputs": [row("a")],
        "exit code": 0,
    }


def test_several_outputs_are_told_by_name() -> None:
    """Sorted, and counted."""
    found = compared({"b": GOOD, "a": GOOD}, {"a": GOOD, "b": GOOD})

    assert found["text"] == "outputs equal to the last bit (2 tensors, 24 bytes)"
    assert found["outputs"] == [row("a"), row("b")]


def test_a_different_value_is_a_parity_break() -> None:
    """With its size, and exit status 1."""
    assert compared({"a": GOOD}, {"a": floats(1.0, 2.5, 3.0)}) == {
        "status": "parity",
        "text": "output a: largest difference 0.5, allowed is 0",
        "outputs": [row("a", equal=False, difference=0.5)],
        "exit code": 1,
    }


@pytest.mark.parametrize(
    ("tolerance", "status", "text"),
    [
        (0.5, "pass", "outputs equal within 0.5 (1 tensor, 12 bytes)"),
        (0.25, "parity", "output a: largest difference 0.5, allowed is 0.25"),
    ],
)
def test_a_tolerance_is_obeyed(tolerance: float, status: str, text: str) -> None:
    """The difference is shown either way."""
    found = compared({"a": GOOD}, {"a": floats(1.0, 2.5, 3.0)}, tolerance)

    assert (found["status"], found["text"]) == (status, text)
    assert found["outputs"][0]["largest_difference"] == 0.5


@pytest.mark.parametrize(
    ("plain", "reduced", "text"),
    [
        ({"a": GOOD, "b": GOOD}, {"a": GOOD}, "output b came from the plain build alone"),
        ({"a": GOOD}, {"a": GOOD, "b": GOOD}, "output b came from the reduced build alone"),
    ],
)
def test_an_output_of_one_build_alone_is_a_parity_break(
    plain: dict[str, bytes], reduced: dict[str, bytes], text: str
) -> None:
    """The others are compared all the same."""
    found = compared(plain, reduced)

    assert (found["status"], found["text"], found["exit code"]) == ("parity", text, 1)
    assert found["outputs"] == [row("a")]


def test_no_output_at_all_proves_nothing() -> None:
    """Equal, but empty."""
    found = compared({}, {})

    assert (found["status"], found["text"]) == ("parity", "the plain build dumped no output")


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (floats(2.0, 2.0, 2.0), "the output a is constant: every number is 2"),
        (floats(*[float("nan")] * 3), "the output a holds no numbers, only NaN"),
    ],
)
def test_an_output_that_cannot_vary_proves_nothing(output: bytes, text: str) -> None:
    """Equal to the last bit, and refused."""
    found = compared({"a": output}, {"a": output})

    assert (found["status"], found["text"]) == ("parity", f"{text}: that proves nothing")
    assert found["exit code"] == 1


def test_shapes_that_differ_have_no_difference_in_numbers() -> None:
    """The report knows no infinite number."""
    found = compared({"a": GOOD}, {"a": floats(1.0, 2.0, 3.0, shape=(3, 1))})

    assert found["text"] == "output a: shape (3,) became (3, 1)"
    assert found["outputs"] == [row("a", equal=False, difference=None)]


def test_a_damaged_output_is_a_parity_break_and_no_bad_input() -> None:
    """The reduced build wrote it, the user did not; the other outputs are compared."""
    found = compared({"a": GOOD, "b": GOOD}, {"a": GOOD[:-1], "b": GOOD})

    assert found["status"] == "parity"
    assert found["text"].startswith("reduced output a: not a whole dumped output: ")
    assert found["outputs"] == [row("b")]


def test_all_problems_are_told() -> None:
    """Not only the first."""
    found = compared({"a": GOOD, "b": GOOD}, {"a": floats(1.0, 2.5, 3.0)})

    assert found["text"] == (
        "output a: largest difference 0.5, allowed is 0; output b came from the plain build alone"
    )
