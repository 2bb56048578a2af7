"""JSON documents of frozen dataclasses: equal bytes for equal values, read strictly by pydantic.

A reader takes what a writer leaves and nothing else; InputErrors name the path
(``scenarios[2].status``). A key is its field's name or alias, a number 0 to 2^62 or as annotated; a
pydantic model inside leaves out keys that hold their defaults. Pure.
"""

import dataclasses
import json
import math
import sys
from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, SchemaValidator

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.json_text import LONGEST_SHOWN, read, show

_LARGEST_NUMBER = 2**62

_EXPECTED: Mapping[str, str] = {
    "bool_type": "true or false",
    "dataclass_type": "an object",
    "date_from_datetime_parsing": "a date such as 2027-01-31",
    "date_type": "a date such as 2027-01-31",
    "dict_type": "an object",
    "enum": "one of {expected}",
    "extra_forbidden": "no such key",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than_equal": "{ge:g} or more",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "less_than_equal": "{le:g} or less",
    "literal_error": "one of {expected}",
    "mapping_type": "an object",
    "model_type": "an object",
    "string_too_long": "at most {max_length} characters",
    "string_type": "text",
    "too_long": "at most {max_length} entries",
    "too_short": "at least {min_length} entry",
    "tuple_type": "a list",
    "unexpected_keyword_argument": "no such key",
}

SignedInt = Annotated[int, Field(ge=-_LARGEST_NUMBER)]
SignedFloat = Annotated[float, Field(ge=-_LARGEST_NUMBER)]
AnyMagnitude = Annotated[float, Field(le=sys.float_info.max)]
"""What programs under test produce: a failure that cannot be read would not be one any more."""

T = TypeVar("T")


def dump(value: object) -> str:
    """Write ``value``: its fields in their order, ASCII only, a newline at the end."""
    return json.dumps(encode(value), indent=1, allow_nan=False) + "\n"


def load(kind: type[T], text: str, *, source: str, version: int, hint: str) -> T:
    """Read a ``kind`` of ``version``. InputError names ``source`` and the path to the value."""
    value: T = read(text, lambda value: decode(kind, value, ""), source, version, hint)
    return value


def encode(value: object) -> Any:
    """Return ``value`` as what :func:`json.dumps` takes; a float that is no number is null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {key: encode(getattr(value, name)) for name, key in _keys(type(value))}
    if isinstance(value, BaseModel):
        return encode(value.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): encode(value[key]) for key in sorted(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.isoformat() if isinstance(value, date) else value


def decode(kind: Any, value: Any, path: str) -> Any:
    """Return the ``kind`` that a JSON ``value`` spells; ``path`` is where it is, for messages."""
    try:
        return _validator(kind).validate_python(value)
    except ValidationError as error:
        raise InputError(_message(error.errors(include_url=False)[0], path)) from None


def make_schemas(kinds: Iterable[type]) -> tuple[dict[type, Any], dict[str, Any]]:
    from pydantic.json_schema import GenerateJsonSchema

    class ClosedSchemas(GenerateJsonSchema):
        def dataclass_args_schema(self, schema: Any) -> dict[str, Any]:
            return super().dataclass_args_schema(schema) | {"additionalProperties": False}

    inputs: Any = [(kind, "validation", _make_strict_core(kind)) for kind in dict.fromkeys(kinds)]
    made, known = ClosedSchemas(by_alias=True).generate_definitions(inputs)
    schemas: dict[type, Any] = {kind: schema for (kind, _), schema in made.items()}
    return schemas, {str(name): schema for name, schema in known.items()}


def show_path(path: tuple[str | int, ...], start: str = "") -> str:
    """Return a path into a document as people write it: ``models[0].scenarios[1].args``."""
    text = start
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            shown = part if part.isprintable() else ascii(part)
            if text:
                text += "."
            text += shown if len(shown) <= LONGEST_SHOWN else f"{shown[: LONGEST_SHOWN - 3]}..."
    return text


@cache
def _keys(kind: type) -> tuple[tuple[str, str], ...]:
    hints = get_type_hints(kind, include_extras=True)
    names = [field.name for field in dataclasses.fields(kind)]
    given = {
        name: each.alias
        for name in names
        for each in getattr(hints[name], "__metadata__", ())
        if getattr(each, "alias", None)
    }
    return tuple((name, given.get(name, name)) for name in names)


@cache
def _validator(kind: Any) -> SchemaValidator:
    return SchemaValidator(_make_strict_core(kind))


def _make_strict_core(kind: Any) -> Any:
    return _strict(TypeAdapter(kind).core_schema)


def _strict(schema: Any) -> Any:
    """Return pydantic's schema of dataclasses with the rules of this module.

    pydantic itself fills in defaults, ignores unknown keys, and strictly takes no list for a tuple.
    """
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict) or schema.get("type") == "model":
        return schema
    changes: dict[str, Any] = {}
    match schema.get("type"):
        case "default":
            return _strict(schema["schema"])
        case "tuple" | "list" | "dict":
            # One error is shown: millions of them would take more memory than the machine has.
            changes = {"fail_fast": True}
        case "dataclass-args":
            changes = {"extra_behavior": "forbid"}
        case "int" | "float":
            bounds = {"ge": 0, "le": _LARGEST_NUMBER}
            changes = {each: schema.get(each, bounds[each]) for each in bounds} | {"strict": True}
        case "bool":
            changes = {"strict": True}
        case _:
            pass
    return {key: _strict(value) for key, value in (schema | changes).items()}


def _message(error: ErrorDetails, start: str) -> str:
    path = error["loc"]
    kind = error["type"]
    found = show(error["input"])
    expected = error["msg"]
    if kind == "value_error":
        # A value's own check, which says where.
        return str(error["ctx"]["error"])
    if kind == "missing":
        found = "nothing"
        expected = "this entry" if isinstance(path[-1], int) else "this key"
    elif kind in _EXPECTED:
        expected = _EXPECTED[kind].format(**error.get("ctx", {})).replace("'", "")
    return f"{show_path(path, start) or 'top level'}: found {found}, expected {expected}"
