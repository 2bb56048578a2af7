import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.libs.programs import arrays
from megtrim.libs.programs.arrays import BY_NAME, Comparison, Tensor
from megtrim.libs.programs.parity import EXACT, Tolerance


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def tensor(data: bytes, dtype: str = "Float32", shape: tuple[int, ...] | None = None) -> Tensor:
    width = BY_NAME[dtype].bits // 8 or 1
    return Tensor(name="out", dtype=dtype, shape=shape or (len(data) // width,), data=data)


def compare(plain: Tensor, reduced: Tensor, tolerance: float) -> Comparison:
    return arrays.compare(plain, reduced, Tolerance(absolute=tolerance))


NEXT = float(np.nextafter(np.float32(2), np.float32(3)))
NANS = struct.pack("<I", 0x7FC00000), struct.pack("<I", 0x7FC00001)
HALVES = np.array([2], "<f2").tobytes(), np.array([2.5], "<f2").tobytes()
ENDS = struct.pack("<2i", 7, 2**31 - 1), struct.pack("<2i", 7, -(2**31))


@pytest.mark.parametrize(
    ("dtype", "left", "right", "tolerance", "difference", "equal"),
    [
        # Equal bits are equal, also where numbers are missing.
        ("Float32", floats(1, math.nan, math.inf), floats(1, math.nan, math.inf), 0, 0, True),
        # The last bit counts where the tolerance is 0.
        ("Float32", floats(1, 2), floats(1, NEXT), 0, 2.0**-22, False),
        # Two zeros, two kinds of NaN: other bits, but no difference within a tolerance.
        ("Float32", floats(0.0), floats(-0.0), 0, 0, False),
        ("Float32", floats(0.0), floats(-0.0), 1e-9, 0, True),
        ("Float32", *NANS, 0, 0, False),
        ("Float32", *NANS, 1e-9, 0, True),
        # A tolerance is absolute and inclusive; the largest difference is held against it.
        ("Float32", floats(100, 5, 1), floats(100, 5.25, 0.9375), 0.25, 0.25, True),
        ("Float32", floats(100, 5, 1), floats(100, 5.25, 0.9375), 0.2499, 0.25, False),
        # It is for every kind of floating point.
        ("Float16", *HALVES, 0.5, 0.5, True),
        ("Float16", *HALVES, 0.49, 0.5, False),
        ("BFloat16", struct.pack("<H", 0x4000), struct.pack("<H", 0x4020), 0.5, 0.5, True),
        ("BFloat16", struct.pack("<H", 0x4000), struct.pack("<H", 0x4020), 0.49, 0.5, False),
        ("Complex64", floats(1, 0), floats(1, 0.5), 0.5, 0.5, True),
        ("Complex64", floats(1, 0), floats(1, 0.5), 0.49, 0.5, False),
        # And for nothing else: a quantised output that is off by one is another output.
        ("Int32", *ENDS, 1e12, 2**32 - 1, False),
        ("QuantizedS32", *ENDS, 1e12, 2**32 - 1, False),
        # None covers a number on one side only.
        ("Float32", floats(1, math.nan), floats(1, 2), 1e30, math.inf, False),
        ("Float32", floats(1, 2), floats(1, math.nan), 1e30, math.inf, False),
        ("Float32", floats(1, math.inf), floats(1, -math.inf), 1e30, math.inf, False),
    ],
)
def test_outputs_are_compared(
    dtype: str, left: bytes, right: bytes, tolerance: float, difference: float, equal: bool
) -> None:
    found = compare(tensor(left, dtype), tensor(right, dtype), tolerance)

    assert (found.largest_difference, found.equal) == (difference, equal)
    shown = f"largest difference {difference:g}, allowed is {tolerance:g}"
    assert found.text == ("" if equal else shown)


@pytest.mark.parametrize(
    ("dtype", "left", "right", "difference"),
    [
        ("Float16", np.array([1, 2], "<f2").tobytes(), np.array([1, 2.5], "<f2").tobytes(), 0.5),
        ("BFloat16", struct.pack("<2H", 0x3F80, 0x4000), struct.pack("<2H", 0x3F80, 0x4040), 1.0),
        ("Complex64", floats(1, 0, 3, 4), floats(1, 0, 0, 0), 5.0),
        ("Int8", b"\xff\x01", b"\x01\x01", 2.0),
        ("Uint8", b"\xff\x01", b"\x01\x01", 254.0),
        ("Quantized8Asymm", b"\xff\x01", b"\x01\x01", 254.0),
        ("Uint16", b"\xff\xff", b"\0\0", 65535.0),
        ("Int16", b"\xff\xff", b"\0\0", 1.0),
        ("Int64", struct.pack("<q", 2**60), struct.pack("<q", 2**60 + 1), 1.0),
        ("Int64", struct.pack("<q", 2**63 - 1), struct.pack("<q", -(2**63)), 2.0**64),
        ("Uint64", struct.pack("<Q", 2**64 - 1), bytes(8), 2.0**64),
        ("Complex128", struct.pack("<2d", 3, 4), bytes(16), 5.0),
        ("QuantizedS4", b"\x21", b"\x2f", 14.0),
    ],
)
def test_differences_by_type(dtype: str, left: bytes, right: bytes, difference: float) -> None:
    found = compare(tensor(left, dtype), tensor(right, dtype), 0)

    assert (found.equal, found.largest_difference) == (False, difference)


@pytest.mark.parametrize(
    ("reduced", "text"),
    [
        (tensor(bytes(4), "Int32"), "data type Float32 became Int32"),
        (tensor(bytes(4), shape=(1, 1)), "shape (1,) became (1, 1)"),
        (tensor(bytes(8), shape=(1,)), "size 4 became 8"),
    ],
)
def test_other_types_and_shapes(reduced: Tensor, text: str) -> None:
    found = compare(tensor(bytes(4)), reduced, 1e30)

    assert found == Comparison(equal=False, largest_difference=math.inf, text=text)


CONSTANT = "the output out is constant: every number is 1"
QUARTERS = "QuantizedS4"


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (tensor(b"", shape=(0, 3)), "the output out is empty"),
        (tensor(floats(0.0, -0.0)), "the output out is constant: every number is 0"),
        (tensor(floats(1, math.inf)), CONSTANT),
        (tensor(b"\x11\x11", QUARTERS, (4,)), CONSTANT),
        # What fills up rows, or the last byte, is no number of the output.
        (tensor(b"\x11\x71\x11\x71", QUARTERS, (2, 3)), CONSTANT),
        (tensor(b"\x11\x01", QUARTERS, (3,)), CONSTANT),
        (tensor(b"\x07\x07", "Int8"), "the output out is constant: every number is 7"),
        (
            tensor(struct.pack("<2H", 0x7FC0, 0x7FC0), "BFloat16"),
            "the output out has 2 NaN or infinite numbers of 2",
        ),
        # One number that varies is enough; a single number cannot vary.
        (tensor(floats(0, 0, 1)), None),
        (tensor(floats(1, math.inf, -math.inf, 2)), None),
        (tensor(b"\x12\x12", QUARTERS, (4,)), None),
        (tensor(b"\x01", QUARTERS, (1,)), None),
        (tensor(struct.pack("<2q", 2**60, 2**60 + 1), "Int64"), None),
        (tensor(b"\x00\x01", "Bool"), None),
        (tensor(struct.pack("<2H", 0x3F80, 0x4000), "BFloat16"), None),
    ],
)
def test_outputs_that_prove_nothing(output: Tensor, why: str | None) -> None:
    assert arrays.refusal(output, EXACT) == why


@given(st.binary(min_size=16, max_size=64).map(lambda data: data[: len(data) // 16 * 16]))
def test_any_tensor_equals_itself(data: bytes) -> None:
    for dtype in BY_NAME:
        found = compare(tensor(data, dtype), tensor(data, dtype), 0)
        assert (found.equal, found.largest_difference) == (True, 0.0)
        arrays.refusal(tensor(data, dtype), EXACT)
