"""Outputs that ``--bin-out-dump`` wrote.

A file is a header of 32-bit numbers (length of the description, data type, number of dimensions,
the dimensions), a description that differs between builds, and the tensor's bytes. Format:
``dump_tensor`` in the engine's ``src/core/impl/utils/debug.cpp``. Pure.
"""

import math
import struct
from typing import NoReturn

from megtrim.libs.programs.arrays import BY_NAME, DType, Tensor
from megtrim.libs.util.errors import InputError

_HEADER = struct.Struct("<III")
_MAX_PLACES = 64
_MAX_BYTES = 2**31
_NAMES = {
    0: "Float32",
    1: "Uint8",
    2: "Int8",
    3: "Int16",
    4: "Int32",
    5: "IntB1",
    6: "IntB2",
    7: "IntB4",
    8: "Byte",
    9: "Float16",
    10: "UintB4",
    11: "BFloat16",
    12: "Bool",
    13: "Uint16",
    14: "Complex64",
    100_000: "Quantized8Asymm",
    100_001: "QuantizedS32",
    100_002: "QuantizedS8",
    100_003: "Quantized4Asymm",
    100_004: "QuantizedS4",
    100_005: "QuantizedS16",
    100_006: "QuantizedS1",
}
BY_NUMBER: dict[int, DType] = {number: BY_NAME[name] for number, name in _NAMES.items()}


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
    msg = f"{source}: the dumped output is damaged: {found}"
    raise InputError(msg, hint="expected a file that --bin-out-dump wrote; run the program again")
