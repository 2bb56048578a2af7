"""Attempts on parity, by programs that leave what they like; the device and its job are real."""

import io
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacks.arena import Arena
from attacks.documents import Documents, leaving
from megtrim.engines.load_and_run.dump import BY_NUMBER

pytestmark = [pytest.mark.chain]

OUTPUTS = "{outputs}"
PRINTS = "{model}"
"""The argument of an application that is given a folder, and of one that only prints."""

FLOAT = 0
INT = 4
"""Numbers of data types in a dump."""
RAMP = np.linspace(0.1, 0.9, 6, dtype="<f4")
NUMBERS = np.arange(8, dtype="<i4")
SQUARE = np.arange(9, dtype="<f4").reshape(3, 3)
SCORES = np.exp(np.linspace(-2, 1, 1000))
SOFTMAX = (SCORES / SCORES.sum()).astype("<f4")
"""Everything there is below 0.02."""
MOSTLY_NAN = np.array([1, 2, *[math.nan] * 998], dtype="<f4")
INFINITIES = np.array([math.inf, -math.inf] * 4, dtype="<f4")
TEXT = b"0.0 0.0 0.0\n0.0 0.0 0.0\n"


def dumped(values: NDArray[Any], number: int = FLOAT, shape: tuple[int, ...] = ()) -> bytes:
    dims = (shape or values.shape) + (0,) * 7
    return struct.pack("<III7I", 4, number, 7, *dims[:7]) + b"var=" + values.tobytes()


def npy(values: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


Outputs = Mapping[str, bytes]
Play = tuple[Outputs, Outputs, float, str]
"""Outputs of both programs, the absolute tolerance, and the argument of an application."""


def play(plain: Outputs, reduced: Outputs, *, tolerance: float = 0.0, by: str = "") -> Play:
    return plain, reduced, tolerance, by


def differ(plain: bytes, reduced: bytes, tolerance: float, name: str = "o", by: str = "") -> Play:
    return play({name: plain}, {name: reduced}, tolerance=tolerance, by=by)


def same(data: bytes, name: str = "o", by: str = "") -> Play:
    return play({name: data}, {name: data}, by=by)


def with_first(values: NDArray[Any], first: float) -> NDArray[Any]:
    return np.array([first, *values[1:]], dtype=values.dtype)


def npy_pair(plain: NDArray[Any], reduced: NDArray[Any]) -> Play:
    return differ(npy(plain), npy(reduced), 0.1, "o.npy", OUTPUTS)


_FORMS = ((dumped(RAMP), ""), (npy(RAMP), OUTPUTS))
_EMPTY = dumped(np.empty(0, dtype="<f4"))
ATTEMPTS: dict[str, tuple[Play, ...]] = {
    "zeros_within_an_absolute_tolerance": (differ(dumped(SOFTMAX), dumped(SOFTMAX * 0), 0.02),),
    "a_tolerance_without_bound": (differ(dumped(RAMP), dumped(-RAMP), 1e9),),
    "one_huge_value_stretches_the_range": (
        differ(
            dumped(np.array([math.inf, *RAMP], dtype="<f4")),
            dumped(np.array([math.inf, *RAMP * 0], dtype="<f4")),
            1.0,
        ),
    ),
    "nearly_all_not_a_number": (same(dumped(MOSTLY_NAN)),),
    "all_infinite": (same(dumped(INFINITIES)),),
    "not_a_number_in_reduced_alone": (
        differ(dumped(RAMP), dumped(with_first(RAMP, math.nan)), 0.5),
    ),
    "a_constant_tensor": (same(dumped(RAMP * 0)),),
    "a_constant_tensor_but_for_not_a_number": (same(dumped(with_first(RAMP * 0, math.nan))),),
    "a_constant_integer_tensor": tuple(
        same(dumped(np.full(8, 3, dtype=element.numpy), number))
        for number, element in BY_NUMBER.items()
        if not element.is_float and element.bits >= 8
    ),
    "a_constant_raw_file": (same(bytes(4000), "o.bin", OUTPUTS),),
    "a_constant_text": (same(TEXT, "", PRINTS), same(TEXT, "o.txt", OUTPUTS)),
    "a_constant_big_endian_array": tuple(
        same(npy(np.ones(8, dtype=kind)), "o.npy", OUTPUTS) for kind in (">f4", ">f8", ">i4", ">u2")
    ),
    "a_constant_complex_array": tuple(
        same(npy(np.full(8, 1 + 2j, dtype=kind)), "o.npy", OUTPUTS)
        for kind in ("<c8", "<c16", ">c8", ">c16")
    ),
    "an_output_is_missing": (play({"a": dumped(RAMP), "b": dumped(RAMP)}, {"a": dumped(RAMP)}),),
    "an_output_is_renamed": (play({"a": dumped(RAMP)}, {"b": dumped(RAMP)}),),
    "an_output_too_many": (play({"a": dumped(RAMP)}, {"a": dumped(RAMP), "b": dumped(RAMP)}),),
    "no_output_at_all": tuple(play({}, {}, by=by) for by in ("", OUTPUTS, PRINTS)),
    "an_empty_output": (same(_EMPTY), same(b""), same(b"", "o.bin", OUTPUTS)),
    "another_type_of_equal_bytes": (
        differ(dumped(RAMP), dumped(RAMP, INT), 0.1),
        npy_pair(RAMP, RAMP.view("<i4")),
    ),
    "another_shape_of_equal_bytes": (
        differ(dumped(RAMP, shape=(2, 3)), dumped(RAMP, shape=(3, 2)), 0.1),
    ),
    "another_order_of_equal_bytes": (npy_pair(SQUARE, np.asfortranarray(SQUARE.T)),),
    "another_byte_order_of_equal_bytes": (npy_pair(RAMP, RAMP.view(">f4")),),
    "an_output_is_cut_off": tuple(
        differ(data, data[:length], 0.1, "o.npy", by)
        for data, by in _FORMS
        for length in (len(data) - 1, len(data) // 2, 20)
    ),
    "an_output_is_too_long": tuple(
        differ(data, data + more, 0.1, "o.npy", by) for data, by in _FORMS for more in (b"\0", data)
    ),
    "a_tolerance_for_integers": (differ(dumped(NUMBERS, INT), dumped(NUMBERS + 1, INT), 2.0),),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_attempt(arena: Arena, attempt: str) -> None:
    documents = Documents(arena)
    for plain, reduced, tolerance, by in ATTEMPTS[attempt]:
        documents.start()
        pair = leaving(plain), leaving(reduced)
        row = documents.play(*pair, tolerance=tolerance, application=by)
        assert row["status"] == "parity", row
        documents.conclude().expect_red()


def test_a_tolerance_that_is_no_number(arena: Arena) -> None:
    arena.start("honest")
    for text in (".nan", ".inf", "-1.0", "1e400", "yes"):
        config = arena.kept("honest") / "megtrim.yaml"
        more = f"verify: {{tolerance: {text}}}\n"
        arena.project.config.write_text(config.read_text(encoding="utf-8") + more, "utf-8")
        assert arena.trim().rc == 2, text


def test_a_real_engine_that_computes_something_else(arena: Arena) -> None:
    """By one bit; and what plays in the other tests passes where nothing is wrong."""
    arena.start("bad")
    assert arena.trim().rc == 1
    assert {each["status"] for each in arena.verdict()["scenarios"]} == {"parity"}

    documents = Documents(arena)
    for data, by in _FORMS:
        documents.start()
        row = documents.play(*[leaving({"o.npy": data})] * 2, application=by)
        assert row["status"] == "pass", row
