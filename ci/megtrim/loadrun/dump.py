"""Outputs that ``--bin-out-dump`` wrote, and whether two of them are the same.

A file is a header of 32-bit numbers (length of the description, data type, places for
dimensions, the dimensions), a description as text, and the tensor's bytes. The description
differs between builds of the same program, so only what stands around it is compared.
Layout: ``dump_tensor`` in the engine's ``src/core/impl/utils/debug.cpp``. Pure.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from megtrim.errors import InputError
from megtrim.loadrun.dtypes import BY_NAME, BY_NUMBER, Element

_HEADER = struct.Struct("<III")
_MAX_PLACES = 64
_MAX_BYTES = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """One output of one run."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What two tensors have in common."""

    equal: bool
    largest_difference: float
    """Absolute; infinite where shapes or types differ or only one side is a number."""
    text: str
    """One line that says why they are not equal; empty where they are."""


def parse_dump(data: bytes, *, name: str, source: str) -> Tensor:
    """Read one dumped output. Raises InputError for a file that is cut off or no dump."""
    if len(data) > _MAX_BYTES:
        _fail(source, f"{len(data)} bytes are too many for an output")
    if len(data) < _HEADER.size:
        _fail(source, f"{len(data)} bytes, a header takes {_HEADER.size}")
    text_bytes, number, places = _HEADER.unpack_from(data)
    if number not in BY_NUMBER or not 1 <= places <= _MAX_PLACES:
        _fail(source, f"data type {number} and {places} places for dimensions")
    start = _HEADER.size + 4 * places + text_bytes
    if start > len(data):
        _fail(source, f"{len(data)} bytes, the header promises {start} before the tensor")
    dimensions = list(struct.unpack_from(f"<{places}I", data, _HEADER.size))
    while dimensions and dimensions[-1] == 0:
        dimensions.pop()
    shape, element = tuple(dimensions), BY_NUMBER[number]
    size, possible = len(data) - start, _sizes_bytes(shape, element)
    if size not in possible:
        takes = " or ".join(str(each) for each in sorted(possible))
        _fail(source, f"a tensor of {size} bytes, {element.name} {shape} takes {takes}")
    return Tensor(name=name, dtype=element.name, shape=shape, data=data[start:])


def _sizes_bytes(shape: tuple[int, ...], element: Element) -> set[int]:
    """Return the sizes that are possible: rows of small elements may be filled up to a byte."""
    if not shape:
        return {0}
    row = -(-shape[-1] * element.bits // 8)
    return {-(-math.prod(shape) * element.bits // 8), math.prod(shape[:-1]) * row}


def _fail(source: str, found: str) -> NoReturn:
    msg = f"{source}: not a whole dumped output: {found}"
    raise InputError(msg, hint="expected a file that --bin-out-dump wrote; run the program again")


def compare(plain: Tensor, reduced: Tensor, tolerance: float) -> Comparison:
    """Compare two outputs: bit by bit at tolerance 0, else by absolute difference.

    The tolerance is for floating point only; every other type is compared exactly.
    """
    for what, left, right in (
        ("data type", plain.dtype, reduced.dtype),
        ("shape", plain.shape, reduced.shape),
        ("size", len(plain.data), len(reduced.data)),
    ):
        if left != right:
            return Comparison(
                equal=False, largest_difference=math.inf, text=f"{what} {left} became {right}"
            )
    if plain.data == reduced.data:
        return Comparison(equal=True, largest_difference=0.0, text="")
    difference = _largest_difference(plain, reduced)
    if tolerance > 0 and BY_NAME[plain.dtype].is_float and difference <= tolerance:
        return Comparison(equal=True, largest_difference=difference, text="")
    text = f"largest difference {difference:g}, allowed is {tolerance:g}"
    return Comparison(equal=False, largest_difference=difference, text=text)


def _largest_difference(plain: Tensor, reduced: Tensor) -> float:
    left, right = _values(plain), _values(reduced)
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.abs(left - right)
    # Equal infinities and numbers missing on both sides differ by nothing.
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    difference = np.where(same, 0.0, difference)
    return float(np.max(np.where(np.isnan(difference), math.inf, difference), initial=0.0))


def largest_value(tensor: Tensor) -> float:
    """Return the largest absolute value of a floating-point output, 0 of any other."""
    if not BY_NAME[tensor.dtype].is_float:
        return 0.0
    values = np.abs(_values(tensor))
    return float(np.max(values[np.isfinite(values)], initial=0.0))


def _values(tensor: Tensor) -> NDArray[Any]:
    """Return the elements as numbers: wide enough that differences are exact."""
    elements = np.frombuffer(tensor.data, dtype=BY_NAME[tensor.dtype].numpy)
    if tensor.dtype == "BFloat16":
        elements = (elements.astype("<u4") << 16).view("<f4")
    # A signalling NaN makes NumPy warn of the widening; it is a NaN like any other here.
    with np.errstate(invalid="ignore"):
        return elements.astype("c16" if tensor.dtype == "Complex64" else "f8")


def refusal(tensor: Tensor) -> str | None:
    """Say why an output proves nothing; None where it is good evidence.

    An output of one single number is accepted: it cannot vary.
    """
    values = _values(tensor)
    if values.size == 0:
        return f"the output {tensor.name} is empty"
    numbers = values[~np.isnan(values)]
    if numbers.size == 0:
        return f"the output {tensor.name} holds no numbers, only NaN"
    if values.size > 1 and bool(np.all(numbers == numbers[0])):
        return f"the output {tensor.name} is constant: every number is {numbers[0]:g}"
    return None
