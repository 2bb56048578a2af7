import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from megtrim.libs.programs.made_inputs import is_made, make, make_any, spell_values
from megtrim.libs.util.errors import InputError


def read(
    text: str, *, dtype: str = "Float32", shape: tuple[int, ...] | None = (2, 3)
) -> NDArray[Any]:
    data = make(text, "data", dtype=dtype, shape=shape, source="here")
    array: NDArray[Any] = np.load(io.BytesIO(data))
    return array


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "[1.5]"),
        ([0, 0, 255, 255], "[0, 0, 255, 255]"),
        ([[1, 2], [3, 4]], "[[1, 2], [3, 4]]"),
        ("inputs/cat.npy", "inputs/cat.npy"),
        ("#rand(0,1)", "#rand(0,1)"),
        (True, True),
        (float("nan"), None),
    ],
)
def test_numbers_become_text(value: object, text: object) -> None:
    found = spell_values(value)

    assert found is value if text is None else found == text


@pytest.mark.parametrize(
    ("text", "made"),
    [("#rand(0, 1)", True), ("[1, 2]", True), ("inputs/#1.npy", False), ("a[0].npy", False)],
)
def test_values_are_told_from_files(text: str, made: bool) -> None:
    assert is_made(Path(text)) is made


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [("Float32", 0, 1), ("Float16", 0, 1), ("Uint8", 0, 100), ("Int32", 0, 100)],
)
def test_random_numbers_are_the_same_each_time(dtype: str, low: int, high: int) -> None:
    first = read(make_any(dtype), dtype=dtype, shape=(2, 50))
    second = read(make_any(dtype), dtype=dtype, shape=(2, 50))
    other = np.load(io.BytesIO(make("#rand(0,1)", "b", dtype="Float32", shape=(2,), source="")))

    assert first.shape == (2, 50)
    assert first.min() >= low
    assert first.max() <= high
    assert np.array_equal(first, second)
    assert len(np.unique(first)) > 30
    assert not np.array_equal(first.reshape(-1)[:2], other)


def test_the_first_numbers_stay_what_they_are() -> None:
    """A keep set holds the digest of an input, on every machine."""
    found = read("#rand(0, 1)", shape=(3,))

    assert np.allclose(np.asarray(found), FIRST, atol=1e-7, rtol=0)


FIRST = (0.3793671, 0.25180626, 0.192584)


@pytest.mark.parametrize(
    ("text", "shape", "values"),
    [
        ("[1, 2, 3, 4, 5, 6]", (2, 3), [[1, 2, 3], [4, 5, 6]]),
        ("[0.5]", None, [0.5]),
        ("[[1, 2], [3, 4]]", (2, 2), [[1, 2], [3, 4]]),
    ],
)
def test_values_take_the_shape_of_the_model(
    text: str, shape: tuple[int, ...] | None, values: list[Any]
) -> None:
    assert np.array_equal(np.asarray(read(text, shape=shape)), values)


def test_a_shape_may_be_written() -> None:
    assert np.asarray(read("#rand(-1, 1, 4, 2)", shape=None)).shape == (4, 2)


@pytest.mark.parametrize(
    ("text", "dtype", "shape", "wrong"),
    [
        ("#rand", "Float32", (2,), "expected #rand"),
        ("#rand(0)", "Float32", (2,), "expected #rand"),
        ("#rand(1, 0)", "Float32", (2,), "the lower one first"),
        ("#rand(0, 1e999)", "Float32", (2,), "finite numbers"),
        ("#rand(0, 1)", "Float32", None, "has no shape"),
        ("#rand(0, 1)", "Float32", (2**40,), "at most"),
        ("#rand(0, 1)", "Int8", (9,), "proves nothing"),
        ("#rand(0, 300)", "Uint8", (900,), "from 0 to 255"),
        ("#rand(0, 1)", "Quantized4Asymm", (9,), "data type"),
        ("[1, 2", "Float32", (2,), "expected numbers"),
        ("[1, [2]]", "Float32", (2,), "expected numbers"),
        ('["a"]', "Float32", (1,), "expected numbers"),
        ("[]", "Float32", (0,), "finite numbers"),
        ("[1, 2, 3]", "Float32", (2, 2), "found 3 values"),
    ],
)
def test_what_cannot_be_made_is_refused(
    text: str, dtype: str, shape: tuple[int, ...] | None, wrong: str
) -> None:
    with pytest.raises(InputError) as refused:
        make(text, "data", dtype=dtype, shape=shape, source="megtrim.yaml:3")

    assert refused.value.message.startswith("megtrim.yaml:3: ")
    assert wrong in refused.value.message
