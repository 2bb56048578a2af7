"""Tensors in ``.npy`` files: what a header says, whole arrays, and inputs that are generated.

Deterministic and pure: bytes in, values or bytes out. NumPy's own reader is not used: it trusts
the header, allocates memory for it first, and raises whatever its parsers raise.
"""

from __future__ import annotations

import io
import math
import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from megtrim.errors import InputError
from megtrim.load_and_run.dtypes import BY_NAME

LARGEST_BYTES = 256 * 1024 * 1024
"""Largest file that is read or written."""
LONGEST_HEADER = 4096
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
"""Types of numbers; files with other elements hold no input of a model."""
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
_BYTE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class NpyHeader:
    """What a file says that it contains."""

    element: str
    """Type of its elements as NumPy writes it, such as ``<f4``; empty if they are not numbers."""
    shape: tuple[int, ...]
    by_columns: bool
    """Whether it is in Fortran order."""
    size: int
    """Bytes of the header."""

    def __str__(self) -> str:
        name = np.dtype(self.element).name if self.element else "elements that are not numbers"
        order = ", by columns" if self.by_columns else ""
        return f"{name} ({', '.join(map(str, self.shape))}){order}"

    def fits(self, dtype: str, shape: tuple[int, ...] | None, *, resized: bool = False) -> bool:
        """Return whether a program reads it as a tensor of the engine's data type and shape.

        What is not known fits: an empty ``dtype``, one of less than a byte, a ``shape`` of None.
        ``resized``: only the number of dimensions must be equal.
        """
        known = BY_NAME.get(dtype)
        if known is not None and known.bits >= _BYTE and not self._holds(known.numpy):
            return False
        if shape is None:
            return True
        return len(self.shape) == len(shape) if resized else self.shape == shape

    def _holds(self, element: str) -> bool:
        if not self.element or self.by_columns:
            return False
        found, wanted = np.dtype(self.element), np.dtype(element)
        # Booleans and single bytes are the same in a file.
        return found == wanted or (found.kind == "b" and wanted == np.dtype("u1"))


def parse_header(head: bytes, *, source: str) -> NpyHeader:
    """Parse the first :data:`LONGEST_HEADER` bytes of a file. Raises InputError."""
    header = _HEADER.match(head[:LONGEST_HEADER])
    if header is None or len(header["text"]) != _length(header):
        raise _refusal(source, "found no header of the format")
    descr, fortran, shape = (each.search(header["text"]) for each in (_DESCR, _ORDER, _SHAPE))
    if descr is None or fortran is None or shape is None:
        raise _refusal(source, "its header has a key twice")
    if descr[1] == _OBJECTS:
        raise _refusal(source, "it contains objects, which could run anything")
    element = _ELEMENT.fullmatch(descr[1])
    return NpyHeader(
        element=element[1].decode() if element else "",
        shape=tuple(int(number) for number in _NUMBER.findall(shape[1])),
        by_columns=fortran[1] == b"True",
        size=header.end(),
    )


def expect_whole(header: NpyHeader, size_bytes: int, *, source: str) -> None:
    """Raise InputError unless a file of numbers is exactly as long as its header says."""
    rest = size_bytes - header.size
    too_many = len(header.shape) > _MOST_DIMENSIONS
    if too_many or math.prod(header.shape) * np.dtype(header.element).itemsize != rest:
        raise _refusal(source, f"its shape does not fit its {rest:,} bytes of data")


def read_array(data: bytes, *, source: str) -> NDArray[Any] | None:
    """Return the array; None if it has no elements, or they are not numbers."""
    header = parse_header(data, source=source)
    if not header.element or 0 in header.shape:
        return None
    expect_whole(header, len(data), source=source)
    order: Literal["C", "F"] = "F" if header.by_columns else "C"
    found = np.frombuffer(data, np.dtype(header.element), offset=header.size)
    return found.reshape(header.shape, order=order)


def encode_array(array: NDArray[Any]) -> bytes:
    """Return the file of an array."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(array), (1, 0), allow_pickle=False)
    return stream.getvalue()


def generate_input(dtype: str, shape: tuple[int, ...]) -> bytes | None:
    """Return the file of an input whose numbers differ, always the same for a type and a shape.

    None for a data type that a file cannot contain, and for a shape without elements.
    """
    element = _OF_DTYPE.get(dtype)
    count = math.prod(shape)
    if element is None or not 0 < count * np.dtype(element).itemsize <= LARGEST_BYTES:
        return None
    steps = np.arange(count, dtype=np.int64) % _STEPS
    values = steps / _STEPS if dtype == "Float32" else steps
    return encode_array(values.reshape(shape).astype(element))


def _length(header: re.Match[bytes]) -> int:
    return int.from_bytes(header["short"] or header["long"], "little")


def _refusal(source: str, found: str) -> InputError:
    return InputError(f"{source}: not a .npy file: {found}", hint="write it with numpy.save")
