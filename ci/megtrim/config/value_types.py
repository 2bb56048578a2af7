"""The kinds of value a key of megtrim.yaml can hold: names, paths, sizes, durations, dates.

Pure: each kind converts what YAML holds, or raises ``make_value_error()``, whose text says to the
user what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    StrictStr,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from megtrim.config.units import (
    ANY,
    BYTES_EXPECTED,
    DURATION_EXPECTED,
    GROWTH_EXPECTED,
    MILLISECONDS_EXPECTED,
    SHARE_EXPECTED,
    SHARE_OR_ANY_EXPECTED,
    GrowthLimit,
    format_duration,
    parse_bytes,
    parse_duration,
    parse_growth,
    parse_milliseconds,
    parse_share,
)
from megtrim.errors import InputError

EXPECTED = "expected"
"""Type of our own validation errors; their message is what was expected."""

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
NAME_EXPECTED = "a name of letters, digits, '.', '_' and '-' that starts with a letter or digit"
_CPU_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._,=-]*$"
_OPTION_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
_INPUT_PATTERN = r"^[^\s:;]+$"
_ARGUMENT_EXPECTED = "one argument as text (in quotes where it looks like something else)"
_OPTION_EXPECTED = "text, true, false or a whole number (quotes make text of 1.0)"
_TIMEOUT_EXPECTED = f"more than no time: {DURATION_EXPECTED}"
_WAIT_EXPECTED = "a duration of at most a day, such as 90 s, 10 minutes or 2 hours"
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{0,18})?([eE][-+]?[0-9]{1,2})?")
_DATE_EXPECTED = "a date such as 2027-01-31"
_LONGEST_TEXT = 4096
_LONGEST_SHORT = 200
LONGEST_WAIT_S = 86_400.0
MOST_ITEMS = 1000
ITEMS_EXPECTED = f"a list, or a pattern that 1 to {MOST_ITEMS} files match"

NDK_PATTERN = r"^r[1-9][0-9][a-z]?$"
IMAGE_PATTERN = (
    r"^([a-z0-9][a-z0-9.:_-]*/)?[a-z0-9][a-z0-9._/-]*(:[A-Za-z0-9_][A-Za-z0-9._-]*)?"
    r"(@sha256:[0-9a-f]{64})?$"
)
IMAGE_EXPECTED = "a Docker image, such as megtrim/android-arm64 or NAME@sha256:DIGEST"
FUNCTIONS_PATTERN = r"^[!-~]([ -~]*[!-~])?$"
FUNCTIONS_EXPECTED = "functions by a shell pattern, such as my::log::*, or by folder: src/log/"
HOST_PATTERN = r"^[A-Za-z0-9:][A-Za-z0-9.:_-]*$"
USER_PATTERN = r"^[A-Za-z_][A-Za-z0-9_.-]*$"
SERIAL_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9.:_-]*$"
PROPERTY_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9._-]*$"
HUB_PATTERN = r"^[0-9]{1,3}(-[0-9]{1,3}(\.[0-9]{1,3})*)?$"
BRANCH_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_-]*([./][A-Za-z0-9_][A-Za-z0-9_-]*)*$"
GOVERNOR_PATTERN = r"^[a-z][a-z0-9_]*$"
CPUS_PATTERN = r"^[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*$"
HOST_EXPECTED = "a host's name or address, such as board-1.lab"
USER_EXPECTED = "the name of a user"
SERIAL_EXPECTED = "a serial as `adb devices` shows it (in quotes where it is a number)"
PROPERTY_EXPECTED = "the name of an Android property, such as ro.product.model"
VALUE_EXPECTED = "the property's whole value as text (in quotes where it looks like something else)"
HUB_EXPECTED = "a hub as uhubctl names it, such as 1-1.4 (in quotes where it is a number)"
BRANCH_EXPECTED = "the name of a branch, such as perf-history"
GOVERNOR_EXPECTED = "a governor, such as performance"
CPUS_EXPECTED = "numbers of CPUs, such as 4-7 or 0,2"


def make_value_error(what: str) -> PydanticCustomError:
    """Return the error of a value that is not ``what``."""
    return PydanticCustomError(EXPECTED, "{what}", {"what": what})


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_TEXT:
        raise make_value_error(what)
    return value


def _matching(pattern: str, what: str) -> Callable[[str], str]:
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if len(value) > _LONGEST_SHORT or compiled.fullmatch(value) is None:
            raise make_value_error(what)
        return value

    return check


def _path(value: object) -> Path:
    return value if isinstance(value, Path) else Path(_text(value, "a path"))


def _paths(value: object) -> object:
    """Treat a single path as a list of one."""
    return [value] if isinstance(value, str) else value


def _argument(value: object) -> str:
    # A whole number has only one spelling; 0.10 and true have more, so they must be quoted.
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or "\n" in value or len(value) > _LONGEST_TEXT:
        raise make_value_error(_ARGUMENT_EXPECTED)
    return value


def _property_value(value: object) -> str:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not text or "\n" in text or len(text) > _LONGEST_SHORT:
        raise make_value_error(VALUE_EXPECTED)
    return text


def _number_as_text(value: object) -> object:
    """Treat the number of a single CPU as a list of one."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _option_value(value: object) -> str | bool | int:
    if not isinstance(value, str | bool | int) or "\n" in str(value):
        raise make_value_error(_OPTION_EXPECTED)
    return value


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
    return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value


def _date(value: object) -> date:
    text = value if isinstance(value, str) else ""
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise make_value_error(_DATE_EXPECTED)


def _schema_text(what: str) -> WithJsonSchema:
    return WithJsonSchema({"type": ["string", "integer"], "description": what})


def _schema_pattern(pattern: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": pattern})


Text = Annotated[
    str,
    PlainValidator(lambda value: _text(value, "text")),
    WithJsonSchema({"type": "string", "minLength": 1}),
]
Name = Annotated[
    StrictStr, AfterValidator(_matching(NAME_PATTERN, NAME_EXPECTED)), _schema_pattern(NAME_PATTERN)
]
EmulatedCpu = Annotated[
    StrictStr,
    AfterValidator(_matching(_CPU_PATTERN, "a CPU as qemu's -cpu takes it, such as cortex-a76")),
    _schema_pattern(_CPU_PATTERN),
]
NdkRelease = Annotated[
    StrictStr,
    AfterValidator(_matching(NDK_PATTERN, "a release of the NDK, such as r21e")),
    _schema_pattern(NDK_PATTERN),
]
ImageName = Annotated[
    StrictStr,
    AfterValidator(_matching(IMAGE_PATTERN, IMAGE_EXPECTED)),
    _schema_pattern(IMAGE_PATTERN),
]
OptionName = Annotated[
    StrictStr,
    AfterValidator(_matching(_OPTION_PATTERN, "the name of a CMake option, such as MGE_WITH_TEST")),
    _schema_pattern(_OPTION_PATTERN),
]
OptionValue = Annotated[
    str | bool | int,
    PlainValidator(_option_value),
    WithJsonSchema({"type": ["string", "boolean", "integer"]}),
]
InputName = Annotated[
    StrictStr,
    AfterValidator(_matching(_INPUT_PATTERN, "the name of a model's input, without ':' or ';'")),
    _schema_pattern(_INPUT_PATTERN),
]
Argument = Annotated[
    str, PlainValidator(_argument), WithJsonSchema({"type": ["string", "integer"]})
]
Pattern = Annotated[
    StrictStr,
    AfterValidator(_matching(FUNCTIONS_PATTERN, FUNCTIONS_EXPECTED)),
    _schema_pattern(FUNCTIONS_PATTERN),
]
FilePath = Annotated[Path, PlainValidator(_path), WithJsonSchema({"type": "string"})]
FilePaths = Annotated[
    tuple[FilePath, ...],
    BeforeValidator(_paths),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
            ]
        }
    ),
]
SizeBytes = Annotated[int, PlainValidator(_size), _schema_text(BYTES_EXPECTED)]
DurationS = Annotated[float, PlainValidator(_duration), _schema_text(DURATION_EXPECTED)]
Share = Annotated[float, PlainValidator(_share), _schema_text(SHARE_EXPECTED)]
Growth = Annotated[
    GrowthLimit,
    PlainValidator(_growth),
    PlainSerializer(str, return_type=str),
    _schema_text(GROWTH_EXPECTED),
]
ShareOrAny = Annotated[float, PlainValidator(_share_or_any), _schema_text(SHARE_OR_ANY_EXPECTED)]
"""A share, or the word for one without limit, which is 1."""
TimeMs = Annotated[float, PlainValidator(_milliseconds), _schema_text(MILLISECONDS_EXPECTED)]
AbsoluteTolerance = Annotated[
    float, Field(strict=True, ge=0, allow_inf_nan=False), BeforeValidator(_number)
]
RelativeTolerance = Annotated[float, Field(strict=True, ge=0, lt=1), BeforeValidator(_number)]
TimeoutS = Annotated[DurationS, AfterValidator(_timeout)]
WaitS = Annotated[
    TimeoutS,
    AfterValidator(_wait),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
]
# With a plain validator, pydantic would not know how to write a day.
Day = Annotated[date, BeforeValidator(_date), WithJsonSchema({"type": "string", "format": "date"})]

HostName = Annotated[
    StrictStr, AfterValidator(_matching(HOST_PATTERN, HOST_EXPECTED)), _schema_pattern(HOST_PATTERN)
]
UserName = Annotated[
    StrictStr, AfterValidator(_matching(USER_PATTERN, USER_EXPECTED)), _schema_pattern(USER_PATTERN)
]
Serial = Annotated[
    StrictStr,
    AfterValidator(_matching(SERIAL_PATTERN, SERIAL_EXPECTED)),
    _schema_pattern(SERIAL_PATTERN),
]
PropertyName = Annotated[
    StrictStr,
    AfterValidator(_matching(PROPERTY_PATTERN, PROPERTY_EXPECTED)),
    _schema_pattern(PROPERTY_PATTERN),
]
PropertyValue = Annotated[
    str, PlainValidator(_property_value), WithJsonSchema({"type": ["string", "integer"]})
]
Hub = Annotated[
    StrictStr, AfterValidator(_matching(HUB_PATTERN, HUB_EXPECTED)), _schema_pattern(HUB_PATTERN)
]
Governor = Annotated[
    StrictStr,
    AfterValidator(_matching(GOVERNOR_PATTERN, GOVERNOR_EXPECTED)),
    _schema_pattern(GOVERNOR_PATTERN),
]
BranchName = Annotated[
    StrictStr,
    AfterValidator(_matching(BRANCH_PATTERN, BRANCH_EXPECTED)),
    _schema_pattern(BRANCH_PATTERN),
]
CpuList = Annotated[
    StrictStr,
    AfterValidator(_matching(CPUS_PATTERN, CPUS_EXPECTED)),
    BeforeValidator(_number_as_text),
    WithJsonSchema({"type": ["string", "integer"], "pattern": CPUS_PATTERN}),
]


def _or_pattern(schema: dict[str, Any]) -> None:
    """Let a list be a pattern of files, too."""
    items = {key: schema.pop(key) for key in ("type", "items", "minItems")}
    schema["anyOf"] = [items, {"type": "string", "minLength": 1}]


def _expect_items(value: object) -> object:
    """Refuse a pattern that is still there: no file matches it, or too many do."""
    if isinstance(value, str):
        raise make_value_error(ITEMS_EXPECTED)
    return value


_Item = TypeVar("_Item")
Items = Annotated[
    tuple[_Item, ...],
    Field(min_length=1, json_schema_extra=_or_pattern),
    BeforeValidator(_expect_items),
]
"""A list that :mod:`megtrim.config.item_files` may have read from files, one for each item."""
