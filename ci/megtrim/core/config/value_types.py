"""The kinds of value that a key of megtrim.yaml can hold: names, paths, days, sizes, durations."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from megtrim.core.config import units
from megtrim.core.config.config_id import NAME_PATTERN, TOOLCHAIN_PATTERN
from megtrim.core.config.units import GROUPED, LARGEST_BYTES, LARGEST_DURATION_S, GrowthLimit
from megtrim.libs.programs import varying
from megtrim.libs.programs.made_inputs import spell_values
from megtrim.libs.util import environment
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.key_meanings import describe_keys
from megtrim.libs.util.value import Value

EXPECTED = "expected"
NO_CHOICE: Final = "literal_error"
TEXT_EXPECTED = "text (in quotes where it looks like something else)"
LONGEST_NAME = 200
_LONGEST_TEXT = 4096
MOST_ITEMS = 1000
LONGEST_WAIT_S = 86_400.0
MOST_THREADS = 256
HIGHEST_STATUS = 125
"""Shells give higher ones to programs that a signal ended, or that they could not start."""
MOST_LISTED = 16
_THOUSAND = 1000
_ANY_WHOLE = (-(10**18), 10**18)
_ONE_LINE = r"^[^\n]*$"
_OPTION_EXPECTED = "text, true, false or a whole number (quotes make text of 1.0)"
_NUMBER_PATTERN = r"^[0-9]{1,18}(\.[0-9]{0,18})?([eE][-+]?[0-9]{1,2})?$"
_TOLERANCE_PATTERN = r"^[0-9]{1,10}(\.[0-9]{0,18})?([eE](-[0-9]{1,2}|\+?0?[0-9]))?$"
_LARGEST_TOLERANCE = 1e9
"""Beyond what the outputs of a model range; whoever writes more means a relative one."""
_GROUPED_PATTERN = rf"^({GROUPED})$"
_BELOW_ONE_PATTERN = (
    r"^(0(\.[0-9]{0,18})?|[0-9](\.[0-9]{0,18})?[eE]-0?[1-9][0-9]?|[0-9]{1,2}(\.[0-9]{1,9})?%)$"
)


class Limit(Value):
    """Declares that a key limits what is measured."""

    below: str = ""
    """Key of the limit before which it warns, and never fails; empty: it fails."""
    takes_share: bool = False
    """Whether its shares are of that limit, in place of what is measured."""


class Requirement(Value):
    """Declares that a key has no meaning without another."""

    key: str


_Mark = TypeVar("_Mark", Limit, Requirement)


class ConfigSection(BaseModel):
    """A mapping of known keys and no others, frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        made = handler(core)
        describe_keys(cls, handler.resolve_ref_schema(made))
        return made

    @model_validator(mode="before")
    @classmethod
    def _leave_out_empty(cls, data: object) -> object:
        """Treat a known key without a value (with its entries commented out) as left out."""
        if not isinstance(data, dict):
            return data
        known = cls.names_by_key()
        return {key: value for key, value in data.items() if value is not None or key not in known}

    @classmethod
    def names_by_key(cls) -> dict[str, str]:
        return {field.alias or name: name for name, field in cls.model_fields.items()}

    @classmethod
    def find_marked(cls, kind: type[_Mark]) -> dict[str, _Mark]:
        """Return what is declared of keys, such as ``Requirement(key="max")``, by key."""
        return {
            key: mark
            for key, name in cls.names_by_key().items()
            for mark in cls.model_fields[name].metadata
            if isinstance(mark, kind)
        }


def strict_pattern(pattern: str) -> str:
    """Return a pattern whose end is the text's: ``$`` is also before a last line break."""
    return re.sub(r"\$$", r"$(?!\\n)", pattern)


def make_value_error(what: str) -> PydanticCustomError:
    return PydanticCustomError(EXPECTED, "{what}", {"what": what})


@dataclass(frozen=True, slots=True)
class Form:
    pattern: str
    expected: str
    longest: int = LONGEST_NAME
    read: Callable[[str], object] | None = None
    """Makes the value of its text, or raises InputError or ValueError; left out: it is text."""
    numbers: tuple[int, int] | None = None
    """The least and the largest whole number that may stand for its digits, without quotes.

    0.10 and true have several spellings, so they must be quoted.
    """

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._convert, handler(source))

    def __get_pydantic_json_schema__(self, _core: object, _handler: object) -> dict[str, Any]:
        return self.make_schema()

    def make_schema(self) -> dict[str, Any]:
        text = {"pattern": strict_pattern(self.pattern), "maxLength": self.longest}
        if self.numbers is None:
            return {"type": "string", **text}
        least, most = self.numbers
        return {"type": ["string", "integer"], "minimum": least, "maximum": most, **text}

    def _convert(self, value: object) -> object:
        if self.numbers and isinstance(value, int) and not isinstance(value, bool):
            least, most = self.numbers
            text = str(value) if least <= value <= most else ""
        elif isinstance(value, str):
            text = value
        else:
            is_text = self.read is None and self.numbers is None
            raise make_value_error(TEXT_EXPECTED if is_text else self.expected)
        try:
            if len(text) <= self.longest and re.search(strict_pattern(self.pattern), text):
                return text if self.read is None else self.read(text)
        except (InputError, ValueError):
            pass
        raise make_value_error(self.expected)


def _option_value(value: object) -> str | bool | int:
    if not isinstance(value, str | bool | int) or "\n" in str(value):
        raise make_value_error(_OPTION_EXPECTED)
    return value


def _number(value: object) -> object:
    fits = isinstance(value, str) and re.fullmatch(_NUMBER_PATTERN, value)
    return float(str(value)) if fits else value


def _below_one(value: object) -> object:
    if not isinstance(value, str) or not re.fullmatch(_BELOW_ONE_PATTERN, value):
        return value
    number, percent, _ = value.partition("%")
    return float(number) / 100 if percent else float(number)


def _describe_number(bounds: dict[str, Any], pattern: str) -> WithJsonSchema:
    return WithJsonSchema(
        {"type": ["number", "string"], **bounds, "pattern": strict_pattern(pattern)}
    )


def read_whole(value: object, *, least: int, most: int) -> int | None:
    """Read a whole number, perhaps with its thousands apart: 1_000; None for anything else."""
    if isinstance(value, str) and re.fullmatch(_GROUPED_PATTERN, value):
        value = int(re.sub("[,_]", "", value))
    fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    return value if isinstance(value, int) and fits else None


@dataclass(frozen=True, slots=True)
class Whole:
    least: int
    most: int
    also: str = ""

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
    number = {key: schema.pop(key) for key in ("type", "minimum", "maximum")}
    some = {"type": "array", "items": number, "minItems": 1, "maxItems": MOST_LISTED}
    schema["anyOf"] = [number, {**some, "uniqueItems": True}]


_DATE = Form(
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$",
    "a date such as 2027-01-31",
    read=date.fromisoformat,
)
_PATH = Form(r"\S", "a path", longest=_LONGEST_TEXT, read=Path)
_SIZES = (0, LARGEST_BYTES)
_TIMES = (1, LARGEST_DURATION_S)
_TIMEOUT_EXPECTED = "a duration of more than no time, such as 90 s, 10 minutes or 2 hours"
_WAIT_EXPECTED = (
    "a duration of more than no time and at most a day, such as 90 s, 10 minutes or 2 hours"
)


def _wait(text: str) -> float:
    duration_s = units.parse_duration(text)
    if duration_s > LONGEST_WAIT_S:
        raise ValueError
    return duration_s


Text = Annotated[str, Form(r"\S", "text", longest=_LONGEST_TEXT)]
Line = Annotated[
    str, Form(r"^[^\x00-\x20\x7f]([^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?$", "one line of text")
]
Name = Annotated[
    str,
    Form(
        NAME_PATTERN,
        "a name of letters, digits, '.', '_' and '-' that starts with a letter or digit",
    ),
]
CompilerName = Annotated[
    str,
    Form(
        r"^([A-Za-z0-9_.]+-)*(cc|gcc|g\+\+|c\+\+|clang|clang\+\+)(-[0-9]+(\.[0-9]+)*)?$",
        "the name of a compiler, such as gcc, clang++-14 or aarch64-linux-gnu-gcc",
    ),
]
SectionName = Annotated[
    str, Form(r"^[A-Za-z0-9._][A-Za-z0-9._-]*$", "the name of a section, such as .text")
]
ComponentName = Annotated[
    str,
    Form(
        r"^[A-Za-z0-9+][A-Za-z0-9+_-]*([ /][A-Za-z0-9+_-]+)*$",
        "a component, such as kernels/x86 (`megtrim size show FILE --by component`)",
    ),
]
ToolchainName = Annotated[
    str,
    Form(
        TOOLCHAIN_PATTERN,
        "a name of at most 40 small letters, digits and hyphens, such as android-arm64",
    ),
]
Toolchains = Annotated[
    tuple[ToolchainName, ...],
    # What is left for one toolchain is as in a file of its own, and so are digests of it.
    Field(min_length=1, exclude=True, json_schema_extra={"uniqueItems": True}),
]
EmulatedCpu = Annotated[
    str,
    Form(r"^[A-Za-z0-9][A-Za-z0-9._,=-]*$", "a CPU as qemu's -cpu takes it, such as cortex-a76"),
]
NdkRelease = Annotated[str, Form(r"^r[1-9][0-9][a-z]?$", "a release of the NDK, such as r21e")]
ImageName = Annotated[
    str,
    Form(
        r"^([a-z0-9][a-z0-9.:_-]*/)?[a-z0-9][a-z0-9._/-]*(:[A-Za-z0-9_][A-Za-z0-9._-]*)?"
        r"(@sha256:[0-9a-f]{64})?$",
        "a Docker image, such as megtrim/android-arm64 or NAME@sha256:DIGEST",
    ),
]
OptionName = Annotated[
    str, Form(r"^[A-Za-z_][A-Za-z0-9_]*$", "the name of a CMake option, such as MGE_WITH_TEST")
]
OptionValue = Annotated[
    str | bool | int,
    PlainValidator(_option_value),
    WithJsonSchema(
        {"type": ["string", "boolean", "integer"], "pattern": strict_pattern(_ONE_LINE)}
    ),
]
InputName = Annotated[str, Form(r"^[^\s:;]+$", "the name of a model's input, without ':' or ';'")]
Argument = Annotated[
    str,
    Form(_ONE_LINE, f"one argument as {TEXT_EXPECTED}", longest=_LONGEST_TEXT, numbers=_ANY_WHOLE),
]
VariableName = Annotated[str, Form(environment.NAME_PATTERN, environment.NAME_EXPECTED)]
VariableValue = Annotated[
    str,
    Form(
        r"^[^\x00-\x1f\x7f]*$",
        "one line of text",
        longest=environment.LONGEST_VALUE,
        numbers=_ANY_WHOLE,
    ),
]
ExitStatus = Annotated[int, Whole(0, HIGHEST_STATUS)]
VaryingText = Annotated[
    str,
    Form(
        varying.PATTERN,
        varying.EXPECTED,
        longest=varying.LONGEST_PATTERN,
        read=varying.check_pattern,
    ),
]
Pattern = Annotated[
    str,
    Form(
        r"^[!-~]([ -~]*[!-~])?$",
        "functions by a shell pattern, such as my::log::*, or by folder: src/log/",
    ),
]
OF_APPLICATIONS = "@applications"
Export = Annotated[
    str,
    Form(
        rf"^({OF_APPLICATIONS}|[A-Za-z0-9_.$*?\[\]!-]+)$",
        f"a name that a library exports, a shell pattern such as LITE_*, or {OF_APPLICATIONS}",
    ),
]
FilePath = Annotated[
    Path, _PATH, BeforeValidator(lambda value: str(value) if isinstance(value, Path) else value)
]
InputSource = Annotated[
    FilePath,
    BeforeValidator(spell_values),
    WithJsonSchema(
        {"anyOf": [_PATH.make_schema(), {"type": "number"}, {"type": "array", "minItems": 1}]}
    ),
]
"""A file, or the values as :mod:`megtrim.libs.programs.made_inputs` reads them."""
FilePaths = Annotated[
    tuple[FilePath, ...],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    WithJsonSchema(
        {
            "anyOf": [
                _PATH.make_schema(),
                {"type": "array", "items": _PATH.make_schema(), "minItems": 1},
            ]
        }
    ),
]
Day = Annotated[date, _DATE]
HostName = Annotated[
    str, Form(r"^[A-Za-z0-9:][A-Za-z0-9.:_-]*$", "a host's name or address, such as board-1.lab")
]
UserName = Annotated[str, Form(r"^[A-Za-z_][A-Za-z0-9_.-]*$", "the name of a user")]
Serial = Annotated[
    str,
    Form(
        r"^[A-Za-z0-9][A-Za-z0-9.:_-]*$",
        "a serial as `adb devices` shows it (in quotes where it is a number)",
    ),
]
PropertyName = Annotated[
    str,
    Form(
        r"^[A-Za-z0-9_][A-Za-z0-9._-]*$",
        "the name of an Android property, such as ro.product.model",
    ),
]
PropertyValue = Annotated[
    str, Form(r"^[^\n]+$", f"the property's whole value as {TEXT_EXPECTED}", numbers=_ANY_WHOLE)
]
Hub = Annotated[
    str,
    Form(
        r"^[0-9]{1,3}(-[0-9]{1,3}(\.[0-9]{1,3})*)?$",
        "a hub as uhubctl names it, such as 1-1.4 (in quotes where it is a number)",
    ),
]
Governor = Annotated[str, Form(r"^[a-z][a-z0-9_]*$", "a governor, such as performance")]
BranchName = Annotated[
    str,
    Form(
        r"^[A-Za-z0-9_][A-Za-z0-9_-]*([./][A-Za-z0-9_][A-Za-z0-9_-]*)*$",
        "the name of a branch, such as perf-history",
    ),
]
CpuList = Annotated[
    str,
    Form(
        r"^[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*$",
        "numbers of CPUs, such as 4-7 or 0,2",
        numbers=(0, 9999),
    ),
]

Threads = Annotated[
    int,
    Whole(1, MOST_THREADS, also=f", or a list of up to {MOST_LISTED} of them"),
    Field(json_schema_extra=_or_list),
]
"""A number; :mod:`megtrim.core.config.items` has made one scenario of each in a list."""
SizeBytes = Annotated[
    int, Form(units.BYTES_PATTERN, units.BYTES_EXPECTED, read=units.parse_bytes, numbers=_SIZES)
]
DurationS = Annotated[
    float,
    Form(
        units.DURATION_PATTERN,
        units.DURATION_EXPECTED,
        read=units.parse_duration,
        numbers=(0, LARGEST_DURATION_S),
    ),
]
TimeoutS = Annotated[
    float,
    Form(
        units.POSITIVE_DURATION_PATTERN,
        _TIMEOUT_EXPECTED,
        read=units.parse_duration,
        numbers=_TIMES,
    ),
]
WaitS = Annotated[
    float,
    Form(
        units.POSITIVE_DURATION_PATTERN,
        _WAIT_EXPECTED,
        read=_wait,
        numbers=(1, int(LONGEST_WAIT_S)),
    ),
    PlainSerializer(units.format_duration, return_type=str, when_used="json"),
]
Share = Annotated[float, Form(units.SHARE_PATTERN, units.SHARE_EXPECTED, read=units.parse_share)]
ShareOrAny = Annotated[
    float,
    Form(
        f"{units.SHARE_PATTERN}|^{units.ANY}$",
        units.SHARE_OR_ANY_EXPECTED,
        read=lambda text: 1.0 if text == units.ANY else units.parse_share(text),
    ),
]
"""A share, or the word for one without limit, which is 1."""
Growth = Annotated[
    GrowthLimit,
    Form(
        f"{units.BYTES_PATTERN}|{units.SHARE_PATTERN}",
        units.GROWTH_EXPECTED,
        read=units.parse_growth,
        numbers=_SIZES,
    ),
    PlainSerializer(str, return_type=str),
]
TimeMs = Annotated[
    float,
    Form(
        units.MILLISECONDS_PATTERN,
        units.MILLISECONDS_EXPECTED,
        read=units.parse_milliseconds,
        numbers=(0, 0),
    ),
]
AbsoluteTolerance = Annotated[
    float,
    Field(strict=True, ge=0, le=_LARGEST_TOLERANCE, allow_inf_nan=False),
    BeforeValidator(_number),
    _describe_number({"minimum": 0, "maximum": _LARGEST_TOLERANCE}, _TOLERANCE_PATTERN),
]
RelativeTolerance = Annotated[
    float,
    Field(strict=True, ge=0, lt=1),
    BeforeValidator(_below_one),
    _describe_number({"minimum": 0, "exclusiveMaximum": 1}, _BELOW_ONE_PATTERN),
]
