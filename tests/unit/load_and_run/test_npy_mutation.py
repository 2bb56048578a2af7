"""Inputs changed: other values, another batch, another size."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from megtrim.errors import InputError
from megtrim.load_and_run.npy_mutation import NpyMutation, apply_change


def written(array: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def read(data: bytes | None) -> NDArray[Any]:
    assert data is not None
    found: NDArray[Any] = np.load(io.BytesIO(data), allow_pickle=False)
    return found


IMAGE = np.arange(2 * 4 * 6, dtype="<f4").reshape(1, 2, 4, 6)


def test_values_are_the_same_numbers_elsewhere() -> None:
    """A good input stays one: the last number stands first."""
    found = read(apply_change(written(IMAGE), NpyMutation.VALUES, source="x"))

    assert found.dtype == np.dtype("<f4")
    assert found.shape == IMAGE.shape
    assert found.ravel().tolist() == list(range(47, -1, -1))


def test_a_batch_holds_it_twice() -> None:
    """Behind each other."""
    found = read(apply_change(written(IMAGE), NpyMutation.BATCH, source="x"))

    assert found.shape == (2, 2, 4, 6)
    assert np.array_equal(found[0], IMAGE[0])
    assert np.array_equal(found[1], IMAGE[0])


def test_sizes_are_half_and_twice() -> None:
    """Of height and width, no other."""
    smaller = read(apply_change(written(IMAGE), NpyMutation.SMALLER, source="x"))
    larger = read(apply_change(written(IMAGE), NpyMutation.LARGER, source="x"))

    assert (smaller.shape, larger.shape) == ((1, 2, 2, 3), (1, 2, 8, 12))
    assert smaller[0, 0, 0].tolist() == [0, 1, 2]
    assert larger[0, 0, 0].tolist() == [0, 1, 2, 3, 4, 5] * 2


@pytest.mark.parametrize(
    ("array", "change"),
    [
        (np.zeros((2, 3), "<f4"), NpyMutation.VALUES),
        (np.arange(3.0), NpyMutation.BATCH),
        (np.arange(6.0).reshape(1, 6), NpyMutation.SMALLER),
        (np.arange(6.0).reshape(1, 6), NpyMutation.LARGER),
        (np.arange(6.0).reshape(1, 2, 1, 3), NpyMutation.SMALLER),
        (np.zeros((0, 3)), NpyMutation.BATCH),
        (np.array(["a", "b"]), NpyMutation.VALUES),
    ],
)
def test_what_would_be_no_change_is_none(array: NDArray[Any], change: NpyMutation) -> None:
    """No neighbour is the scenario itself."""
    assert apply_change(written(array), change, source="x") is None


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=5),
    st.sampled_from(["<f4", "|i1", "|u1", "<i4", "<f2"]),
    st.sampled_from(list(NpyMutation)),
)
def test_equal_inputs_give_equal_bytes(shape: list[int], dtype: str, change: NpyMutation) -> None:
    """And what is given back is a file of the same type that holds something else."""
    data = written((np.arange(np.prod(shape)) % 7).reshape(shape).astype(dtype))
    first = apply_change(data, change, source="x")

    assert first == apply_change(data, change, source="x")
    if first is not None:
        assert read(first).dtype == np.dtype(dtype)
        assert not np.array_equal(read(first), read(data))


@pytest.mark.parametrize("data", [b"", b"numbers", written(IMAGE)[:100], b"\x93NUMPY\x01\x00\xff"])
def test_no_npy_file_is_refused(data: bytes) -> None:
    """With its name, and one line."""
    with pytest.raises(InputError) as caught:
        apply_change(data, NpyMutation.VALUES, source="inputs/a.npy")

    assert caught.value.message.startswith("inputs/a.npy: not a .npy file: ")
    assert "\n" not in caught.value.message


def test_an_object_is_not_loaded() -> None:
    """It could run anything."""
    stream = io.BytesIO()
    np.save(stream, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match=r"not a \.npy file"):
        apply_change(stream.getvalue(), NpyMutation.VALUES, source="x")


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Behind the magic of the format as well."""
    for each in (data, b"\x93NUMPY\x01\x00" + data):
        try:
            apply_change(each, NpyMutation.VALUES, source="x")
        except InputError as error:
            assert error.message.startswith("x: ")
