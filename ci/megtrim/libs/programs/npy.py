"""Tensors in ``.npy`` files: headers, whole arrays, and inputs that are generated or changed.

Data is read only where it is as long as the header says: NumPy allocates memory for it first.
"""

from __future__ import annotations

import io
import math
import tokenize
import warnings
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from megtrim.libs.programs.arrays import BY_NAME, OF_NUMPY, DType
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_BYTES = 256 * 1024 * 1024
LONGEST_HEADER = 16 * 1024
"""Longer than NumPy's own limit."""
_MOST_DIMENSIONS = 32
_LONGEST_SIDE = 2**63 - 1
_FAILURES = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    OverflowError,
    SyntaxError,
    MemoryError,
    RecursionError,
    tokenize.TokenError,
)
_OF_DTYPE = {"Float32": "<f4", "Int8": "|i1", "QuantizedS8": "|i1", "Uint8": "|u1", "Int32": "<i4"}
_STEPS = 97
"""Distinct values of a generated input: a prime, so that rows and channels differ."""
_BYTE = 8
_IMAGE_DIMENSIONS = 4


class NpyHeader(Value):
    element: np.dtype[Any]
    shape: tuple[int, ...]
    by_columns: bool
    size: int

    def __str__(self) -> str:
        name = self.element.name if self.number else "elements that are not numbers"
        order = ", by columns" if self.by_columns else ""
        return f"{name} ({', '.join(map(str, self.shape))}){order}"

    @property
    def number(self) -> DType | None:
        return OF_NUMPY.get(f"{self.element.kind}{self.element.itemsize}")

    def fits(self, dtype: str, shape: tuple[int, ...] | None, *, resized: bool = False) -> bool:
        """What is not known fits. ``resized``: only the number of dimensions must be equal."""
        known = BY_NAME.get(dtype)
        if known is not None and known.bits >= _BYTE and not self._holds(known.numpy):
            return False
        if shape is None:
            return True
        return len(self.shape) == len(shape) if resized else self.shape == shape

    def _holds(self, element: str) -> bool:
        # Booleans and single bytes are the same in a file.
        found = "u1" if self.element.kind == "b" else self.element
        return self.number is not None and not self.by_columns and found == element


def parse_header(head: bytes, *, source: str) -> NpyHeader:
    from numpy.lib import format as npy_format

    stream = io.BytesIO(head[:LONGEST_HEADER])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first = npy_format.read_magic(stream) == (1, 0)
            # The third version differs from the second in the names of records alone.
            read = npy_format.read_array_header_1_0 if first else npy_format.read_array_header_2_0
            shape, by_columns, element = read(stream)
    except _FAILURES as failure:
        raise _refusal(source, str(failure).partition("\n")[0]) from None
    if element.hasobject:
        raise _refusal(source, "it contains Python objects, which could run anything")
    small = len(shape) <= _MOST_DIMENSIONS
    if not small or not all(0 <= side <= _LONGEST_SIDE for side in shape):
        raise _refusal(source, "its shape is invalid")
    return NpyHeader(element=element, shape=shape, by_columns=by_columns, size=stream.tell())


def expect_whole(header: NpyHeader, size_bytes: int, *, source: str) -> None:
    rest = size_bytes - header.size
    if math.prod(header.shape) * header.element.itemsize != rest:
        raise _refusal(source, f"its shape does not fit its {rest:,} bytes of data")


def read_array(data: bytes, *, source: str) -> NDArray[Any] | None:
    import numpy as np

    header = parse_header(data, source=source)
    expect_whole(header, len(data), source=source)
    if header.number is None or 0 in header.shape:
        return None
    found = np.frombuffer(data, header.element, offset=header.size)
    return found.reshape(header.shape, order="F" if header.by_columns else "C")


def encode_array(array: NDArray[Any]) -> bytes:
    import numpy as np

    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(array), (1, 0), allow_pickle=False)
    return stream.getvalue()


def generate_input(dtype: str, shape: tuple[int, ...]) -> bytes | None:
    import numpy as np

    element = _OF_DTYPE.get(dtype)
    count = math.prod(shape)
    if element is None or not 0 < count * np.dtype(element).itemsize <= LARGEST_BYTES:
        return None
    steps = np.arange(count, dtype=np.int64) % _STEPS
    values = steps / _STEPS if dtype == "Float32" else steps
    return encode_array(values.reshape(shape).astype(element))


class NpyMutation(StrEnum):
    VALUES = "values"
    BATCH = "batch"
    SMALLER = "smaller"
    LARGER = "larger"


def apply_change(data: bytes, change: NpyMutation, *, source: str) -> bytes | None:
    import numpy as np

    array = read_array(data, source=source)
    if array is None:
        return None
    image = array.ndim == _IMAGE_DIMENSIONS
    made = array
    if change is NpyMutation.VALUES:
        # The same numbers, so that a good input stays one.
        made = array.reshape(-1)[::-1].reshape(array.shape)
    elif change is NpyMutation.BATCH and array.ndim > 1 and 2 * array.nbytes <= LARGEST_BYTES:
        made = np.concatenate([array, array])
    elif change is NpyMutation.SMALLER and image and min(array.shape[-2:]) > 1:
        made = array[..., : array.shape[-2] // 2, : array.shape[-1] // 2]
    elif change is NpyMutation.LARGER and image and 4 * array.nbytes <= LARGEST_BYTES:
        made = np.tile(array, (1, 1, 2, 2))
    return None if made is array or np.array_equal(made, array) else encode_array(made)


def _refusal(source: str, reason: str) -> InputError:
    return InputError(
        f"{source}: not an intact .npy file: {reason}", hint="write it with numpy.save"
    )
