"""Changes a model's inputs in ``.npy`` files: other values, another batch, another size.

Deterministic and pure: bytes in, bytes out. An input that cannot be changed gives None.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from megtrim.errors import InputError

LARGEST_BYTES = 256 * 1024 * 1024
"""Largest file that is read or written."""
_IMAGE_DIMENSIONS = 4
"""Batch, channels, height, width: a model may accept images of other sizes."""

_LONGEST_HEADER = 4096
_MOST_DIMENSIONS = 32
# https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html: magic, version, length of
# the header, and the header: a dict of three keys in any order, padded with blanks.
_DESCR = re.compile(rb"'descr': ?('[^'\\\n]{1,40}'|\[[^\n]*\])")
_ORDER = re.compile(rb"'fortran_order': ?(True|False)")
_SHAPE = re.compile(rb"'shape': ?\(([0-9, ]*)\)")
_ENTRY = b"|".join(each.pattern for each in (_DESCR, _ORDER, _SHAPE))
_HEADER = re.compile(
    rb"\x93NUMPY(?:\x01\x00(?P<short>..)|[\x02\x03]\x00(?P<long>....))"
    rb"(?P<text>\{(?:(?:" + _ENTRY + rb"),? ?){3}\} *\n)",
    re.DOTALL,
)
_ELEMENT = re.compile(rb"'([<>|=]?(?:b1|[iu][1248]|f[248]))'")
"""Types of numbers; files with other elements are not changed."""
_OBJECTS = b"'|O'"
_NUMBER = re.compile(rb"[0-9]+")
_OF_DTYPE = {
    "Float32": "<f4",
    "Int8": "|i1",
    "QuantizedS8": "|i1",
    "Uint8": "|u1",
    "Int32": "<i4",
}
"""Data types of inputs that can be generated, and their types in a file."""
_STEPS = 97
"""Number of distinct values of a generated input: a prime, so that rows and channels differ."""


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
    array = _read(data, source)
    if array is None:
        return None
    made = _HOW[change](array)
    return None if made is None or np.array_equal(made, array) else _encode_array(made)


def made_up(dtype: str, shape: tuple[int, ...]) -> bytes | None:
    """Return a generated input; None for a data type that a file cannot contain."""
    element = _OF_DTYPE.get(dtype)
    count = math.prod(shape)
    if element is None or not 0 < count * np.dtype(element).itemsize <= LARGEST_BYTES:
        return None
    steps = np.arange(count, dtype=np.int64) % _STEPS
    values = steps / _STEPS if dtype == "Float32" else steps
    return _encode_array(values.reshape(shape).astype(element))


def _read(data: bytes, source: str) -> NDArray[Any] | None:
    """Return the array; None if it has no elements, or they are not numbers.

    NumPy's own reader is not used: it trusts the header, allocates memory for it first, and raises
    whatever its parsers raise.
    """
    header = _HEADER.match(data[:_LONGEST_HEADER])
    if header is None or len(header["text"]) != _length(header):
        raise _refusal(source, "found no header of the format")
    descr, fortran, shape_ = (each.search(header["text"]) for each in (_DESCR, _ORDER, _SHAPE))
    if descr is None or fortran is None or shape_ is None:
        raise _refusal(source, "its header has a key twice")
    if descr[1] == _OBJECTS:
        raise _refusal(source, "it contains objects, which could run anything")
    element = _ELEMENT.fullmatch(descr[1])
    shape = tuple(int(number) for number in _NUMBER.findall(shape_[1]))
    if element is None or 0 in shape:
        return None
    dtype, rest = np.dtype(element[1].decode()), len(data) - header.end()
    if len(shape) > _MOST_DIMENSIONS or math.prod(shape) * dtype.itemsize != rest:
        raise _refusal(source, f"its shape does not fit its {rest:,} bytes of data")
    order: Literal["C", "F"] = "F" if fortran[1] == b"True" else "C"
    return np.frombuffer(data, dtype, offset=header.end()).reshape(shape, order=order)


def _length(header: re.Match[bytes]) -> int:
    return int.from_bytes(header["short"] or header["long"], "little")


def _refusal(source: str, found: str) -> InputError:
    return InputError(f"{source}: not a .npy file: {found}", hint="write it with numpy.save")


def _encode_array(array: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(array), (1, 0), allow_pickle=False)
    return stream.getvalue()


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
