"""A frozen dataclass as a JSON document: equal bytes for equal values, read strictly.

Pure: text in, value out; part of the verdict room. Which value it is, its caller says.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

from megtrim.errors import InputError
from megtrim.verdict.codec import decode, encode, make_mismatch_error

LARGEST_DOCUMENT = 64 * 1024 * 1024
"""Characters of a document that is still read."""

T = TypeVar("T")


def dump(value: object) -> str:
    """Write ``value``: its fields in their order, ASCII only, a newline at the end."""
    return json.dumps(encode(value), indent=1, allow_nan=False) + "\n"


def load(kind: type[T], text: str, *, source: str, version: int, hint: str) -> T:
    """Read a ``kind`` whose key ``version`` is ``version``.

    Anything but exactly its shape is an InputError naming ``source`` and the path to the value;
    a ValueError of the value's own checks is one too.
    """
    try:
        value: T = decode(kind, _parse_json(text, version), "")
    except json.JSONDecodeError as error:
        msg = f"{source}:{error.lineno}: found no JSON here ({error.msg}), expected a document"
        raise InputError(msg, hint=hint) from None
    except RecursionError:
        msg = f"{source}:1: found JSON that is nested too deep, expected a document"
        raise InputError(msg, hint=hint) from None
    except (InputError, ValueError) as error:
        of = type(error) if isinstance(error, InputError) else InputError
        msg = f"{source}:1: {error}"
        raise of(msg, hint=hint) from None
    return value


def _parse_json(text: str, version: int) -> Any:
    if len(text) > LARGEST_DOCUMENT:
        expected = f"a document of at most {LARGEST_DOCUMENT} characters"
        raise make_mismatch_error(len(text), expected, path="length")
    value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    if isinstance(value, dict) and value.get("version", version) != version:
        raise make_mismatch_error(value["version"], str(version), path="version")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        msg = "found a key twice in one object, expected each key once"
        raise InputError(msg)
    return entries


def _refuse_constant(name: str) -> Any:
    raise make_mismatch_error(name, "a finite number", path="a number")
