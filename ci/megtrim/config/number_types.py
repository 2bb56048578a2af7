"""The kinds of number that a key of megtrim.yaml can hold: counts, sizes, durations, tolerances.

Numbers may be written as people write them: 1_000, 1e-5, 2.5 MiB, 5%. Pure, as
:mod:`megtrim.config.value_types`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, PlainValidator
from pydantic_core import CoreSchema, core_schema

from megtrim.config.base import (
    make_number,
    make_pattern,
    make_quantity,
    strict_pattern,
)
from megtrim.config.units import (
    ANY,
    BYTES_EXPECTED,
    BYTES_PATTERN,
    DURATION_EXPECTED,
    DURATION_PATTERN,
    GROUPED,
    GROWTH_EXPECTED,
    LARGEST_BYTES,
    LARGEST_DURATION_S,
    MILLISECONDS_EXPECTED,
    MILLISECONDS_PATTERN,
    POSITIVE_DURATION_PATTERN,
    SHARE_EXPECTED,
    SHARE_OR_ANY_EXPECTED,
    SHARE_PATTERN,
    GrowthLimit,
    format_duration,
    parse_bytes,
    parse_duration,
    parse_growth,
    parse_milliseconds,
    parse_share,
)
from megtrim.config.value_types import make_value_error
from megtrim.errors import InputError

_THOUSAND = 1000
_TIMEOUT_EXPECTED = f"more than no time: {DURATION_EXPECTED}"
_WAIT_EXPECTED = "a duration of at most a day, such as 90 s, 10 minutes or 2 hours"
_NUMBER_PATTERN = r"^[0-9]{1,18}(\.[0-9]{0,18})?([eE][-+]?[0-9]{1,2})?$"
_GROUPED_PATTERN = rf"^({GROUPED})$"
LONGEST_WAIT_S = 86_400.0
MOST_THREADS = 256
MOST_LISTED = 16
_BELOW_ONE_PATTERN = (
    r"^(0(\.[0-9]{0,18})?|[0-9](\.[0-9]{0,18})?[eE]-0?[1-9][0-9]?|[0-9]{1,2}(\.[0-9]{1,9})?%)$"
)


def _size(value: object) -> int:
    try:
        return parse_bytes(value)
    except InputError:
        raise make_value_error(BYTES_EXPECTED) from None


def _duration(value: object) -> float:
    try:
        return parse_duration(value)
    except InputError:
        raise make_value_error(DURATION_EXPECTED) from None


def _share(value: object) -> float:
    try:
        return parse_share(value)
    except InputError:
        raise make_value_error(SHARE_EXPECTED) from None


def _growth(value: object) -> GrowthLimit:
    try:
        return parse_growth(value)
    except InputError:
        raise make_value_error(GROWTH_EXPECTED) from None


def _share_or_any(value: object) -> float:
    if value == ANY:
        return 1.0
    try:
        return parse_share(value)
    except InputError:
        raise make_value_error(SHARE_OR_ANY_EXPECTED) from None


def _milliseconds(value: object) -> float:
    try:
        return parse_milliseconds(value)
    except InputError:
        raise make_value_error(MILLISECONDS_EXPECTED) from None


def _timeout(value: float) -> float:
    if value <= 0:
        raise make_value_error(_TIMEOUT_EXPECTED)
    return value


def _wait(value: float) -> float:
    if value > LONGEST_WAIT_S:
        raise make_value_error(_WAIT_EXPECTED)
    return value


def _number(value: object) -> object:
    """Read 1e-5 as a number: YAML treats one without a point as text."""
    fits = isinstance(value, str) and re.fullmatch(_NUMBER_PATTERN, value)
    return float(str(value)) if fits else value


def _below_one(value: object) -> object:
    """Read 1e-5 and 5% as numbers."""
    if not isinstance(value, str) or not re.fullmatch(_BELOW_ONE_PATTERN, value):
        return value
    number, percent, _ = value.partition("%")
    return float(number) / 100 if percent else float(number)


def read_whole(value: object, *, least: int, most: int) -> int | None:
    """Read a whole number, perhaps with its thousands apart: 1_000; None for anything else."""
    if isinstance(value, str) and re.fullmatch(_GROUPED_PATTERN, value):
        value = int(re.sub("[,_]", "", value))
    fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    return value if isinstance(value, int) and fits else None


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within bounds."""

    least: int
    most: int
    also: str = ""
    """What a key may hold instead, for the message."""

    def __get_pydantic_core_schema__(self, _source: object, _handler: object) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(self, _core: object, _handler: object) -> dict[str, Any]:
        bounds = {"minimum": self.least, "maximum": self.most}
        if self.most < _THOUSAND:
            return {"type": "integer", **bounds}
        pattern = strict_pattern(_GROUPED_PATTERN)
        return {"type": ["integer", "string"], **bounds, "pattern": pattern}

    def _read(self, value: object) -> int:
        number = read_whole(value, least=self.least, most=self.most)
        if number is None:
            what = f"a whole number from {self.least} to {self.most}{self.also}"
            raise make_value_error(what)
        return number


def _or_list(schema: dict[str, Any]) -> None:
    """Let a number be a list of some, too."""
    number = {key: schema.pop(key) for key in ("type", "minimum", "maximum")}
    some = {"type": "array", "items": number, "minItems": 1, "maxItems": MOST_LISTED}
    schema["anyOf"] = [number, {**some, "uniqueItems": True}]


Threads = Annotated[
    int,
    Whole(1, MOST_THREADS, also=f", or a list of up to {MOST_LISTED} of them"),
    Field(json_schema_extra=_or_list),
]
"""A number; :mod:`megtrim.config.lists.thread_lists` has made one scenario of each in a list."""
SizeBytes = Annotated[int, PlainValidator(_size), make_quantity(BYTES_PATTERN, most=LARGEST_BYTES)]
DurationS = Annotated[
    float, PlainValidator(_duration), make_quantity(DURATION_PATTERN, most=LARGEST_DURATION_S)
]
Share = Annotated[float, PlainValidator(_share), make_pattern(SHARE_PATTERN)]
Growth = Annotated[
    GrowthLimit,
    PlainValidator(_growth),
    PlainSerializer(str, return_type=str),
    make_quantity(f"{BYTES_PATTERN}|{SHARE_PATTERN}", most=LARGEST_BYTES),
]
ShareOrAny = Annotated[
    float, PlainValidator(_share_or_any), make_pattern(f"{SHARE_PATTERN}|^{ANY}$")
]
"""A share, or the word for one without limit, which is 1."""
TimeMs = Annotated[
    float, PlainValidator(_milliseconds), make_quantity(MILLISECONDS_PATTERN, most=0)
]
AbsoluteTolerance = Annotated[
    float,
    Field(strict=True, ge=0, allow_inf_nan=False),
    BeforeValidator(_number),
    make_number({"minimum": 0}, _NUMBER_PATTERN),
]
RelativeTolerance = Annotated[
    float,
    Field(strict=True, ge=0, lt=1),
    BeforeValidator(_below_one),
    make_number({"minimum": 0, "exclusiveMaximum": 1}, _BELOW_ONE_PATTERN),
]
TimeoutS = Annotated[
    DurationS,
    AfterValidator(_timeout),
    make_quantity(POSITIVE_DURATION_PATTERN, least=1, most=LARGEST_DURATION_S),
]
WaitS = Annotated[
    TimeoutS,
    AfterValidator(_wait),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
    make_quantity(POSITIVE_DURATION_PATTERN, least=1, most=int(LONGEST_WAIT_S)),
]
