import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.engines.load_and_run.dump import parse_dump
from megtrim.libs.programs.arrays import Tensor
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


def refused(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        parse_dump(data, name="run0-var178", source="out/run0-var178")
    assert "--bin-out-dump" in caught.value.hint
    return caught.value.message.removeprefix("out/run0-var178: the dumped output is damaged: ")


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
        assert error.message.startswith("out/o: the dumped output is damaged: ")
