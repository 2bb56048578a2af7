"""Sizes and durations as people write and read them, and the names of what budgets measure.

Sizes are whole bytes, durations are seconds, percentages are fractions. A measure is one text:
``deflated``, ``section .text``, ``component kernels/x86``; the empty one is the stripped file.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from fractions import Fraction

from megtrim.core.build_spec import Variant
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

BYTES_EXPECTED = "a size such as 2.5 MiB, 16 KiB, 3 MB or 1,024"
DURATION_EXPECTED = "a duration such as 90 s, 10 minutes, 2 hours or 14 days"
GROWTH_EXPECTED = "a size such as 16 KiB, or a share such as 1%"
SHARE_EXPECTED = "a share such as 1% or 2.5%, above 0 and below 100%"
ANY = "any"
SHARE_OR_ANY_EXPECTED = f"{SHARE_EXPECTED}, or {ANY}"
MILLISECONDS_EXPECTED = "a short time such as 0.05 ms or 20 us"

GROUPED = r"[0-9]{1,3}(?:,[0-9]{3}){1,6}|[0-9]{1,3}(?:_[0-9]{3}){1,6}"
"""A number with its thousands apart, as a regular expression."""
STRIPPED = ""
"""The measure that every file has."""
LARGEST_BYTES = 2**60
LARGEST_DURATION_S = 3660 * 86_400

_BYTE_UNITS = {
    "": 1,
    "B": 1,
    "byte": 1,
    "bytes": 1,
    "kB": 1000,
    "KB": 1000,
    "KiB": 1024,
    "MB": 1000**2,
    "MiB": 1024**2,
    "GB": 1000**3,
    "GiB": 1024**3,
}
_READABLE_UNITS = (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024))

_SECONDS = {
    "s": 1,
    "second": 1,
    "seconds": 1,
    "min": 60,
    "minute": 60,
    "minutes": 60,
    "h": 3600,
    "hour": 3600,
    "hours": 3600,
    "day": 86_400,
    "days": 86_400,
    "week": 7 * 86_400,
    "weeks": 7 * 86_400,
}

_MILLISECONDS = {"us": Fraction(1, 1000), "ms": Fraction(1), "s": Fraction(1000)}

_WHOLE = rf"(?:{GROUPED}|[0-9]{{1,20}})"
_PART = r"\.[0-9]{1,9}"
_QUANTITY = re.compile(rf"(?P<number>{_WHOLE})(?P<part>{_PART})?[ ]?(?P<unit>[A-Za-z%]*)")
_NOT_ZERO = r"(?=[^A-Za-z%]*[1-9])"


def _text_pattern(*alternatives: str) -> str:
    return rf"^\s*(?:{'|'.join(alternatives)})\s*$"


def _with_units(units: Iterable[str], number: str = f"{_WHOLE}(?:{_PART})?") -> str:
    named = "|".join(sorted(filter(None, units), key=lambda unit: (-len(unit), unit)))
    return rf"{number}[ ]?(?:{named}){'?' if '' in units else ''}"


_SMALL_UNITS = tuple(unit for unit, factor in _BYTE_UNITS.items() if factor == 1)
BYTES_PATTERN = _text_pattern(
    _with_units(_SMALL_UNITS, rf"{_WHOLE}(?:\.0{{1,9}})?"),
    _with_units(_BYTE_UNITS.keys() - _SMALL_UNITS),
)
"""What :func:`parse_bytes` reads, its largest value aside; so below."""
DURATION_PATTERN = _text_pattern(_with_units((*_SECONDS, "")))
POSITIVE_DURATION_PATTERN = _text_pattern(_NOT_ZERO + _with_units((*_SECONDS, "")))
SHARE_PATTERN = _text_pattern(rf"{_NOT_ZERO}[0-9]{{1,2}}(?:{_PART})?[ ]?%")
MILLISECONDS_PATTERN = _text_pattern(_with_units(_MILLISECONDS), r"0{1,20}(?:\.0{1,9})?")


def _quantity(value: object, expected: str) -> tuple[Fraction, str]:
    text = str(value).strip() if isinstance(value, str | int) else ""
    match = _QUANTITY.fullmatch(text)
    if match is None or isinstance(value, bool):
        raise _unreadable(value, expected)
    return Fraction(re.sub("[,_]", "", match["number"]) + (match["part"] or "")), match["unit"]


def _unreadable(value: object, expected: str) -> InputError:
    shown = repr(value)
    return InputError(f"found {shown[:60]}, expected {expected}")


def parse_bytes(value: object) -> int:
    """A fraction of a byte is dropped (``0.3 KiB`` is 307), but refused if the unit is bytes."""
    number, unit = _quantity(value, BYTES_EXPECTED)
    factor = _BYTE_UNITS.get(unit)
    if factor is None or number * factor > LARGEST_BYTES:
        raise _unreadable(value, BYTES_EXPECTED)
    if factor == 1 and number.denominator != 1:
        raise _unreadable(value, BYTES_EXPECTED)
    return int(number * factor)


def format_bytes(size_bytes: int) -> str:
    """Write a size in the largest unit that it fills: ``2.5 MiB``, ``40 B``; ``3 MiB`` is exact."""
    sign = "-" if size_bytes < 0 else ""
    magnitude = abs(size_bytes)
    for unit, factor in _READABLE_UNITS:
        tenths = (magnitude * 20 + factor) // (2 * factor)
        if tenths >= 10:
            exact = magnitude % factor == 0
            number = str(magnitude // factor) if exact else f"{tenths // 10}.{tenths % 10}"
            return f"{sign}{number} {unit}"
    return f"{sign}{magnitude} B"


def format_growth(difference_bytes: int) -> str:
    """Write a difference of sizes with its sign: ``+16 KiB``, ``-1.2 MiB``, ``0 B``."""
    sign = "+" if difference_bytes > 0 else ""
    return sign + format_bytes(difference_bytes)


def parse_duration(value: object) -> float:
    """Read a duration into seconds; a number without a unit is one of them."""
    number, unit = _quantity(value, DURATION_EXPECTED)
    factor = _SECONDS.get(unit or "s")
    if factor is None or number * factor > LARGEST_DURATION_S:
        raise _unreadable(value, DURATION_EXPECTED)
    return float(number * factor)


def parse_share(value: object) -> float:
    """Read a percentage, such as ``1%``, into a share: 0.01."""
    number, unit = _quantity(value, SHARE_EXPECTED)
    if unit != "%" or not 0 < number < 100:
        raise _unreadable(value, SHARE_EXPECTED)
    return float(number / 100)


class Unit(StrEnum):
    """Of what a limit is about."""

    BYTES = "bytes"
    INSTRUCTIONS = "instructions"


class GrowthLimit(Value):
    size_bytes: int = 0
    share: float = 0.0
    """Share of the former size, in place of bytes; 0: bytes."""

    def __str__(self) -> str:
        return f"{100 * self.share:g}%" if self.share else f"{self.size_bytes} B"

    def limit_bytes(self, former_bytes: int) -> int:
        return round(self.share * former_bytes) if self.share else self.size_bytes


def parse_growth(value: object) -> GrowthLimit:
    try:
        if isinstance(value, str) and value.strip().endswith("%"):
            return GrowthLimit(share=parse_share(value))
        return GrowthLimit(size_bytes=parse_bytes(value))
    except InputError:
        raise _unreadable(value, GROWTH_EXPECTED) from None


def parse_milliseconds(value: object) -> float:
    """Read a short time with its unit, such as ``0.05 ms``, into milliseconds; 0 needs none."""
    number, unit = _quantity(value, MILLISECONDS_EXPECTED)
    factor = _MILLISECONDS.get(unit or ("ms" if number == 0 else ""))
    if factor is None or number * factor > 1000 * LARGEST_DURATION_S:
        raise _unreadable(value, MILLISECONDS_EXPECTED)
    return float(number * factor)


def format_duration(duration_s: float) -> str:
    """Write seconds so that :func:`parse_duration` reads the same: ``600 s``, ``0.5 s``."""
    return f"{duration_s:.9f}".rstrip("0").rstrip(".") + " s"


OF_SCENARIOS = WORK, PEAK, PLANNED = "work", "peak memory", "planned memory"
"""Measures of a scenario, in place of an artifact."""


class Measure(StrEnum):
    UNSTRIPPED = "unstripped"
    LOADED = "loaded"
    DEFLATED = "deflated"
    AAR = "aar"
    REST = "rest"
    DOWNLOAD = "download"
    SECTION = "section"
    COMPONENT = "component"
    MODEL = "model"


def name_measure(
    size: str, *, section: str | None = None, component: str | None = None, model: str | None = None
) -> str:
    parts = ((Measure.SECTION, section), (Measure.COMPONENT, component), (Measure.MODEL, model))
    for kind, name in parts:
        if name is not None:
            return f"{kind} {name}"
    return STRIPPED if size == "stripped" else size


def name_budget(artifact: str, variant: str, measure: str) -> str:
    build = artifact if variant == Variant.REDUCED else f"{artifact}/{variant}"
    return f"{build} {measure}" if measure else build
