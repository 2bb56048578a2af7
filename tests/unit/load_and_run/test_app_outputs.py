"""What an application wrote: tensors within a tolerance, anything else byte by byte."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.errors import InputError
from megtrim.load_and_run import app_outputs
from megtrim.load_and_run.app_outputs import PRINTED, OutputFile, parse_written
from megtrim.load_and_run.dump import Comparison
from megtrim.load_and_run.parity import EXACT, Tolerance


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
    """Of its type and shape, with the bytes behind the header."""
    tensor = read(npy([[1, 0, 1], [0, 1, 1]], dtype)).tensor

    assert tensor is not None
    assert (tensor.dtype, tensor.shape) == (named, (2, 3))
    assert tensor.data == np.array([[1, 0, 1], [0, 1, 1]], dtype=dtype).tobytes()


def test_other_elements_are_bytes() -> None:
    """Texts, records, dates, and numbers that are laid out as the machine likes."""
    for dtype in ("<U1", "<M8[s]", "<f16", "<c32", [("a", "<f4"), ("b", "<i2")]):
        assert read(npy(np.zeros(2, dtype), dtype)).tensor is None
    assert read(npy(["a", "b"], "<U1")).tensor is None
    assert read(b"anything", "report.txt").tensor is None


def test_a_tensor_may_differ_within_the_tolerance() -> None:
    """And not without one, nor by more."""
    plain, reduced = read(npy([1.0, 2.0, 4.0])), read(npy([1.0, 2.5, 4.0]))

    assert compare(plain, reduced, 0.5) == Comparison(equal=True, largest_difference=0.5, text="")
    assert compare(plain, reduced, 0.25).text == "largest difference 0.5, allowed is 0.25"
    assert compare(plain, plain, 0.0).equal
    other = compare(plain, read(npy([[1.0, 2.0, 4.0]])), 9.0)
    assert other.text == "shape (3,) became (1, 3)"


def test_order_of_fortran_is_another_shape() -> None:
    """The same bytes would mean another tensor."""
    values = [[1, 2, 3], [4, 5, 6]]
    turned = read(npy(values, fortran=True)).tensor

    assert turned is not None
    assert turned.shape == (3, 2)


def test_anything_else_is_compared_byte_by_byte() -> None:
    """Whatever the tolerance; the first byte that differs is shown."""
    plain = read(b"cat 0.5\n", "out.txt")

    assert compare(plain, read(b"cat 0.5\n", "out.txt"), 0.0).equal
    assert compare(plain, read(b"cat 0.6\n", "out.txt"), 9.0) == Comparison(
        equal=False,
        largest_difference=math.inf,
        text="differs from byte 7 on (8 against 8 bytes)",
    )
    shorter = compare(plain, read(b"cat", "out.txt"), 0.0)
    assert shorter.text == "differs from byte 4 on (8 against 3 bytes)"


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "i4", "i8", "u2", "u8", "c8", "c16"])
def test_the_order_of_bytes_is_no_difference(dtype: str) -> None:
    """A big-endian file is the tensor that it means, for the tolerance and for what it proves."""
    little, big = read(npy([1, 2, 3], f"<{dtype}")), read(npy([1, 2, 3], f">{dtype}"))

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
def test_records_that_are_all_the_same_prove_nothing(
    records: np.ndarray[Any, Any], said: str | None
) -> None:
    """Nor does a file that is a header alone."""
    found = refusal(read(npy(records, records.dtype)))

    assert (found is None) if said is None else (found is not None and found.endswith(said))


@pytest.mark.parametrize(
    ("data", "name", "said"),
    [
        (b"", PRINTED, "the output standard output is empty"),
        (b" \n\n", PRINTED, "the output standard output is empty"),
        (b"", "a.bin", "the output a.bin is empty"),
        (
            "a\N{REPLACEMENT CHARACTER}".encode(),
            PRINTED,
            "the standard output is not all text (files in {outputs} may be binary)",
        ),
        (
            b"x" * (8 * 1024 * 1024 + 1),
            PRINTED,
            "the standard output is too long to be kept (files in {outputs} are kept whole)",
        ),
        ("a\N{REPLACEMENT CHARACTER}".encode(), "a.bin", None),
        (b"1", PRINTED, None),
        (b"0 0 0\n", PRINTED, "the output standard output is constant: every number is 0"),
        (bytes(64), "a.bin", "the output a.bin is constant: the bytes 00 over and over"),
    ],
)
def test_what_proves_nothing_is_refused(data: bytes, name: str, said: str | None) -> None:
    """Nothing at all, and what two different runs could have in common by chance."""
    assert refusal(read(data, name)) == said


def test_a_tensor_that_proves_nothing_is_refused() -> None:
    """As one that the engine dumped."""
    assert refusal(read(npy([]))) == "the output a.npy is empty"
    assert refusal(read(npy([2.0, 2.0]))) == "the output a.npy is constant: every number is 2"
    assert refusal(read(npy([math.nan]))) == "the output a.npy has 1 NaN or infinite numbers of 1"
    assert refusal(read(npy([1.0, 2.0]))) is None


def header(shape: str) -> bytes:
    """Return a file that is a header alone, whose shape stands there in these words."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


WHOLE = npy([1.0, 2.0])


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "no header of a known version"),
        (b"\x93NUMPY", "no header of a known version"),
        (b"\x93NUMPY\x09\x00\x00\x00", "no header of a known version"),
        (WHOLE[:40], "a header of 118 bytes in 40"),
        (WHOLE[:-1], "7 bytes for <f4 (2,)"),
        (WHOLE + b"x", "9 bytes for <f4 (2,)"),
        (npy(["cat", "dog"], "<U3")[:-1], "23 bytes for 2 elements"),
        (npy([], "<U3") + b"x", "1 bytes for 0 elements"),
        (WHOLE.replace(b"'<f4'", b"'|O' "), "Python objects, which are not read"),
        (WHOLE.replace(b"'shape'", b"'shap' "), "an invalid header"),
        (WHOLE.replace(b"(2,)", b"(-2)"), "an invalid shape"),
        (WHOLE.replace(b"{'descr'", b"x'descr' "), "an invalid header"),
        (header("(0x" + "f" * 9000 + ",)"), "an invalid shape"),
        (header("(2,)".ljust(9949)), "0 bytes for <f4 (2,)"),
        (header("(2,)".ljust(9950)), "a header of 10001 bytes in 10011"),
    ],
)
def test_a_damaged_file_is_shown(data: bytes, found: str) -> None:
    """One clear message, with what was found."""
    with pytest.raises(InputError) as caught:
        read(data)

    assert caught.value.message == f"plain output a.npy: not an intact .npy file: {found}"


@given(st.binary(max_size=80), st.integers(0, len(WHOLE)))
def test_no_bytes_end_in_another_error(noise: bytes, at: int) -> None:
    """Nor in much memory: a shape alone reserves nothing."""
    huge = WHOLE.replace(b"(2,)", b"(2000000000000,)")
    for data in (noise, WHOLE[:at] + noise + WHOLE[at:], b"\x93NUMPY\x01\x00" + noise, huge):
        try:
            read(data)
        except InputError as error:
            assert "not an intact .npy file" in error.message


def test_a_square_by_columns_is_not_one_by_rows() -> None:
    """Their bytes and shapes are equal, their values are not."""
    by_rows = read(npy([[1, 2], [3, 4]]))
    by_columns = read(npy([[1, 3], [2, 4]], fortran=True))

    assert by_rows.tensor == by_columns.tensor
    assert not compare(by_rows, by_columns, 0.0).equal
