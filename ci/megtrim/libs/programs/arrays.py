"""Arrays that a program wrote, and their comparison. Pure."""

import math
from dataclasses import dataclass

from megtrim.libs.programs import parity
from megtrim.libs.programs.parity import Numbers, Tolerance
from megtrim.libs.util.value import Value


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
    name: str
    bits: int
    numpy: str
    is_float: bool = False


_ELEMENTS = (
    DType("Float32", 32, "<f4", is_float=True),
    DType("Uint8", 8, "u1"),
    DType("Int8", 8, "i1"),
    DType("Int16", 16, "<i2"),
    DType("Int32", 32, "<i4"),
    DType("IntB1", 1, "u1"),
    DType("IntB2", 2, "u1"),
    DType("IntB4", 4, "u1"),
    DType("Byte", 8, "u1"),
    DType("Float16", 16, "<f2", is_float=True),
    DType("UintB4", 4, "u1"),
    DType("BFloat16", 16, "<u2", is_float=True),
    DType("Bool", 8, "u1"),
    DType("Uint16", 16, "<u2"),
    DType("Complex64", 64, "<c8", is_float=True),
    DType("Quantized8Asymm", 8, "u1"),
    DType("QuantizedS32", 32, "<i4"),
    DType("QuantizedS8", 8, "i1"),
    DType("Quantized4Asymm", 4, "u1"),
    DType("QuantizedS4", 4, "u1"),
    DType("QuantizedS16", 16, "<i2"),
    DType("QuantizedS1", 1, "u1"),
)

_OF_FILES_ALONE = (
    DType("Float64", 64, "<f8", is_float=True),
    DType("Complex128", 128, "<c16", is_float=True),
    DType("Int64", 64, "<i8"),
    DType("Uint32", 32, "<u4"),
    DType("Uint64", 64, "<u8"),
)

_IN_FILES = ("Float32", "Uint8", "Int8", "Int16", "Int32", "Float16", "Uint16", "Complex64")

BY_NAME: dict[str, DType] = {element.name: element for element in (*_ELEMENTS, *_OF_FILES_ALONE)}
OF_NUMPY: dict[str, DType] = {
    element.numpy.lstrip("<"): element
    for element in BY_NAME.values()
    if element.name in _IN_FILES or element in _OF_FILES_ALONE
} | {"b1": BY_NAME["Bool"]}
"""By kind and bytes, without the byte order; others (``f16``, records, text, dates) are none."""
