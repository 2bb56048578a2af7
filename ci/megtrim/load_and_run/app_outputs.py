"""Outputs of a team's own application, and their comparison.

A ``.npy`` file of numbers is a tensor, in any byte order. Everything else is compared byte by byte:
other ``.npy`` files (records, text, dates, ``f16``), raw files, text, printed output. Format of
``.npy``: NumPy's own description, ``numpy.lib.format``. Pure.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass

import numpy as np

from megtrim.errors import InputError
from megtrim.load_and_run import dump, repetition
from megtrim.load_and_run.dtypes import OF_NUMPY
from megtrim.load_and_run.dump import Comparison, Tensor
from megtrim.load_and_run.parity import Tolerance

NPY = ".npy"
PRINTED = "standard output"
"""Name of the one output of an application that writes no files."""
_NO_TEXT = "\N{REPLACEMENT CHARACTER}".encode()
_MOST_PRINTED_BYTES = 8 * 1024 * 1024
_MAGIC = b"\x93NUMPY"
_VERSIONS = {1: 2, 2: 4, 3: 4}
"""Number of bytes of the header's length, by version of the format."""
_LONGEST_HEADER = 10_000
_MOST_DIMENSIONS = 32
_LONGEST_SIDE = 2**63 - 1
_KEYS = {"descr", "fortran_order", "shape"}
_NUMERIC = re.compile(r"([<>|=]?)([biufc][0-9]{1,2})", re.ASCII)
_OBJECTS = "|O"
"""Part of the type of a file with Python objects, which could run code when they are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFile:
    """One output."""

    name: str
    data: bytes
    tensor: Tensor | None
    """Content of a ``.npy`` file whose elements are plain numbers."""
    by_columns: bool = False
    """Whether it is a ``.npy`` file in Fortran order."""
    records: tuple[bytes, int] | None = None
    """Bytes and number of the elements of a ``.npy`` file of anything but numbers."""


def parse_written(data: bytes, *, name: str, source: str) -> OutputFile:
    """Parse one output. Raises InputError for an invalid or truncated ``.npy`` file."""
    if not name.endswith(NPY):
        return OutputFile(name=name, data=data, tensor=None)
    return _parse_npy(data, name, source)


def compare(plain: OutputFile, reduced: OutputFile, tolerance: Tolerance) -> Comparison:
    """Compare two outputs: tensors within the tolerance, everything else byte by byte."""
    if plain.data == reduced.data:
        return Comparison(equal=True, largest_difference=0.0, text="")
    # In another order, equal bytes are other values.
    ordered = plain.by_columns == reduced.by_columns
    if plain.tensor is not None and reduced.tensor is not None and ordered:
        return dump.compare(plain.tensor, reduced.tensor, tolerance)
    pairs = zip(plain.data, reduced.data, strict=False)
    shorter = min(len(plain.data), len(reduced.data))
    first = next((at for at, (left, right) in enumerate(pairs) if left != right), shorter)
    text = f"differs from byte {first + 1} on ({len(plain.data)} against {len(reduced.data)} bytes)"
    return Comparison(equal=False, largest_difference=math.inf, text=text)


def refusal(output: OutputFile, tolerance: Tolerance) -> str | None:
    """Return why an output proves nothing; None if it is good evidence."""
    if output.tensor is not None:
        return dump.refusal(output.tensor, tolerance)
    if output.records is not None:
        return repetition.refusal_of_records(output.name, *output.records)
    if output.name == PRINTED and _NO_TEXT in output.data:
        # It is decoded as text, in which different invalid bytes become the same character.
        return f"the {PRINTED} is not all text (files in {{outputs}} may be binary)"
    if output.name == PRINTED and len(output.data) > _MOST_PRINTED_BYTES:
        return f"the {PRINTED} is too long to be kept (files in {{outputs}} are kept whole)"
    return repetition.refusal(output.name, output.data)


def _parse_npy(data: bytes, name: str, source: str) -> OutputFile:
    length_bytes = _VERSIONS.get(data[len(_MAGIC)] if len(data) > len(_MAGIC) else 0)
    if not data.startswith(_MAGIC) or length_bytes is None:
        raise _make_damage_error(source, "no header of a known version")
    start = len(_MAGIC) + 2 + length_bytes
    length = int.from_bytes(data[start - length_bytes : start], "little")
    if length > _LONGEST_HEADER or start + length > len(data):
        raise _make_damage_error(source, f"a header of {length} bytes in {len(data)}")
    descr, shape, by_columns = _header(data[start : start + length], source)
    body = data[start + length :]
    numeric = _NUMERIC.fullmatch(descr)
    element = OF_NUMPY.get(numeric[2]) if numeric else None
    if numeric is None or element is None:
        if _OBJECTS in descr:
            raise _make_damage_error(source, "Python objects, which are not read")
        return OutputFile(name=name, data=data, tensor=None, records=_records(body, shape, source))
    if len(body) * 8 != math.prod(shape) * element.bits:
        raise _make_damage_error(source, f"{len(body)} bytes for {descr} {shape}")
    if numeric[1] == ">":
        body = np.frombuffer(body, dtype=descr).astype(element.numpy).tobytes()
    tensor = Tensor(name=name, dtype=element.name, shape=shape, data=body)
    return OutputFile(name=name, data=data, tensor=tensor, by_columns=by_columns)


def _records(body: bytes, shape: tuple[int, ...], source: str) -> tuple[bytes, int]:
    count = math.prod(shape)
    if len(body) % count if count else body:
        raise _make_damage_error(source, f"{len(body)} bytes for {count} elements")
    return body, count


def _header(text: bytes, source: str) -> tuple[str, tuple[int, ...], bool]:
    """Return type, shape, and whether it is in Fortran order, for which the shape is reversed."""
    try:
        fields = ast.literal_eval(text.decode("utf-8").strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        fields = None
    if not isinstance(fields, dict) or fields.keys() != _KEYS:
        raise _make_damage_error(source, "an invalid header")
    shape = fields["shape"]
    fits = isinstance(shape, tuple) and len(shape) <= _MOST_DIMENSIONS
    if not fits or not all(type(each) is int and 0 <= each <= _LONGEST_SIDE for each in shape):
        raise _make_damage_error(source, "an invalid shape")
    by_columns = bool(fields["fortran_order"])
    return str(fields["descr"]), shape[::-1] if by_columns else shape, by_columns


def _make_damage_error(source: str, found: str) -> InputError:
    msg = f"{source}: not an intact .npy file: {found}"
    return InputError(msg, hint="expected a file that NumPy wrote; give other files another suffix")
