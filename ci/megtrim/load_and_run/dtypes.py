"""The engine's data types in a dumped output: number, width, kind of number.

The numbers are those of ``DTypeEnum`` in the engine's ``dtype.h``; a model file has other numbers.
"""

from __future__ import annotations

from dataclasses import dataclass


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
"""An application may write them; the engine does not dump them."""

_IN_FILES = ("Float32", "Uint8", "Int8", "Int16", "Int32", "Float16", "Uint16", "Complex64")

BY_NUMBER: dict[int, DType] = {element.number: element for element in _ELEMENTS}
BY_NAME: dict[str, DType] = {element.name: element for element in (*_ELEMENTS, *_OF_FILES_ALONE)}
OF_NUMPY: dict[str, DType] = {
    element.numpy.lstrip("<"): element
    for element in BY_NAME.values()
    if element.name in _IN_FILES or element in _OF_FILES_ALONE
} | {"b1": BY_NAME["Bool"]}
"""By kind and bytes, as in a ``.npy`` file, without the byte order. Other types have no fixed
layout on every machine (``f16``), or are not numbers: records, text, dates."""
