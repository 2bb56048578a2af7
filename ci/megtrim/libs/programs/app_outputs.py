"""Outputs of a program, and their comparison.

A ``.npy`` file of numbers is a tensor, in any byte order; all else is compared byte by byte.
"""

import math
import re

from megtrim.libs.programs import arrays, npy, parity, varying
from megtrim.libs.programs.arrays import Comparison, Tensor
from megtrim.libs.programs.parity import Tolerance
from megtrim.libs.util.value import Value

NPY = ".npy"
PRINTED = "standard output"
SAID = "standard error"
_BETWEEN = re.compile(r"[\s,;:|()\[\]{}\"']+")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_WIDTHS = (1, 2, 4, 8, 16)
_LONGEST_WORD = 16
"""A longer single word may be raw bytes that look like text."""
_SHOWN = 40


class OutputFile(Value):
    name: str
    data: bytes
    tensor: Tensor | None
    by_columns: bool = False
    records: tuple[bytes, int] | None = None
    certain: bytes | None = None
    """Of text that varies, what does not; None: nothing varies."""


def parse_written(data: bytes, *, name: str, source: str, vary: tuple[str, ...] = ()) -> OutputFile:
    """``vary``: patterns of text in it that counts as equal; not in arrays."""
    if not name.endswith(NPY):
        if not vary:
            return OutputFile(name=name, data=data, tensor=None)
        certain = varying.mask(data, vary, by=b"")
        return OutputFile(name=name, data=varying.mask(data, vary), tensor=None, certain=certain)
    import numpy as np

    header = npy.parse_header(data, source=source)
    npy.expect_whole(header, len(data), source=source)
    body = data[header.size :]
    number = header.number
    if number is None:
        records = body, math.prod(header.shape)
        return OutputFile(name=name, data=data, tensor=None, records=records)
    if header.element.byteorder == ">":
        body = np.frombuffer(body, dtype=header.element).astype(number.numpy).tobytes()
    shape = header.shape[::-1] if header.by_columns else header.shape
    tensor = Tensor(name=name, dtype=number.name, shape=shape, data=body)
    return OutputFile(name=name, data=data, tensor=tensor, by_columns=header.by_columns)


def compare(plain: OutputFile, reduced: OutputFile, tolerance: Tolerance) -> Comparison:
    if plain.data == reduced.data:
        return Comparison(equal=True, largest_difference=0.0, text="")
    # In another order, equal bytes are other values.
    ordered = plain.by_columns == reduced.by_columns
    if plain.tensor is not None and reduced.tensor is not None and ordered:
        return arrays.compare(plain.tensor, reduced.tensor, tolerance)
    pairs = zip(plain.data, reduced.data, strict=False)
    shorter = min(len(plain.data), len(reduced.data))
    first = next((at for at, (left, right) in enumerate(pairs) if left != right), shorter)
    text = f"differs from byte {first + 1} on ({len(plain.data)} against {len(reduced.data)} bytes)"
    return Comparison(equal=False, largest_difference=math.inf, text=text)


def refusal(output: OutputFile, tolerance: Tolerance) -> str | None:
    if output.tensor is not None:
        return arrays.refusal(output.tensor, tolerance)
    if output.records is not None:
        return _refuse_records(output.name, *output.records)
    if output.certain is not None:
        return _refuse_bytes(output.name, output.certain)
    return _refuse_bytes(output.name, output.data)


def _refuse_bytes(name: str, data: bytes) -> str | None:
    """Not blanks, a constant, hardly finite numbers, one word or line, or one number repeated."""
    import numpy as np

    if not data.strip():
        return f"the output {name} is empty"
    text = _decode_text(data)
    words = [] if text is None else [each for each in _BETWEEN.split(text) if each]
    if text is None or not words or (len(words) == 1 and len(words[0]) > _LONGEST_WORD):
        return _describe_repetition(name, data)
    if numbers := _read_numbers(words):
        return parity.refusal(name, np.array(numbers), parity.EXACT)
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    for units in (words, lines):
        if len(units) > 1 and len(set(units)) == 1:
            return f"the output {name} repeats {units[0][:_SHOWN]!r} throughout"
    return None


def _refuse_records(name: str, data: bytes, count: int) -> str | None:
    if not data or count == 0:
        return f"the output {name} is empty"
    size = len(data) // count
    if count > 1 and size * count == len(data) and data[size:] == data[:-size]:
        return f"the output {name} is constant: every record is the same"
    return None


def _describe_repetition(name: str, data: bytes) -> str | None:
    for width in _WIDTHS:
        if len(data) >= 2 * width and data[width:] == data[:-width]:
            unit = data[:width].hex()
            return f"the output {name} is constant: the bytes {unit} over and over"
    return None


def _decode_text(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) else text


def _read_numbers(words: list[str]) -> list[float]:
    try:
        return [float(word) for word in words]
    except ValueError:
        return []
