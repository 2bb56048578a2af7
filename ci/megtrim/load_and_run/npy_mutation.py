"""Changes a model's inputs in ``.npy`` files: other values, another batch, another size.

Deterministic and pure: bytes in, bytes out. An input that cannot be changed gives None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megtrim.load_and_run.npy import LARGEST_BYTES, encode_array, read_array

_IMAGE_DIMENSIONS = 4
"""Batch, channels, height, width: a model may accept images of other sizes."""


class NpyMutation(StrEnum):
    """What is changed in an input."""

    VALUES = "values"
    BATCH = "batch"
    SMALLER = "smaller"
    LARGER = "larger"


def apply_change(data: bytes, change: NpyMutation, *, source: str) -> bytes | None:
    """Return the ``.npy`` file with the change; None if the change has no effect or is impossible.

    Raises InputError for an invalid file.
    """
    array = read_array(data, source=source)
    if array is None:
        return None
    made = _HOW[change](array)
    return None if made is None or np.array_equal(made, array) else encode_array(made)


def _reverse_values(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers in another order, so that a good input stays one."""
    return array.reshape(-1)[::-1].reshape(array.shape)


def _double_batch(array: NDArray[Any]) -> NDArray[Any] | None:
    fits = array.ndim > 1 and 2 * array.nbytes <= LARGEST_BYTES
    return np.concatenate([array, array]) if fits else None


def _smaller(array: NDArray[Any]) -> NDArray[Any] | None:
    big = array.ndim == _IMAGE_DIMENSIONS and min(array.shape[-2:]) > 1
    return array[..., : array.shape[-2] // 2, : array.shape[-1] // 2] if big else None


def _larger(array: NDArray[Any]) -> NDArray[Any] | None:
    fits = array.ndim == _IMAGE_DIMENSIONS and 4 * array.nbytes <= LARGEST_BYTES
    return np.tile(array, (1, 1, 2, 2)) if fits else None


_HOW: Mapping[NpyMutation, Callable[[NDArray[Any]], NDArray[Any] | None]] = {
    NpyMutation.VALUES: _reverse_values,
    NpyMutation.BATCH: _double_batch,
    NpyMutation.SMALLER: _smaller,
    NpyMutation.LARGER: _larger,
}
