"""Attempts on parity, by programs that leave what they like; the device and its job are real."""

from __future__ import annotations

import io
import itertools
import math
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacks.arena import Arena
from attacks.documents import Documents, leaving
from megtrim.load_and_run.dtypes import BY_NUMBER

pytestmark = [pytest.mark.chain]

OUTPUTS, PRINTS = "{outputs}", "{model}"
"""The argument of an application that is given a folder, and of one that only prints."""

FLOAT, INT = 0, 4
"""Numbers of data types in a dump."""
RAMP = np.linspace(0.1, 0.9, 6, dtype="<f4")


def dumped(values: NDArray[Any], number: int = FLOAT, shape: tuple[int, ...] = ()) -> bytes:
    """Return a dumped output, as the engine's program writes it."""
    dims = (shape or values.shape) + (0,) * 7
    return struct.pack("<III7I", 4, number, 7, *dims[:7]) + b"var=" + values.tobytes()


def npy(values: NDArray[Any]) -> bytes:
    """Return a .npy file."""
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


Outputs = Mapping[str, bytes]
Plays = Callable[..., None]


@pytest.fixture
def expect_parity(arena: Arena) -> Plays:
    """Return what lets programs leave outputs, and expects a broken parity up to the gate."""
    documents = Documents(arena)

    def play(plain: Outputs, reduced: Outputs, *, tolerance: float = 0.0, by: str = "") -> None:
        documents.start()
        pair = leaving(plain), leaving(reduced)
        row = documents.play(*pair, tolerance=tolerance, application=by)
        assert row["status"] == "parity", row
        documents.conclude().expect_red()

    return play


def test_zeros_within_an_absolute_tolerance(expect_parity: Plays) -> None:
    """Everything there is below the bound."""
    scores = np.exp(np.linspace(-2, 1, 1000))
    softmax = (scores / scores.sum()).astype("<f4")
    assert softmax.max() < 0.02

    expect_parity({"o": dumped(softmax)}, {"o": dumped(softmax * 0)}, tolerance=0.02)


def test_a_tolerance_without_bound(expect_parity: Plays) -> None:
    """Whatever is compared."""
    expect_parity({"o": dumped(RAMP)}, {"o": dumped(-RAMP)}, tolerance=1e9)


def test_a_tolerance_that_is_no_number(arena: Arena) -> None:
    """Before anything is built."""
    arena.start("honest")
    for text in (".nan", ".inf", "-1.0", "1e400", "yes"):
        config = arena.kept("honest") / "megtrim.yaml"
        more = f"verify: {{tolerance: {text}}}\n"
        arena.project.config.write_text(config.read_text(encoding="utf-8") + more, "utf-8")
        assert arena.trim().rc == 2, text


def test_one_huge_value_stretches_the_range(expect_parity: Plays) -> None:
    """Of those that are finite, none is above the bound."""
    plain = np.array([math.inf, *RAMP], dtype="<f4")
    reduced = np.array([math.inf, *RAMP * 0], dtype="<f4")

    expect_parity({"o": dumped(plain)}, {"o": dumped(reduced)}, tolerance=1.0)


def test_nearly_all_not_a_number(expect_parity: Plays) -> None:
    """Two numbers are left that vary."""
    values = np.full(1000, math.nan, dtype="<f4")
    values[:2] = (1, 2)

    expect_parity({"o": dumped(values)}, {"o": dumped(values)})


def test_all_infinite(expect_parity: Plays) -> None:
    """They vary by their sign."""
    values = np.array([math.inf, -math.inf] * 4, dtype="<f4")

    expect_parity({"o": dumped(values)}, {"o": dumped(values)})


def test_not_a_number_in_reduced_alone(expect_parity: Plays) -> None:
    """Its difference is no number either."""
    reduced = RAMP.copy()
    reduced[3] = math.nan

    expect_parity({"o": dumped(RAMP)}, {"o": dumped(reduced)}, tolerance=0.5)


def test_a_constant_tensor(expect_parity: Plays) -> None:
    """Equal to the last bit."""
    expect_parity({"o": dumped(RAMP * 0)}, {"o": dumped(RAMP * 0)})


def test_a_constant_tensor_but_for_not_a_number(expect_parity: Plays) -> None:
    """The other numbers are the same."""
    values = RAMP * 0
    values[0] = math.nan

    expect_parity({"o": dumped(values)}, {"o": dumped(values)})


def test_a_constant_integer_tensor(expect_parity: Plays) -> None:
    """Of each type that is one or more bytes wide."""
    for number, element in BY_NUMBER.items():
        if element.is_float or element.bits < 8:
            continue
        values = np.full(8, 3, dtype=element.numpy)
        expect_parity({"o": dumped(values, number)}, {"o": dumped(values, number)})


def test_a_constant_raw_file(expect_parity: Plays) -> None:
    """No one says what its bytes mean."""
    expect_parity({"o.bin": bytes(4000)}, {"o.bin": bytes(4000)}, by=OUTPUTS)


def test_a_constant_text(expect_parity: Plays) -> None:
    """The same word again and again."""
    text = b"0.0 0.0 0.0\n0.0 0.0 0.0\n"

    expect_parity({"": text}, {"": text}, by=PRINTS)
    expect_parity({"o.txt": text}, {"o.txt": text}, by=OUTPUTS)


def test_a_constant_big_endian_array(expect_parity: Plays) -> None:
    """Numbers all the same."""
    for kind in (">f4", ">f8", ">i4", ">u2"):
        data = npy(np.ones(8, dtype=kind))
        expect_parity({"o.npy": data}, {"o.npy": data}, by=OUTPUTS)


def test_a_constant_complex_array(expect_parity: Plays) -> None:
    """In both widths and orders."""
    for kind in ("<c8", "<c16", ">c8", ">c16"):
        data = npy(np.full(8, 1 + 2j, dtype=kind))
        expect_parity({"o.npy": data}, {"o.npy": data}, by=OUTPUTS)


def test_an_output_is_missing(expect_parity: Plays) -> None:
    """The other is equal."""
    expect_parity({"a": dumped(RAMP), "b": dumped(RAMP)}, {"a": dumped(RAMP)})


def test_an_output_is_renamed(expect_parity: Plays) -> None:
    """With the same bytes."""
    expect_parity({"a": dumped(RAMP)}, {"b": dumped(RAMP)})


def test_an_output_too_many(expect_parity: Plays) -> None:
    """Nothing of plain's is there to compare it with."""
    expect_parity({"a": dumped(RAMP)}, {"a": dumped(RAMP), "b": dumped(RAMP)})


def test_no_output_at_all(expect_parity: Plays) -> None:
    """Nothing equals nothing."""
    expect_parity({}, {})
    expect_parity({}, {}, by=OUTPUTS)
    expect_parity({}, {}, by=PRINTS)


def test_an_empty_output(expect_parity: Plays) -> None:
    """A file without elements, and one without bytes."""
    empty = dumped(np.empty(0, dtype="<f4"))

    expect_parity({"o": empty}, {"o": empty})
    expect_parity({"o": b""}, {"o": b""})
    expect_parity({"o.bin": b""}, {"o.bin": b""}, by=OUTPUTS)


def test_another_type_of_equal_bytes(expect_parity: Plays) -> None:
    """Floating point became integers."""
    expect_parity({"o": dumped(RAMP)}, {"o": dumped(RAMP, INT)}, tolerance=0.1)
    plain, reduced = npy(RAMP), npy(RAMP.view("<i4"))
    expect_parity({"o.npy": plain}, {"o.npy": reduced}, tolerance=0.1, by=OUTPUTS)


def test_another_shape_of_equal_bytes(expect_parity: Plays) -> None:
    """2 x 3 became 3 x 2."""
    expect_parity(
        {"o": dumped(RAMP, shape=(2, 3))}, {"o": dumped(RAMP, shape=(3, 2))}, tolerance=0.1
    )


def test_another_order_of_equal_bytes(expect_parity: Plays) -> None:
    """A square that was turned over its diagonal."""
    square = np.arange(9, dtype="<f4").reshape(3, 3)
    turned = np.asfortranarray(square.T)

    expect_parity({"o.npy": npy(square)}, {"o.npy": npy(turned)}, tolerance=0.1, by=OUTPUTS)


def test_another_byte_order_of_equal_bytes(expect_parity: Plays) -> None:
    """The numbers are others."""
    plain, reduced = npy(RAMP), npy(RAMP.view(">f4"))

    expect_parity({"o.npy": plain}, {"o.npy": reduced}, tolerance=0.1, by=OUTPUTS)


def test_an_output_is_cut_off(expect_parity: Plays) -> None:
    """By a byte, by half, by all but its header."""
    for data, by in ((dumped(RAMP), ""), (npy(RAMP), OUTPUTS)):
        for length in (len(data) - 1, len(data) // 2, 20):
            expect_parity({"o.npy": data}, {"o.npy": data[:length]}, tolerance=0.1, by=by)


def test_an_output_is_too_long(expect_parity: Plays) -> None:
    """By a byte, by a whole second output."""
    for data, by in ((dumped(RAMP), ""), (npy(RAMP), OUTPUTS)):
        for more in (b"\0", data):
            expect_parity({"o.npy": data}, {"o.npy": data + more}, tolerance=0.1, by=by)


def test_a_tolerance_for_integers(expect_parity: Plays) -> None:
    """There is none."""
    values = np.arange(8, dtype="<i4")

    expect_parity({"o": dumped(values, INT)}, {"o": dumped(values + 1, INT)}, tolerance=2.0)


def test_a_real_engine_that_computes_something_else(arena: Arena) -> None:
    """By one bit; and what plays in the other tests passes where nothing is wrong."""
    arena.start("bad")
    assert arena.trim().rc == 1
    assert {each["status"] for each in arena.verdict()["scenarios"]} == {"parity"}

    documents = Documents(arena)
    for data, by in itertools.product((dumped(RAMP), npy(RAMP)), ("", OUTPUTS)):
        if (by == "") is data.startswith(b"\x93NUMPY"):
            continue
        documents.start()
        row = documents.play(*[leaving({"o.npy": data})] * 2, application=by)
        assert row["status"] == "pass", row
    assert Path(documents.folder, "bundle").is_dir()
