"""Inputs that are written as values, or made: ``#rand(min, max)``, ``[0, 0, 255, 255]``. Pure.

The texts are those that an engine's program and its dump script take. Random numbers
follow from the input's name and a seed of megtrim's own: they are the same on each machine.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from megtrim.libs.programs import npy
from megtrim.libs.programs.arrays import BY_NAME
from megtrim.libs.util.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEED = 20260101
EXPECTED = "#rand(MIN, MAX), #rand(MIN, MAX, SIDE, ...), a number, or a list of numbers"
_MADE = ("#", "[")
_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_RANDOM = re.compile(
    rf"#rand\(\s*({_NUMBER})\s*,\s*({_NUMBER})\s*((?:,\s*[0-9]{{1,9}}\s*)*)\)", re.ASCII
)
_MOST_DIMENSIONS = 16
_BYTE = 8
_STEP = 0x9E3779B97F4A7C15
_MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
"""Of SplitMix64."""


def is_made(file: Path) -> bool:
    """Tell whether it is values, and no file."""
    return str(file).startswith(_MADE)


def spell_values(value: object) -> object:
    """Return numbers and lists of them as text; everything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float | list):
        return value
    values = value if isinstance(value, list) else [value]
    try:
        return json.dumps(values, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return value


def make_any(dtype: str) -> str:
    """Return the text of random values that suit a data type."""
    element = BY_NAME.get(dtype)
    if element is None or element.is_float:
        return "#rand(0, 1)"
    return "#rand(0, 100)"


def make(text: str, name: str, *, dtype: str, shape: tuple[int, ...] | None, source: str) -> bytes:
    """Return the ``.npy`` file. Raises InputError, which begins with ``source``."""
    random = _RANDOM.fullmatch(text)
    if random is not None:
        own = tuple(int(side) for side in random[3].split(",") if side.strip())
        array = _draw(random, name, own or shape, source)
    elif text.startswith("["):
        array = _read_values(text, shape, source)
    else:
        msg = f"{source}: found {text[:80]!r}, expected {EXPECTED}"
        raise InputError(msg)
    return npy.encode_array(_convert(array, dtype or "Float32", text, source))


def _draw(
    random: re.Match[str], name: str, shape: tuple[int, ...] | None, source: str
) -> NDArray[Any]:
    low = float(random[1])
    high = float(random[2])
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        msg = f"{source}: found {random[0]}, expected two finite numbers, the lower one first"
        raise InputError(msg)
    if shape is None:
        msg = f"{source}: the model has no shape for the input {name}"
        raise InputError(msg, hint="write the shape, too: #rand(0, 1, 1, 3, 224, 224)")
    count = math.prod(shape)
    if len(shape) > _MOST_DIMENSIONS or not 0 < count * _BYTE <= npy.LARGEST_BYTES:
        msg = f"{source}: found the shape {shape}, expected at most {npy.LARGEST_BYTES:,} bytes"
        raise InputError(msg)
    return (low + (high - low) * _list_fractions(name, count)).reshape(shape)


def _list_fractions(name: str, count: int) -> NDArray[np.float64]:
    """Return numbers from 0 to 1, without 1."""
    import numpy as np

    start = int.from_bytes(hashlib.sha256(f"{SEED} {name}".encode()).digest()[:8], "little")
    with np.errstate(over="ignore"):
        state = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_STEP) + np.uint64(start)
        for shift, factor in _MIX:
            state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
        state ^= state >> np.uint64(31)
    fractions: NDArray[np.float64] = (state >> np.uint64(11)).astype(np.float64) / 2.0**53
    return fractions


def _read_values(text: str, shape: tuple[int, ...] | None, source: str) -> NDArray[Any]:
    import numpy as np

    try:
        array = np.array(json.loads(text), dtype=np.float64)
    except (ValueError, TypeError, RecursionError):
        msg = f"{source}: found {text[:80]!r}, expected numbers, in lists of equal length"
        raise InputError(msg, hint="such as [0, 0, 255, 255], or [[1, 2], [3, 4]]") from None
    if not array.size or not np.isfinite(array).all():
        msg = f"{source}: found {text[:80]!r}, expected finite numbers"
        raise InputError(msg)
    if shape is None or array.shape == shape:
        return array
    if array.size != math.prod(shape):
        sides = ", ".join(map(str, shape))
        msg = f"{source}: found {array.size} values, expected those of the shape ({sides})"
        raise InputError(msg, hint="#rand(0, 1) makes as many as the model takes")
    return array.reshape(shape)


def _convert(array: NDArray[Any], dtype: str, text: str, source: str) -> NDArray[Any]:
    import numpy as np

    element = BY_NAME.get(dtype)
    if element is None or element.bits < _BYTE or dtype == "BFloat16":
        msg = f"{source}: no values can be made of the data type {dtype}"
        raise InputError(msg, hint="name a file: inputs: {NAME: input.npy}")
    kind = np.dtype(element.numpy)
    if not element.is_float and kind.kind in "iu":
        limits = np.iinfo(kind)
        if array.min() < limits.min or array.max() >= limits.max + 1:
            expected = f"numbers from {limits.min} to {limits.max}, as in {dtype}"
            msg = f"{source}: found {text[:80]}, expected {expected}"
            raise InputError(msg)
        array = np.floor(array)
    converted: NDArray[Any] = array.astype(kind)
    if converted.size > 1 and converted.min() == converted.max():
        msg = f"{source}: {text[:80]} gives the same number everywhere, which proves nothing"
        raise InputError(msg, hint=f"write a wider range for {dtype}, such as #rand(0, 100)")
    return converted
