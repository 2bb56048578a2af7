"""What a budget may require of neighbours: a number, all, or a list of names. Pure."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from megtrim.config.value_types import make_value_error
from megtrim.config_id import NAME_PATTERN

ALL = "all"
"""Every neighbour that the plain build can run."""
_EXPECTED = "a whole number, 1 or more, `all`, or a list of names such as [iter-1, threads-4]"
_MOST = 1000


def _validate_neighbours(value: object) -> int | str | tuple[str, ...]:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST:
        return value
    if value == ALL:
        return ALL
    if not isinstance(value, list) or not value:
        raise make_value_error(_EXPECTED)
    for name in value:
        if not isinstance(name, str) or not re.fullmatch(NAME_PATTERN, name):
            raise make_value_error(_EXPECTED)
    return tuple(value)


AskedNeighbours = Annotated[
    int | str | tuple[str, ...],
    PlainValidator(_validate_neighbours),
    # With a validator of our own, pydantic would have to guess which of the three a value is.
    PlainSerializer(lambda asked: asked),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": _MOST},
                {"type": "string", "enum": [ALL]},
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
            ]
        }
    ),
]
