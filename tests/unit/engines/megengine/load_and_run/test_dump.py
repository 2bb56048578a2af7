import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.engines.megengine.load_and_run import dump
from megtrim.engines.megengine.load_and_run.dump import BY_NAME, Comparison, Tensor, parse_dump
from megtrim.libs.programs.parity import EXACT, Tolerance
from megtrim.libs.util.errors import InputError

WITH_RTTI = (
    "var={id:178, shape:{1,3}, Float32, owner:ADD(x,y)[177]{Elemwise}, name:out, slot:0, "
    'CompNode("cpu0:0" from "cpux:0"), s, 2, 8} owner_opr_inputs= 0={id:173}'
)


def dumped(
    data: bytes, *, number: int = 0, shape: tuple[int, ...] = (1, 3), text: str = WITH_RTTI
) -> bytes:
    places = (*shape, *(0,) * (7 - len(shape)))
    return struct.pack("<10I", len(text), number, 7, *places) + text.encode() + data


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def tensor(data: bytes, dtype: str = "Float32", shape: tuple[int, ...] | None = None) -> Tensor:
    width = BY_NAME[dtype].bits // 8 or 1
    return Tensor(name="out", dtype=dtype, shape=shape or (len(data) // width,), data=data)


def compare(plain: Tensor, reduced: Tensor, tolerance: float) -> Comparison:
    return dump.compare(plain, reduced, Tolerance(absolute=tolerance))


def refused(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        parse_dump(data, name="run0-var178", source="out/run0-var178")
    assert "--bin-out-dump" in caught.value.hint
    return caught.value.message.removeprefix("out/run0-var178: not an intact dumped output: ")


@pytest.mark.parametrize("text", [WITH_RTTI, WITH_RTTI.replace("{Elemwise}", "{}")])
def test_dump_is_read(text: str) -> None:
    data = floats(1, 2, 3)

    found = parse_dump(dumped(data, text=text), name="run0-var178", source="x")

    assert found == Tensor(name="run0-var178", dtype="Float32", shape=(1, 3), data=data)


@pytest.mark.parametrize("places", [1, 64])
def test_engine_with_other_numbers_of_dimensions(places: int) -> None:
    data = struct.pack(f"<{3 + places}I", 0, 2, places, 2, *(0,) * (places - 1)) + b"ab"

    assert parse_dump(data, name="o", source="x").shape == (2,)


@pytest.mark.parametrize(
    ("number", "dtype", "shape", "size"),
    [
        (2, "Int8", (5,), 5),
        (9, "Float16", (2, 2), 8),
        (14, "Complex64", (2,), 16),
        (100_001, "QuantizedS32", (3,), 12),
        (100_004, "QuantizedS4", (2, 3), 3),
        (100_004, "QuantizedS4", (2, 3), 4),
        (5, "IntB1", (9,), 2),
        (0, "Float32", (1, 1, 1, 1, 1, 1, 2), 8),
        (0, "Float32", (), 0),
        (0, "Float32", (3, 0, 5), 0),
    ],
)
def test_types_and_shapes(number: int, dtype: str, shape: tuple[int, ...], size: int) -> None:
    """The width of an element decides the size; small elements are packed, or filled by row."""
    data = bytes(range(size))

    found = parse_dump(dumped(data, number=number, shape=shape), name="o", source="x")

    assert (found.dtype, found.shape, found.data) == (dtype, shape, data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "0 bytes, a header has 12"),
        (bytes(11), "11 bytes, a header has 12"),
        (bytes(12), "data type 0 and 0 places for dimensions"),
        (struct.pack("<3I", 0, 15, 7), "data type 15 and 7 places for dimensions"),
        (struct.pack("<3I", 0, 0, 65), "data type 0 and 65 places for dimensions"),
        (struct.pack("<3I", 0, 0, 7), "12 bytes, the header announces 40 before the tensor"),
        (dumped(b"", text="x" * 9)[:-1], "48 bytes, the header announces 49 before the tensor"),
        (dumped(floats(1, 2)), "a tensor of 8 bytes, Float32 (1, 3) takes 12"),
        (dumped(floats(1, 2, 3) + b"x"), "a tensor of 13 bytes, Float32 (1, 3) takes 12"),
        (
            dumped(b"", number=100_004, shape=(2, 3)),
            "a tensor of 0 bytes, QuantizedS4 (2, 3) takes 3 or 4",
        ),
        (dumped(b"", shape=(2**32 - 1,) * 7), "a tensor of 0 bytes, Float32 (4294967295, 42949"),
    ],
)
def test_files_that_are_no_whole_dump(data: bytes, message: str) -> None:
    assert refused(data).startswith(message)


@given(st.binary(max_size=120))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        parse_dump(data, name="o", source="out/o")
    except InputError as error:
        assert error.message.startswith("out/o: not an intact dumped output: ")


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
    assert dump.refusal(output, EXACT) == why


@given(st.binary(min_size=16, max_size=64).map(lambda data: data[: len(data) // 16 * 16]))
def test_any_tensor_equals_itself(data: bytes) -> None:
    for dtype in BY_NAME:
        found = compare(tensor(data, dtype), tensor(data, dtype), 0)
        assert (found.equal, found.largest_difference) == (True, 0.0)
        dump.refusal(tensor(data, dtype), EXACT)
