"""A model's inputs in ``.npy`` files, changed: other values, another batch, another size.

Pure: bytes in, bytes out, the same for the same. An input of another kind is left as it is: None.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megtrim.errors import InputError

LARGEST_BYTES = 256 * 1024 * 1024
_IMAGE_DIMENSIONS = 4
"""Batch, channels, height, width: what has a size that a model may take otherwise."""

_NUMBERS = "biuf"
_OF_DTYPE = {
    "Float32": "<f4",
    "Int8": "|i1",
    "QuantizedS8": "|i1",
    "Uint8": "|u1",
    "Int32": "<i4",
}
"""Data types of inputs that can be made up, and their elements in a file."""
_STEPS = 97
"""Values of a made-up input: a prime, so that rows and channels do not look alike."""


class Change(StrEnum):
    """What is changed of an input."""

    VALUES = "values"
    BATCH = "batch"
    SMALLER = "smaller"
    LARGER = "larger"


def changed(data: bytes, change: Change, *, source: str) -> bytes | None:
    """Return a ``.npy`` file with the change; None where that would not be one.

    Raises InputError for what is no such file.
    """
    array = _read(data, source)
    if array.dtype.kind not in _NUMBERS or array.size == 0:
        return None
    made = _HOW[change](array)
    if made is None or made.nbytes > LARGEST_BYTES:
        return None
    return None if np.array_equal(made, array) else _written(made)


def made_up(dtype: str, shape: tuple[int, ...]) -> bytes | None:
    """Return an input for a model that was given none; None for a type that has no plain file."""
    element = _OF_DTYPE.get(dtype)
    count = math.prod(shape)
    if element is None or not 0 < count * np.dtype(element).itemsize <= LARGEST_BYTES:
        return None
    steps = np.arange(count, dtype=np.int64) % _STEPS
    values = steps / _STEPS if dtype == "Float32" else steps
    return _written(values.reshape(shape).astype(element))


def _read(data: bytes, source: str) -> NDArray[Any]:
    try:
        if len(data) > LARGEST_BYTES:
            msg = f"{len(data)} bytes are too many"
            raise ValueError(msg)
        array: NDArray[Any] = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError, OSError, MemoryError, SyntaxError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        msg = f"{source}: no .npy file: {first[:200]}"
        raise InputError(msg, hint="write it with numpy.save") from None
    return array


def _written(array: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(array), (1, 0), allow_pickle=False)
    return stream.getvalue()


def _reversed(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers in another order: what is a good input stays one."""
    return array.reshape(-1)[::-1].reshape(array.shape)


def _doubled(array: NDArray[Any]) -> NDArray[Any] | None:
    return np.concatenate([array, array]) if array.ndim > 1 else None


def _smaller(array: NDArray[Any]) -> NDArray[Any] | None:
    big = array.ndim == _IMAGE_DIMENSIONS and min(array.shape[-2:]) > 1
    return array[..., : array.shape[-2] // 2, : array.shape[-1] // 2] if big else None


def _larger(array: NDArray[Any]) -> NDArray[Any] | None:
    return np.tile(array, (1, 1, 2, 2)) if array.ndim == _IMAGE_DIMENSIONS else None


_HOW: Mapping[Change, Callable[[NDArray[Any]], NDArray[Any] | None]] = {
    Change.VALUES: _reversed,
    Change.BATCH: _doubled,
    Change.SMALLER: _smaller,
    Change.LARGER: _larger,
}
