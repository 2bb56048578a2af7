"""Tensors in ``.npy`` files: what a header says, what fits a model, and generated inputs."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from megtrim.errors import InputError
from megtrim.load_and_run.npy import expect_whole, generate_input, parse_header, read_array


def written(array: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def test_a_header_says_type_and_shape() -> None:
    """As NumPy wrote it, and as a person reads it."""
    found = parse_header(written(np.zeros((1, 3, 4), "<f8")), source="x")

    assert (found.element, found.shape, found.by_columns) == ("<f8", (1, 3, 4), False)
    assert str(found) == "float64 (1, 3, 4)"
    assert str(parse_header(written(np.zeros((2, 3), order="F")), source="x")) == (
        "float64 (2, 3), by columns"
    )
    assert str(parse_header(written(np.array(["a"])), source="x")) == (
        "elements that are not numbers (1)"
    )


@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        *(("<f4", "Float32"), ("<f2", "Float16"), ("|i1", "QuantizedS8"), ("|u1", "Uint8")),
        *(("|b1", "Bool"), ("|u1", "Bool"), ("<i4", "Int32"), ("<f8", ""), ("<f8", "IntB4")),
    ],
)
def test_an_array_of_the_models_type_fits(element: str, dtype: str) -> None:
    """So does one of a type that no file could have: only the engine knows."""
    assert parse_header(written(np.zeros((2, 3), element)), source="x").fits(dtype, (2, 3))


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.zeros((2, 3)), "Float32"),
        (np.zeros((2, 3), ">f4"), "Float32"),
        (np.zeros((2, 3), "<f4", order="F"), "Float32"),
        (np.zeros((2, 3), "|u1"), "Int8"),
        (np.zeros((2, 3), "U1"), "Float32"),
    ],
)
def test_an_array_of_another_type_or_order_does_not_fit(array: NDArray[Any], dtype: str) -> None:
    """The program reads its bytes as they are."""
    assert not parse_header(written(array), source="x").fits(dtype, (2, 3))


def test_other_sizes_fit_only_where_they_may_change() -> None:
    """Another number of dimensions never does; an unknown shape always."""
    header = parse_header(written(np.zeros((1, 3, 8, 8), "<f4")), source="x")

    assert header.fits("Float32", None)
    assert not header.fits("Float32", (1, 3, 4, 4))
    assert header.fits("Float32", (1, 3, 4, 4), resized=True)
    assert not header.fits("Float32", (3, 8, 8), resized=True)


def test_a_file_that_is_cut_off_is_refused() -> None:
    """By its length alone: the data need not be read."""
    header = parse_header(written(np.zeros((2, 3), "<f4")), source="x")

    expect_whole(header, header.size + 24, source="x")
    with pytest.raises(InputError, match="its shape does not fit its 23 bytes"):
        expect_whole(header, header.size + 23, source="x")


def test_a_generated_input_has_numbers_that_differ() -> None:
    """Fractions of one for floats, whole ones else; the same bytes each time."""
    floats = read_array(generate_input("Float32", (1, 3, 4)) or b"", source="x")
    bytes_ = read_array(generate_input("QuantizedS8", (100,)) or b"", source="x")

    assert floats is not None
    assert bytes_ is not None
    assert floats.shape == (1, 3, 4)
    assert floats.ravel()[:2].tolist() == [0.0, np.float32(1 / 97)]
    assert bytes_[95:].tolist() == [95, 96, 0, 1, 2]
    assert generate_input("Float32", (5,)) == generate_input("Float32", (5,))


@pytest.mark.parametrize(
    ("dtype", "shape"), [("Bool", (2,)), ("", (2,)), ("Float32", (0, 3)), ("Int32", (2**33, 2**31))]
)
def test_what_cannot_be_generated_is_none(dtype: str, shape: tuple[int, ...]) -> None:
    """No plain file holds it, or it would be too much."""
    assert generate_input(dtype, shape) is None
