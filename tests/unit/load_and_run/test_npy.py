import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from megtrim.load_and_run.npy import (
    NpyMutation,
    apply_change,
    generate_input,
    parse_header,
    read_array,
)
from megtrim.util.errors import InputError


def written(array: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def test_a_header_says_type_and_shape() -> None:
    found = parse_header(written(np.zeros((1, 3, 4), "<f8")), source="x")

    assert (found.element.str, found.shape, found.by_columns) == ("<f8", (1, 3, 4), False)
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
    assert not parse_header(written(array), source="x").fits(dtype, (2, 3))


def test_other_sizes_fit_only_where_they_may_change() -> None:
    header = parse_header(written(np.zeros((1, 3, 8, 8), "<f4")), source="x")

    assert header.fits("Float32", None)
    assert not header.fits("Float32", (1, 3, 4, 4))
    assert header.fits("Float32", (1, 3, 4, 4), resized=True)
    assert not header.fits("Float32", (3, 8, 8), resized=True)


def header(shape: str, descr: str = "<f4") -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", ""),
        (b"\x93NUMPY", ""),
        (b"\x93NUMPY\x09\x00\x00\x00", ""),
        (header("(2,)")[:40], ""),
        (header("(-2,)"), "its shape is invalid"),
        (header("(0x" + "f" * 9000 + ",)"), "its shape is invalid"),
        (header(f"({'1,' * 33})"), "its shape is invalid"),
        (header("(2,)".ljust(10_000)), ""),
        (header("(2000000000000,)"), "its shape does not fit its 0 bytes of data"),
        (header("(2,)") + bytes(7), "its shape does not fit its 7 bytes of data"),
        (header("(2,)") + bytes(9), "its shape does not fit its 9 bytes of data"),
        (header("(2,)", "|O") + bytes(16), "it contains Python objects, which could run anything"),
        (header("(2,)").replace(b"shape", b"shap"), ""),
        (header("(2,)").replace(b"{'descr'", b"x'descr'"), ""),
        (header("(" * 3000), ""),
    ],
)
def test_a_damaged_file_is_refused(data: bytes, reason: str) -> None:
    """In one line, before any memory is taken for its data; empty: as NumPy says it."""
    with pytest.raises(InputError) as caught:
        read_array(data, source="plain output a.npy")

    assert caught.value.message.startswith("plain output a.npy: not an intact .npy file: ")
    assert caught.value.message.endswith(reason)
    assert "\n" not in caught.value.message


def test_a_generated_input_has_numbers_that_differ() -> None:
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
    assert generate_input(dtype, shape) is None


def read(data: bytes | None) -> NDArray[Any]:
    assert data is not None
    found: NDArray[Any] = np.load(io.BytesIO(data), allow_pickle=False)
    return found


IMAGE = np.arange(2 * 4 * 6, dtype="<f4").reshape(1, 2, 4, 6)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (NpyMutation.VALUES, np.arange(47, -1, -1).reshape(IMAGE.shape)),
        (NpyMutation.BATCH, np.concatenate([IMAGE, IMAGE])),
        (NpyMutation.SMALLER, IMAGE[..., :2, :3]),
        (NpyMutation.LARGER, np.tile(IMAGE, (1, 1, 2, 2))),
    ],
)
def test_an_input_is_changed(change: NpyMutation, expected: NDArray[Any]) -> None:
    found = read(apply_change(written(IMAGE), change, source="x"))

    assert found.dtype == np.dtype("<f4")
    assert np.array_equal(found, expected)


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
    assert apply_change(written(array), change, source="x") is None


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=5),
    st.sampled_from(["<f4", "|i1", "|u1", "<i4", "<f2"]),
    st.sampled_from(list(NpyMutation)),
)
def test_equal_inputs_give_equal_bytes(shape: list[int], dtype: str, change: NpyMutation) -> None:
    data = written((np.arange(np.prod(shape)) % 7).reshape(shape).astype(dtype))
    first = apply_change(data, change, source="x")

    assert first == apply_change(data, change, source="x")
    if first is not None:
        assert read(first).dtype == np.dtype(dtype)
        assert not np.array_equal(read(first), read(data))
