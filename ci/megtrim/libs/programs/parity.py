"""Whether numbers of two builds are the same, and whether plain's numbers can prove that.

The same: |reduced - plain| ≤ absolute + relative * |plain|. Where a constant passes, no proof.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from megtrim.libs.util.strict_json import AnyMagnitude
from megtrim.libs.util.value import Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

Numbers: TypeAlias = "NDArray[Any]"
"""In one dimension: integers unchanged, others as 64-bit floating point or complex of two."""


class Tolerance(Value):
    """How far a floating-point number may be from plain's; integers must be equal."""

    absolute: float = 0.0
    relative: float = 0.0
    """Share of the magnitude of plain's number, below 1."""

    @property
    def is_exact(self) -> bool:
        return self.absolute == 0 and self.relative == 0

    def covers(self, difference: float) -> bool:
        return self.relative > 0 or difference <= self.absolute

    def compute_limits(self, plain: Numbers) -> Numbers:
        allowed: Numbers = self.absolute + self.relative * abs(plain)
        return allowed

    def __str__(self) -> str:
        share = f"{self.relative:g} * |plain|"
        if self.relative == 0:
            return f"{self.absolute:g}"
        return f"{self.absolute:g} + {share}" if self.absolute else share


EXACT = Tolerance()


def differences(plain: Numbers, reduced: Numbers) -> Numbers:
    """Infinite if only one side is a number; equal infinities, and two NaN, are 0 apart."""
    import numpy as np

    if plain.dtype.kind in "iu":
        # Modulo 2^64, the difference of any two integers is exact.
        apart = [
            each.astype("u8") for each in (np.maximum(plain, reduced), np.minimum(plain, reduced))
        ]
        return np.asarray((apart[0] - apart[1]).astype("f8"))
    with np.errstate(invalid="ignore", over="ignore"):
        apart_by = np.abs(plain - reduced)
    same = (plain == reduced) | (np.isnan(plain) & np.isnan(reduced))
    found = np.where(same, 0.0, apart_by)
    return np.asarray(np.where(np.isnan(found), math.inf, found))


def within(plain: Numbers, reduced: Numbers, tolerance: Tolerance) -> bool:
    import numpy as np

    found = differences(plain, reduced)
    with np.errstate(invalid="ignore", over="ignore"):
        near = (
            np.isfinite(plain) & np.isfinite(reduced) & (found <= tolerance.compute_limits(plain))
        )
    return bool(np.all((found == 0) | near))


def refusal(name: str, plain: Numbers, tolerance: Tolerance) -> str | None:
    """At least half of the numbers must be finite, and no constant may be within the tolerance
    of all of them. A single number cannot vary: zero must not be within its tolerance, unless
    numbers must be equal anyway.
    """
    import numpy as np

    if plain.size == 0:
        return f"the output {name} is empty"
    finite = plain[np.isfinite(plain)]
    if 2 * finite.size < plain.size:
        bad = plain.size - finite.size
        return f"the output {name} has {bad} NaN or infinite numbers of {plain.size}"
    if plain.size == 1:
        return _refusal_of_one(name, finite, tolerance)
    if bool(np.all(finite == finite[0])):
        return f"the output {name} is constant: every number is {finite[0]:g}"
    if plain.dtype.kind in "iu" or tolerance.is_exact:
        return None
    parts = (finite.real, finite.imag) if finite.dtype.kind == "c" else (finite,)
    if any(_varies(part, tolerance.compute_limits(finite)) for part in parts):
        return None
    widest = max(float(np.ptp(part)) for part in parts)
    return (
        f"the output {name} varies by {widest:g}, so a constant passes for it at a tolerance of "
        f"{tolerance} ({_advice(widest / 2, tolerance)})"
    )


def _varies(part: Numbers, allowed: Numbers) -> bool:
    import numpy as np

    with np.errstate(over="ignore"):
        return bool(np.max(part - allowed) > np.min(part + allowed))


def _refusal_of_one(name: str, number: Numbers, tolerance: Tolerance) -> str | None:
    exact = number.dtype.kind in "iu" or tolerance.is_exact
    size = float(abs(number[0]))
    if exact or size > float(tolerance.compute_limits(number)[0]):
        return None
    advice = _advice(size, tolerance)
    passes = f"0 passes for it at a tolerance of {tolerance} ({advice})"
    return f"the output {name} is {number[0]:g}, and {passes}"


def _advice(below: float, tolerance: Tolerance) -> str:
    if tolerance.relative > 0:
        return "set a smaller tolerance or relative_tolerance"
    if below > 0:
        return f"set a tolerance below {below:g}"
    return "set tolerance: 0"


class OutputResult(Value):
    name: str
    size_bytes: int
    equal: bool
    largest_difference: AnyMagnitude | None
