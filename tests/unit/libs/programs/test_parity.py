import io
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from megtrim.libs.programs.npy import (
    NpyMutation,
    apply_change,
    generate_input,
    parse_header,
    read_array,
)
from megtrim.libs.programs.parity import EXACT, Numbers, Tolerance, differences, refusal, within
from megtrim.libs.util.errors import InputError

NAN = math.nan
INF = math.inf

FINITE = st.floats(-(2.0**100), 2.0**100, width=32)
NARROW = st.builds(Tolerance, absolute=st.floats(0, 1), relative=st.floats(0, 0.25))
"""Tolerances that leave most outputs evidence."""
TOLERANCES = NARROW | st.builds(
    Tolerance, absolute=st.floats(0, 1e30), relative=st.floats(0, 1, exclude_max=True)
)


def numbers(*values: complex, dtype: str = "f8") -> Numbers:
    return np.array(values, dtype)


def softmax(classes: int) -> Numbers:
    scores = np.exp(np.sin(np.arange(classes)))
    return np.asarray(scores / scores.sum())


@pytest.mark.parametrize(
    ("tolerance", "text"),
    [
        (Tolerance(), "0"),
        (Tolerance(absolute=1e-5), "1e-05"),
        (Tolerance(relative=0.001), "0.001 * |plain|"),
        (Tolerance(absolute=0.5, relative=0.001), "0.5 + 0.001 * |plain|"),
    ],
)
def test_a_tolerance_is_shown(tolerance: Tolerance, text: str) -> None:
    assert str(tolerance) == text
    assert tolerance.is_exact is (text == "0")


@pytest.mark.parametrize(
    ("plain", "reduced", "tolerance", "same"),
    [
        ((1.0, 100.0), (1.25, 100.25), Tolerance(absolute=0.25), True),
        ((1.0, 100.0), (1.25, 100.5), Tolerance(absolute=0.25), False),
        ((1.0, 100.0), (1.25, 125.0), Tolerance(relative=0.25), True),
        ((1.0, 100.0), (1.5, 100.0), Tolerance(relative=0.25), False),
        # Plain is the reference: a quarter of 4 is 1, of 3 it is less.
        ((4.0,), (3.0,), Tolerance(relative=0.25), True),
        ((3.0,), (4.0,), Tolerance(relative=0.25), False),
        ((0.0, 4.0), (0.5, 5.5), Tolerance(absolute=0.5, relative=0.25), True),
        ((0.0, 4.0), (0.75, 4.0), Tolerance(absolute=0.5, relative=0.25), False),
        ((INF, NAN, -INF), (INF, NAN, -INF), Tolerance(absolute=1.0), True),
        ((INF, 1.0), (1.0, INF), Tolerance(absolute=1.0, relative=0.5), False),
        ((INF,), (-INF,), Tolerance(absolute=1.0, relative=0.5), False),
        ((NAN, 1.0), (1.0, NAN), Tolerance(absolute=1.0, relative=0.5), False),
        ((1 + 1j,), (1.5 + 1j,), Tolerance(absolute=0.5), True),
        ((1 + 1j,), (1.5 + 1.5j,), Tolerance(absolute=0.5), False),
    ],
)
def test_numbers_within_a_tolerance(
    plain: tuple[complex, ...], reduced: tuple[complex, ...], tolerance: Tolerance, same: bool
) -> None:
    dtype = "c16" if any(each.imag for each in plain) else "f8"

    assert within(numbers(*plain, dtype=dtype), numbers(*reduced, dtype=dtype), tolerance) is same


@given(
    arrays.arrays("f4", 5, elements=st.floats(width=32)),
    arrays.arrays("f4", 5, elements=st.floats(width=32)),
    TOLERANCES,
)
def test_it_means_what_numpy_does(plain: Numbers, reduced: Numbers, tolerance: Tolerance) -> None:
    plain = plain.astype("f8")
    reduced = reduced.astype("f8")
    with np.errstate(over="ignore", invalid="ignore"):
        close = np.isclose(
            reduced, plain, rtol=tolerance.relative, atol=tolerance.absolute, equal_nan=True
        )

    assert within(plain, reduced, tolerance) is bool(np.all(close))


def test_differences_of_whole_numbers_are_exact() -> None:
    found = differences(numbers(2**62, -1, dtype="i8"), numbers(2**62 + 1, 1, dtype="i8"))

    assert found.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("plain", "tolerance", "why"),
    [
        (numbers(), EXACT, "is empty"),
        (numbers(2, 2), EXACT, "is constant: every number is 2"),
        (numbers(1 + 1j, 1 + 1j, dtype="c16"), EXACT, "is constant: every number is 1+1j"),
        (numbers(7, 7, dtype="i8"), EXACT, "is constant: every number is 7"),
        (numbers(1, 2, *[NAN] * 998), EXACT, "has 998 NaN or infinite numbers of 1000"),
        (numbers(INF, -INF), EXACT, "has 2 NaN or infinite numbers of 2"),
        (numbers(NAN), EXACT, "has 1 NaN or infinite numbers of 1"),
        (
            softmax(1000),
            Tolerance(absolute=0.02),
            (
                "varies by 0.00185684, so a constant passes for it at a tolerance of 0.02 "
                "(set a tolerance below 0.00092842)"
            ),
        ),
        (
            numbers(1, 3),
            Tolerance(absolute=1),
            (
                "varies by 2, so a constant passes for it at a tolerance of 1 "
                "(set a tolerance below 1)"
            ),
        ),
        (
            numbers(3, 4),
            Tolerance(relative=0.15),
            (
                "varies by 1, so a constant passes for it at a tolerance of 0.15 * |plain| "
                "(set a smaller tolerance or relative_tolerance)"
            ),
        ),
        (
            numbers(1 + 1j, 2 + 3j, dtype="c16"),
            Tolerance(absolute=1),
            (
                "varies by 2, so a constant passes for it at a tolerance of 1 "
                "(set a tolerance below 1)"
            ),
        ),
        (
            numbers(0.5),
            Tolerance(absolute=0.5),
            "is 0.5, and 0 passes for it at a tolerance of 0.5 (set a tolerance below 0.5)",
        ),
        (
            numbers(0),
            Tolerance(absolute=1e-5),
            "is 0, and 0 passes for it at a tolerance of 1e-05 (set tolerance: 0)",
        ),
    ],
)
def test_what_proves_nothing(plain: Numbers, tolerance: Tolerance, why: str) -> None:
    said = refusal("o", plain, tolerance)

    assert said == f"the output o {why}"


@pytest.mark.parametrize(
    ("plain", "tolerance"),
    [
        (numbers(1, 3), Tolerance(absolute=0.99)),
        (numbers(3, 4), Tolerance(relative=0.14)),
        (numbers(0.5), Tolerance(absolute=0.49)),
        (numbers(0), EXACT),
        (numbers(1, 2, NAN, INF), EXACT),
        (numbers(1, 2, dtype="i8"), Tolerance(absolute=9)),
        (numbers(1, 1 + 3j, dtype="c16"), Tolerance(absolute=1)),
        (softmax(1000), Tolerance(absolute=1e-5)),
        (softmax(1000), Tolerance(relative=0.02)),
    ],
)
def test_what_is_evidence(plain: Numbers, tolerance: Tolerance) -> None:
    assert refusal("o", plain, tolerance) is None


@given(
    arrays.arrays("f4", st.integers(1, 6), elements=FINITE),
    TOLERANCES,
    st.one_of(st.just(0.0), FINITE),
)
def test_no_constant_is_evidence(plain: Numbers, tolerance: Tolerance, constant: float) -> None:
    plain = plain.astype("f8")
    assume(refusal("o", plain, tolerance) is None)

    assert within(plain, np.zeros_like(plain), tolerance) is bool(np.all(plain == 0))
    if plain.size > 1:
        middle = np.full_like(plain, (plain.max() + plain.min()) / 2)
        for fake in (np.full_like(plain, constant), np.full_like(plain, plain[0]), middle):
            assert not within(plain, fake, tolerance)


@given(
    arrays.arrays(
        "c8", st.integers(2, 6), elements=st.complex_numbers(max_magnitude=2.0**30, width=64)
    ),
    NARROW,
)
def test_no_constant_passes_for_complex_evidence(plain: Numbers, tolerance: Tolerance) -> None:
    plain = plain.astype("c16")
    assume(refusal("o", plain, tolerance) is None)

    for constant in (0, plain[0], plain.mean()):
        assert not within(plain, np.full_like(plain, constant), tolerance)


def written(array: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def test_a_header_says_type_and_shape() -> None:
    found = parse_header(written(np.zeros((1, 3, 4), "<f8")), source="x")

    assert (found.element.str, found.shape, found.by_columns) == ("<f8", (1, 3, 4), False)
    assert str(found) == "float64 (1, 3, 4)"
    by_columns = parse_header(written(np.zeros((2, 3), order="F")), source="x")
    assert str(by_columns) == "float64 (2, 3), by columns"
    texts = parse_header(written(np.array(["a"])), source="x")
    assert str(texts) == "elements that are not numbers (1)"


@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        ("<f4", "Float32"),
        ("<f2", "Float16"),
        ("|i1", "QuantizedS8"),
        ("|u1", "Uint8"),
        ("|b1", "Bool"),
        ("|u1", "Bool"),
        ("<i4", "Int32"),
        ("<f8", ""),
        ("<f8", "IntB4"),
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
        (np.full((1, 6), np.nan), NpyMutation.LARGER),
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
