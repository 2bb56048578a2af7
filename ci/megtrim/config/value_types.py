"""The kinds of value a key of megtrim.yaml can hold: names, paths, arguments, dates.

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
    PlainValidator,
    StrictStr,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from megtrim.config.base import LONGEST_NAME, make_pattern, strict_pattern
from megtrim.config_id import NAME_PATTERN, TOOLCHAIN_PATTERN
from megtrim.load_and_run import environment

EXPECTED = "expected"
"""Type of our own validation errors; their message is what was expected."""

NAME_EXPECTED = "a name of letters, digits, '.', '_' and '-' that starts with a letter or digit"
_TOOLCHAIN_EXPECTED = (
    "a name of at most 40 small letters, digits and hyphens, such as android-arm64"
)
_CPU_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._,=-]*$"
_OPTION_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
_INPUT_PATTERN = r"^[^\s:;]+$"
_ARGUMENT_EXPECTED = "one argument as text (in quotes where it looks like something else)"
_VARIABLE_EXPECTED = "one line of text (in quotes where it looks like something else)"
_OPTION_EXPECTED = "text, true, false or a whole number (quotes make text of 1.0)"
_DATE_PATTERN = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
_DATE_EXPECTED = "a date such as 2027-01-31"
_LONGEST_TEXT = 4096
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
LINE_PATTERN = r"^[^\x00-\x20\x7f]([^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?$"
SECTION_PATTERN = r"^[A-Za-z0-9._][A-Za-z0-9._-]*$"
COMPONENT_PATTERN = r"^[A-Za-z0-9+][A-Za-z0-9+_-]*([ /][A-Za-z0-9+_-]+)*$"
GOVERNOR_PATTERN = r"^[a-z][a-z0-9_]*$"
CPUS_PATTERN = r"^[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*$"
HOST_EXPECTED = "a host's name or address, such as board-1.lab"
USER_EXPECTED = "the name of a user"
SERIAL_EXPECTED = "a serial as `adb devices` shows it (in quotes where it is a number)"
PROPERTY_EXPECTED = "the name of an Android property, such as ro.product.model"
VALUE_EXPECTED = "the property's whole value as text (in quotes where it looks like something else)"
HUB_EXPECTED = "a hub as uhubctl names it, such as 1-1.4 (in quotes where it is a number)"
BRANCH_EXPECTED = "the name of a branch, such as perf-history"
SECTION_EXPECTED = "the name of a section, such as .text"
COMPONENT_EXPECTED = "a component, such as kernels/x86 (`megtrim size show FILE --by component`)"
LINE_EXPECTED = "one line of text"
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
        if len(value) > LONGEST_NAME or compiled.fullmatch(value) is None:
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


def _variable_value(value: object) -> str:
    # As with arguments: only a whole number has one spelling.
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not environment.is_value(text):
        raise make_value_error(_VARIABLE_EXPECTED)
    return text


def _property_value(value: object) -> str:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not text or "\n" in text or len(text) > LONGEST_NAME:
        raise make_value_error(VALUE_EXPECTED)
    return text


def _number_as_text(value: object) -> object:
    """Treat the number of a single CPU as a list of one."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _option_value(value: object) -> str | bool | int:
    if not isinstance(value, str | bool | int) or "\n" in str(value):
        raise make_value_error(_OPTION_EXPECTED)
    return value


def _date(value: object) -> date:
    text = value if isinstance(value, str) else ""
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise make_value_error(_DATE_EXPECTED)


_TEXT_SCHEMA = {"type": "string", "pattern": r"\S", "maxLength": _LONGEST_TEXT}
_ONE_LINE_PATTERN = r"^[^\n]*$"


Text = Annotated[
    str,
    PlainValidator(lambda value: _text(value, "text")),
    WithJsonSchema(_TEXT_SCHEMA),
]
Line = Annotated[
    StrictStr, AfterValidator(_matching(LINE_PATTERN, LINE_EXPECTED)), make_pattern(LINE_PATTERN)
]
SectionName = Annotated[
    StrictStr,
    AfterValidator(_matching(SECTION_PATTERN, SECTION_EXPECTED)),
    make_pattern(SECTION_PATTERN),
]
ComponentName = Annotated[
    StrictStr,
    AfterValidator(_matching(COMPONENT_PATTERN, COMPONENT_EXPECTED)),
    make_pattern(COMPONENT_PATTERN),
]
Name = Annotated[
    StrictStr, AfterValidator(_matching(NAME_PATTERN, NAME_EXPECTED)), make_pattern(NAME_PATTERN)
]
ToolchainName = Annotated[
    StrictStr,
    AfterValidator(_matching(TOOLCHAIN_PATTERN, _TOOLCHAIN_EXPECTED)),
    make_pattern(TOOLCHAIN_PATTERN),
]
Toolchains = Annotated[
    tuple[ToolchainName, ...],
    # What is left for one toolchain is as in a file of its own, and so are digests of it.
    Field(min_length=1, exclude=True, json_schema_extra={"uniqueItems": True}),
]
EmulatedCpu = Annotated[
    StrictStr,
    AfterValidator(_matching(_CPU_PATTERN, "a CPU as qemu's -cpu takes it, such as cortex-a76")),
    make_pattern(_CPU_PATTERN),
]
NdkRelease = Annotated[
    StrictStr,
    AfterValidator(_matching(NDK_PATTERN, "a release of the NDK, such as r21e")),
    make_pattern(NDK_PATTERN),
]
ImageName = Annotated[
    StrictStr,
    AfterValidator(_matching(IMAGE_PATTERN, IMAGE_EXPECTED)),
    make_pattern(IMAGE_PATTERN),
]
OptionName = Annotated[
    StrictStr,
    AfterValidator(_matching(_OPTION_PATTERN, "the name of a CMake option, such as MGE_WITH_TEST")),
    make_pattern(_OPTION_PATTERN),
]
OptionValue = Annotated[
    str | bool | int,
    PlainValidator(_option_value),
    WithJsonSchema(
        {
            "type": ["string", "boolean", "integer"],
            "pattern": strict_pattern(_ONE_LINE_PATTERN),
        }
    ),
]
InputName = Annotated[
    StrictStr,
    AfterValidator(_matching(_INPUT_PATTERN, "the name of a model's input, without ':' or ';'")),
    make_pattern(_INPUT_PATTERN),
]
Argument = Annotated[
    str,
    PlainValidator(_argument),
    WithJsonSchema(
        {
            "type": ["string", "integer"],
            "pattern": strict_pattern(_ONE_LINE_PATTERN),
            "maxLength": _LONGEST_TEXT,
        }
    ),
]
VariableName = Annotated[
    StrictStr,
    AfterValidator(_matching(environment.NAME_PATTERN, environment.NAME_EXPECTED)),
    make_pattern(environment.NAME_PATTERN),
]
VariableValue = Annotated[
    str,
    PlainValidator(_variable_value),
    WithJsonSchema(
        {
            "type": ["string", "integer"],
            "pattern": r"^[^\x00-\x1f\x7f]*$(?!\n)",
            "maxLength": environment.LONGEST_VALUE,
        }
    ),
]
Pattern = Annotated[
    StrictStr,
    AfterValidator(_matching(FUNCTIONS_PATTERN, FUNCTIONS_EXPECTED)),
    make_pattern(FUNCTIONS_PATTERN),
]
FilePath = Annotated[Path, PlainValidator(_path), WithJsonSchema(_TEXT_SCHEMA)]
FilePaths = Annotated[
    tuple[FilePath, ...],
    BeforeValidator(_paths),
    WithJsonSchema(
        {
            "anyOf": [
                _TEXT_SCHEMA,
                {"type": "array", "items": _TEXT_SCHEMA, "minItems": 1},
            ]
        }
    ),
]
_DAY_SCHEMA = WithJsonSchema(
    {"type": "string", "format": "date", "pattern": strict_pattern(_DATE_PATTERN)}
)
# With a plain validator, pydantic would not know how to write a day.
Day = Annotated[date, BeforeValidator(_date), _DAY_SCHEMA]

HostName = Annotated[
    StrictStr, AfterValidator(_matching(HOST_PATTERN, HOST_EXPECTED)), make_pattern(HOST_PATTERN)
]
UserName = Annotated[
    StrictStr, AfterValidator(_matching(USER_PATTERN, USER_EXPECTED)), make_pattern(USER_PATTERN)
]
Serial = Annotated[
    StrictStr,
    AfterValidator(_matching(SERIAL_PATTERN, SERIAL_EXPECTED)),
    make_pattern(SERIAL_PATTERN),
]
PropertyName = Annotated[
    StrictStr,
    AfterValidator(_matching(PROPERTY_PATTERN, PROPERTY_EXPECTED)),
    make_pattern(PROPERTY_PATTERN),
]
PropertyValue = Annotated[
    str,
    PlainValidator(_property_value),
    WithJsonSchema(
        {
            "type": ["string", "integer"],
            "minLength": 1,
            "maxLength": LONGEST_NAME,
            "pattern": strict_pattern(_ONE_LINE_PATTERN),
        }
    ),
]
Hub = Annotated[
    StrictStr, AfterValidator(_matching(HUB_PATTERN, HUB_EXPECTED)), make_pattern(HUB_PATTERN)
]
Governor = Annotated[
    StrictStr,
    AfterValidator(_matching(GOVERNOR_PATTERN, GOVERNOR_EXPECTED)),
    make_pattern(GOVERNOR_PATTERN),
]
BranchName = Annotated[
    StrictStr,
    AfterValidator(_matching(BRANCH_PATTERN, BRANCH_EXPECTED)),
    make_pattern(BRANCH_PATTERN),
]
CpuList = Annotated[
    StrictStr,
    AfterValidator(_matching(CPUS_PATTERN, CPUS_EXPECTED)),
    BeforeValidator(_number_as_text),
    WithJsonSchema(
        {
            "type": ["string", "integer"],
            "minimum": 0,
            "maximum": 9999,
            "pattern": strict_pattern(CPUS_PATTERN),
        }
    ),
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
"""A list whose items :mod:`megtrim.config.lists.item_files` may have read from files."""
