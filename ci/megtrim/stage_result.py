"""What a stage found, as a value and as the data that its manifest holds. Pure.

Each stage has a type of its own for what it finds: a frozen dataclass below :class:`StageResult`.
Whoever reads a result gets that type or an error, never a value of another form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from megtrim.errors import EXIT_PASS, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class StageResult:
    """What a stage found. Its fields, and those of the values in it, are keys of JSON objects."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(strict=True, extra="forbid")

    @property
    def exit_code(self) -> int:
        """The exit status that this result asks for; a product failure may be a result."""
        return EXIT_PASS


Result = TypeVar("Result", bound=StageResult)

_ADAPTERS: dict[type[StageResult], TypeAdapter[Any]] = {}
"""Each is made once: that takes milliseconds."""


def dump_result(result: StageResult) -> dict[str, Any]:
    """Return what :func:`json.dumps` takes, equal for equal results."""
    data: dict[str, Any] = _make_adapter(type(result)).dump_python(result, mode="json")
    return data


def parse_result(kind: type[Result], data: Mapping[str, Any]) -> Result:
    """Return the ``kind`` that ``data`` spells, all of it and nothing else.

    Raises InputError that names the first wrong entry and what was expected there.
    """
    try:
        result: Result = _make_adapter(kind).validate_json(json.dumps(data))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = ".".join(str(part) for part in first["loc"]) or "result"
        msg = f"{path}: {first['msg']}, expected what {kind.__name__} holds"
        raise InputError(msg) from None
    if dump_result(result) != data:  # a key that has a default, say, is missing
        msg = f"result: found another spelling, expected what {kind.__name__} holds"
        raise InputError(msg)
    return result


def _make_adapter(kind: type[StageResult]) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]
