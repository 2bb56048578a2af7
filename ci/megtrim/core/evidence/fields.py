"""The types of values in bundles and evidence: names, digests, texts and counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from megtrim.core.config.config_id import DEFAULT_CONFIG, NAME_PATTERN
from megtrim.libs.programs.parity import Tolerance
from megtrim.libs.util import environment
from megtrim.libs.util.environment import Variables
from megtrim.libs.util.errors import SEVERITY, MegtrimError
from megtrim.libs.util.json_text import show
from megtrim.libs.util.limits import (
    CONTROL,
    CONTROL_IN_LOG,
    LONGEST_LINE,
    LONGEST_LOG,
    MOST_ITEMS,
)
from megtrim.libs.util.strict_json import load
from megtrim.libs.util.value import Value

_NAME = re.compile(NAME_PATTERN.strip("^$"))
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SCENARIO = re.compile(
    rf"(?:(?:{_NAME.pattern})/)?(?:{_NAME.pattern})@(?P<cpu_class>{_NAME.pattern})"
)
_LONGEST_NAME = 200
_MOST_THREADS = 256
_LARGEST_TOLERANCE = 2.0**62

T = TypeVar("T")
A_NAME = "a name of letters, digits, '.', '_' and '-'"
A_LINE = f"one line of at most {LONGEST_LINE} characters, none a control character"
VARIABLES = f"variables of one line, each once, by {environment.NAME_EXPECTED}"
THREADS = f"1 to {_MOST_THREADS}"
Items = Annotated[tuple[T, ...], Field(max_length=MOST_ITEMS)]
_ENDING_VERSION = 2


def expecting(expected: str, fits: Callable[[T], bool]) -> AfterValidator:
    unfit = PydanticCustomError("unfit", "{expected}", {"expected": expected})

    def check(value: T) -> T:
        if not fits(value):
            raise unfit
        return value

    return AfterValidator(check)


def is_name(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and _NAME.fullmatch(text) is not None


def is_line(text: str) -> bool:
    return len(text) <= LONGEST_LINE and not CONTROL.search(text)


def _is_log(text: str) -> bool:
    return len(text) <= LONGEST_LOG and not CONTROL_IN_LOG.search(text)


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def are_variables(variables: Variables) -> bool:
    names = [name for name, _ in variables]
    return (
        len(names) == len({*names}) <= environment.MOST_VARIABLES
        and all(map(environment.is_name, names))
        and all(environment.is_value(value) for _, value in variables)
    )


def is_bounded(tolerance: Tolerance) -> bool:
    return tolerance.absolute <= _LARGEST_TOLERANCE and tolerance.relative < 1


def is_threads(number: int) -> bool:
    return 1 <= number <= _MOST_THREADS


Name = Annotated[str, expecting(A_NAME, is_name)]
Digest = Annotated[
    str, expecting("a sha256 of 64 hex digits", lambda text: bool(_DIGEST.fullmatch(text)))
]
Line = Annotated[str, expecting(A_LINE, is_line)]
Log = Annotated[
    str, expecting(f"at most {LONGEST_LOG} characters, none a control character", _is_log)
]
Day = Annotated[str, expecting("a date such as 2027-01-31", _is_day)]
Environment = Annotated[Variables, expecting(VARIABLES, are_variables)]
Threads = Annotated[int, expecting(THREADS, is_threads)]


def require(fits: bool, where: str, found: object, expected: str) -> None:
    if not fits:
        msg = f"{where}: found {show(found)}, expected {expected}"
        raise ValueError(msg)


def require_scenario(where: str, value: str, *, cpu_class: str) -> None:
    """Expect ``MODEL/SCENARIO@CLASS`` of that class, or a command's ``NAME@CLASS``."""
    match = _SCENARIO.fullmatch(value) if len(value) <= 3 * _LONGEST_NAME + 2 else None
    fits = match is not None and match["cpu_class"] == cpu_class
    require(fits, where, value, f"MODEL/SCENARIO@{cpu_class} or NAME@{cpu_class}")


def require_contest(where: str, value: str, *, cpu_class: str) -> str:
    """Expect ``MODEL/SCENARIO@CLASS#NAME`` of that class; return the scenario."""
    scenario, mark, name = value.partition("#")
    require_scenario(where, scenario, cpu_class=cpu_class)
    require(bool(mark), where, value, f"MODEL/SCENARIO@{cpu_class}#NAME")
    require(is_name(name), where, name, A_NAME)
    return scenario


def require_unique(where: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        require(name not in seen, where, name, "each name once")
        seen.add(name)


class EarlyExit(Value):
    version: int = _ENDING_VERSION
    config: Line = DEFAULT_CONFIG
    exit: Annotated[int, expecting(f"one of {sorted(SEVERITY)}", SEVERITY.__contains__)]
    message: str
    hint: str

    @classmethod
    def of(cls, error: MegtrimError, config: str) -> EarlyExit:
        return cls(config=config, exit=error.exit_code, message=error.message, hint=error.hint)

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


def parse_ending(text: str, *, source: str) -> EarlyExit:
    hint = "run the build job again"
    return load(EarlyExit, text, source=source, version=_ENDING_VERSION, hint=hint)
