"""Lists of megtrim.yaml whose items may be in files of their own."""

from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field

from megtrim.core.config.value_types import MOST_ITEMS, make_value_error

ITEMS_EXPECTED = f"a list, or a pattern that 1 to {MOST_ITEMS} files match"


def _or_pattern(schema: dict[str, Any]) -> None:
    items = {key: schema.pop(key) for key in ("type", "items", "minItems") if key in schema}
    schema["anyOf"] = [items, {"type": "string", "minLength": 1}]


def _expect_items(value: object) -> object:
    if isinstance(value, str):
        raise make_value_error(ITEMS_EXPECTED)
    return value


_Item = TypeVar("_Item")
Items = Annotated[
    tuple[_Item, ...],
    Field(min_length=1, json_schema_extra=_or_pattern),
    BeforeValidator(_expect_items),
]
"""A list whose items :mod:`megtrim.core.config.items` may have read from files."""
AnyItems = Annotated[
    tuple[_Item, ...],
    Field(json_schema_extra=_or_pattern),
    BeforeValidator(_expect_items),
]
"""The same; it may be empty."""
