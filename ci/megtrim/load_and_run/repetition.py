"""Checks outputs of unknown type, text and raw bytes: pure repetition proves nothing.

Text that consists of numbers follows the rules of numbers, see :mod:`megtrim.load_and_run.parity`.
Pure.
"""

from __future__ import annotations

import re

import numpy as np

from megtrim.load_and_run import parity

_BETWEEN = re.compile(r"[\s,;:|()\[\]{}\"']+")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_WIDTHS = (1, 2, 4, 8, 16)
"""Bytes of a number."""
_LONGEST_WORD = 16
"""Characters of a single word; a longer one may be raw bytes that look like text."""
_SHOWN = 40


def refusal(name: str, data: bytes) -> str | None:
    """Return why text or raw bytes prove nothing; None if they are good evidence.

    Rejected are: only blanks; numbers that are constant, or mostly not finite; the same word or the
    same line throughout; raw bytes that repeat a number of 1 to 16 bytes.
    """
    if not data.strip():
        return f"the output {name} is empty"
    text = _text(data)
    words = [] if text is None else [each for each in _BETWEEN.split(text) if each]
    if text is None or not words or (len(words) == 1 and len(words[0]) > _LONGEST_WORD):
        return _describe_repetition(name, data)
    if numbers := _numbers(words):
        return parity.refusal(name, np.array(numbers), parity.EXACT)
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    for units in (words, lines):
        if len(units) > 1 and len(set(units)) == 1:
            return f"the output {name} repeats {units[0][:_SHOWN]!r} throughout"
    return None


def refusal_of_records(name: str, data: bytes, count: int) -> str | None:
    """Return why ``count`` records of one size prove nothing, as :func:`refusal` does."""
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


def _text(data: bytes) -> str | None:
    """Return bytes as printable text, None if they are not text."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) else text


def _numbers(words: list[str]) -> list[float]:
    """Return the words as numbers, or an empty list if one is not a number."""
    try:
        return [float(each) for each in words]
    except ValueError:
        return []
