"""Outputs that ``--bin-out-dump`` wrote, and their comparison.

A file is a header of 32-bit numbers (length of the description, data type, number of dimensions,
the dimensions), a description that differs between builds, and the tensor's bytes. Format:
``dump_tensor`` in the engine's ``src/core/impl/utils/debug.cpp``. Pure.
"""

import math
import struct
from dataclasses import dataclass
from typing import NoReturn

from megtrim.libs.programs import parity
from megtrim.libs.programs.parity import Numbers, Tolerance
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

_HEADER = struct.Struct("<III")
_MAX_PLACES = 64
_MAX_BYTES = 2**31


class Tensor(Value):
    name: str
    dtype: str
    shape: tuple[int, ...]
    data: bytes


class Comparison(Value):
    equal: bool
    largest_difference: float
    """Absolute; infinite if shapes or types differ, or only one side is a number."""
    text: str


def parse_dump(data: bytes, *, name: str, source: str) -> Tensor:
    if len(data) > _MAX_BYTES:
        _fail(source, f"{len(data)} bytes are too many for an output")
    if len(data) < _HEADER.size:
        _fail(source, f"{len(data)} bytes, a header has {_HEADER.size}")
    text_bytes, number, places = _HEADER.unpack_from(data)
    if number not in BY_NUMBER or not 1 <= places <= _MAX_PLACES:
        _fail(source, f"data type {number} and {places} places for dimensions")
    start = _HEADER.size + 4 * places + text_bytes
    if start > len(data):
        _fail(source, f"{len(data)} bytes, the header announces {start} before the tensor")
    dimensions = list(struct.unpack_from(f"<{places}I", data, _HEADER.size))
    while dimensions and dimensions[-1] == 0:
        dimensions.pop()
    shape = tuple(dimensions)
    element = BY_NUMBER[number]
    size = len(data) - start
    possible = {0}
    if shape:  # rows of small elements may be padded to a byte
        row = -(-shape[-1] * element.bits // 8)
        possible = {-(-math.prod(shape) * element.bits // 8), math.prod(shape[:-1]) * row}
    if size not in possible:
        takes = " or ".join(str(each) for each in sorted(possible))
        _fail(source, f"a tensor of {size} bytes, {element.name} {shape} takes {takes}")
    return Tensor(name=name, dtype=element.name, shape=shape, data=data[start:])


def _fail(source: str, found: str) -> NoReturn:
    msg = f"{source}: not an intact dumped output: {found}"
    raise InputError(msg, hint="expected a file that --bin-out-dump wrote; run the program again")


def compare(plain: Tensor, reduced: Tensor, tolerance: Tolerance) -> Comparison:
    """The tolerance is for floating point only; all other types are compared exactly."""
    import numpy as np

    forms = (
        ("data type", plain.dtype, reduced.dtype),
        ("shape", plain.shape, reduced.shape),
        ("size", len(plain.data), len(reduced.data)),
    )
    for what, left, right in forms:
        if left != right:
            text = f"{what} {left} became {right}"
            return Comparison(equal=False, largest_difference=math.inf, text=text)
    if plain.data == reduced.data:
        return Comparison(equal=True, largest_difference=0.0, text="")
    expected = numbers_of(plain)
    found = numbers_of(reduced)
    difference = float(np.max(parity.differences(expected, found), initial=0.0))
    may_differ = BY_NAME[plain.dtype].is_float and not tolerance.is_exact
    if may_differ and parity.within(expected, found, tolerance):
        return Comparison(equal=True, largest_difference=difference, text="")
    text = f"largest difference {difference:g}, allowed is {tolerance}"
    return Comparison(equal=False, largest_difference=difference, text=text)


def largest_value(tensor: Tensor) -> float:
    import numpy as np

    if not BY_NAME[tensor.dtype].is_float:
        return 0.0
    values = np.abs(numbers_of(tensor))
    return float(np.max(values[np.isfinite(values)], initial=0.0))


def refusal(tensor: Tensor, tolerance: Tolerance) -> str | None:
    return parity.refusal(tensor.name, numbers_of(tensor), tolerance)


def numbers_of(tensor: Tensor) -> Numbers:
    import numpy as np

    element = BY_NAME[tensor.dtype]
    stored = np.frombuffer(tensor.data, dtype=element.numpy)
    if element.bits < 8:
        return _unpack_elements(stored, element.bits, tensor.shape)
    if tensor.dtype == "BFloat16":
        stored = (stored.astype("<u4") << 16).view("<f4")
    if not element.is_float:
        return stored
    # NumPy warns when it widens a signalling NaN, which is a NaN like any other here.
    with np.errstate(invalid="ignore"):
        return stored.astype("c16" if stored.dtype.kind == "c" else "f8")


def _unpack_elements(stored: Numbers, bits: int, shape: tuple[int, ...]) -> Numbers:
    import numpy as np

    each = np.unpackbits(stored, bitorder="little").reshape(-1, bits)
    elements: Numbers = np.packbits(each, axis=1, bitorder="little")[:, 0]
    count = math.prod(shape)
    if len(stored) != -(-count * bits // 8):
        elements = elements.reshape(math.prod(shape[:-1]), -1)[:, : shape[-1]].ravel()
    return elements[:count]


@dataclass(frozen=True, slots=True)
class DType:
    number: int
    name: str
    bits: int
    numpy: str
    is_float: bool = False


_ELEMENTS = (
    DType(0, "Float32", 32, "<f4", is_float=True),
    DType(1, "Uint8", 8, "u1"),
    DType(2, "Int8", 8, "i1"),
    DType(3, "Int16", 16, "<i2"),
    DType(4, "Int32", 32, "<i4"),
    DType(5, "IntB1", 1, "u1"),
    DType(6, "IntB2", 2, "u1"),
    DType(7, "IntB4", 4, "u1"),
    DType(8, "Byte", 8, "u1"),
    DType(9, "Float16", 16, "<f2", is_float=True),
    DType(10, "UintB4", 4, "u1"),
    DType(11, "BFloat16", 16, "<u2", is_float=True),
    DType(12, "Bool", 8, "u1"),
    DType(13, "Uint16", 16, "<u2"),
    DType(14, "Complex64", 64, "<c8", is_float=True),
    DType(100_000, "Quantized8Asymm", 8, "u1"),
    DType(100_001, "QuantizedS32", 32, "<i4"),
    DType(100_002, "QuantizedS8", 8, "i1"),
    DType(100_003, "Quantized4Asymm", 4, "u1"),
    DType(100_004, "QuantizedS4", 4, "u1"),
    DType(100_005, "QuantizedS16", 16, "<i2"),
    DType(100_006, "QuantizedS1", 1, "u1"),
)

_NO_NUMBER = -1
_OF_FILES_ALONE = (
    DType(_NO_NUMBER, "Float64", 64, "<f8", is_float=True),
    DType(_NO_NUMBER, "Complex128", 128, "<c16", is_float=True),
    DType(_NO_NUMBER, "Int64", 64, "<i8"),
    DType(_NO_NUMBER, "Uint32", 32, "<u4"),
    DType(_NO_NUMBER, "Uint64", 64, "<u8"),
)

_IN_FILES = ("Float32", "Uint8", "Int8", "Int16", "Int32", "Float16", "Uint16", "Complex64")

BY_NUMBER: dict[int, DType] = {element.number: element for element in _ELEMENTS}
BY_NAME: dict[str, DType] = {element.name: element for element in (*_ELEMENTS, *_OF_FILES_ALONE)}
OF_NUMPY: dict[str, DType] = {
    element.numpy.lstrip("<"): element
    for element in BY_NAME.values()
    if element.name in _IN_FILES or element in _OF_FILES_ALONE
} | {"b1": BY_NAME["Bool"]}
"""By kind and bytes, without the byte order; others (``f16``, records, text, dates) are none."""
