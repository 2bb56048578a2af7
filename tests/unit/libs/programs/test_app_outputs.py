import io
import math
import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.libs.programs import app_outputs
from megtrim.libs.programs.app_outputs import PRINTED, OutputFile, parse_written
from megtrim.libs.programs.arrays import Comparison
from megtrim.libs.programs.parity import EXACT, Tolerance
from megtrim.libs.util.errors import InputError


def compare(plain: OutputFile, reduced: OutputFile, tolerance: float) -> Comparison:
    return app_outputs.compare(plain, reduced, Tolerance(absolute=tolerance))


def refusal(output: OutputFile) -> str | None:
    return app_outputs.refusal(output, EXACT)


def npy(values: object, dtype: npt.DTypeLike = "<f4", *, fortran: bool = False) -> bytes:
    stream = io.BytesIO()
    array = np.array(values, dtype=dtype, order="F" if fortran else "C")
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def read(data: bytes, name: str = "a.npy") -> OutputFile:
    return parse_written(data, name=name, source=f"plain output {name}")


@pytest.mark.parametrize(
    ("dtype", "named"),
    [
        ("<f4", "Float32"),
        ("<f2", "Float16"),
        ("<f8", "Float64"),
        ("|i1", "Int8"),
        ("|u1", "Uint8"),
        ("<i4", "Int32"),
        ("<i8", "Int64"),
        ("|b1", "Bool"),
        ("<c8", "Complex64"),
        ("<c16", "Complex128"),
    ],
)
def test_a_file_of_numpy_is_a_tensor(dtype: str, named: str) -> None:
    tensor = read(npy([[1, 0, 1], [0, 1, 1]], dtype)).tensor

    assert tensor is not None
    assert (tensor.dtype, tensor.shape) == (named, (2, 3))
    assert tensor.data == np.array([[1, 0, 1], [0, 1, 1]], dtype=dtype).tobytes()


def test_other_elements_are_bytes() -> None:
    for dtype in ("<U1", "<M8[s]", "<f16", "<c32", [("a", "<f4"), ("b", "<i2")]):
        assert read(npy(np.zeros(2, dtype), dtype)).tensor is None
    assert read(npy(["a", "b"], "<U1")).tensor is None
    assert read(b"anything", "report.txt").tensor is None


def test_a_tensor_may_differ_within_the_tolerance() -> None:
    plain = read(npy([1.0, 2.0, 4.0]))
    reduced = read(npy([1.0, 2.5, 4.0]))

    assert compare(plain, reduced, 0.5) == Comparison(equal=True, largest_difference=0.5, text="")
    assert compare(plain, reduced, 0.25).text == "largest difference 0.5, allowed is 0.25"
    assert compare(plain, plain, 0.0).equal
    other = compare(plain, read(npy([[1.0, 2.0, 4.0]])), 9.0)
    assert other.text == "shape (3,) became (1, 3)"


def test_orders_of_fortran_are_other_shapes() -> None:
    values = [[1, 2, 3], [4, 5, 6]]
    turned = read(npy(values, fortran=True)).tensor

    assert turned is not None
    assert turned.shape == (3, 2)
    by_rows = read(npy([[1, 2], [3, 4]]))
    by_columns = read(npy([[1, 3], [2, 4]], fortran=True))

    assert by_rows.tensor == by_columns.tensor
    assert not compare(by_rows, by_columns, 0.0).equal


def test_anything_else_is_compared_byte_by_byte() -> None:
    plain = read(b"cat 0.5\n", "out.txt")

    assert compare(plain, read(b"cat 0.5\n", "out.txt"), 0.0).equal
    assert compare(plain, read(b"cat 0.6\n", "out.txt"), 9.0) == Comparison(
        equal=False, largest_difference=math.inf, text="differs from byte 7 on (8 against 8 bytes)"
    )
    shorter = compare(plain, read(b"cat", "out.txt"), 0.0)
    assert shorter.text == "differs from byte 4 on (8 against 3 bytes)"


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "i4", "i8", "u2", "u8", "c8", "c16"])
def test_the_order_of_bytes_is_no_difference(dtype: str) -> None:
    little = read(npy([1, 2, 3], f"<{dtype}"))
    big = read(npy([1, 2, 3], f">{dtype}"))

    assert little.tensor == big.tensor
    assert compare(little, big, 0.0).equal
    assert not compare(big, read(npy([1, 2, 4], f">{dtype}")), 0.5).equal
    is_float = dtype[0] in "fc"
    assert compare(big, read(npy([1, 2, 4], f">{dtype}")), 1.0).equal is is_float
    assert refusal(read(npy([2, 2, 2], f">{dtype}"))) == (
        f"the output a.npy is constant: every number is {'2+0j' if dtype[0] == 'c' else 2}"
    )


@pytest.mark.parametrize(
    ("records", "said"),
    [
        (np.array([(1, 2), (1, 2)], [("a", "<f4"), ("b", "<i2")]), "every record is the same"),
        (np.array(["cat", "cat"]), "every record is the same"),
        (np.array(["2027-01-31"] * 3, "<M8[D]"), "every record is the same"),
        (np.zeros(4, "<f16"), "every record is the same"),
        (np.zeros(0, "<U4"), "is empty"),
        (np.array([(1, 2), (1, 3)], [("a", "<f4"), ("b", "<i2")]), None),
        (np.array(["cat", "dog"]), None),
        (np.array("cat"), None),
    ],
)
def test_records_that_repeat_prove_nothing(records: np.ndarray[Any, Any], said: str | None) -> None:
    found = refusal(read(npy(records, records.dtype)))

    assert (found is None) if said is None else (found is not None and found.endswith(said))


@pytest.mark.parametrize(
    ("data", "name", "said"),
    [
        (b"", PRINTED, "the output standard output is empty"),
        (b" \n\n", PRINTED, "the output standard output is empty"),
        (b"\x00\xff\xfe1", PRINTED, None),
        ("a\N{REPLACEMENT CHARACTER}".encode(), "a.bin", None),
        (b"1", PRINTED, None),
        (b"0 0 0\n", PRINTED, "the output standard output is constant: every number is 0"),
    ],
)
def test_what_proves_nothing_is_refused(data: bytes, name: str, said: str | None) -> None:
    assert refusal(read(data, name)) == said


@pytest.mark.parametrize(("values", "dtype"), [([1.0, 2.0], "<f4"), (["cat", "dog"], "<U3")])
def test_a_file_that_is_cut_off_is_refused(values: list[object], dtype: str) -> None:
    for data in (npy(values, dtype)[:-1], npy(values, dtype) + b"x", npy(values, dtype)[:40]):
        with pytest.raises(InputError, match=r"plain output a\.npy: not an intact \.npy file: "):
            read(data)


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
    assert refusal(read(data, "o")) == f"the output o {said}"


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
    assert refusal(read(data, "o")) is None


@given(st.binary(min_size=1, max_size=16), st.integers(2, 9))
def test_bytes_of_any_number_that_is_repeated_are_refused(unit: bytes, times: int) -> None:
    for width in (1, 2, 4, 8, 16):
        data = b"\xff" + (unit * 16)[: width - 1]
        assert refusal(read(data * times, "o")) is not None


@given(st.binary(max_size=200))
def test_any_bytes_have_an_answer(data: bytes) -> None:
    said = refusal(read(data, "o"))
    assert said is None or said.startswith("the output o ")
