"""The text of JSON documents, read strictly, whatever their shape is.

Pure, and quick to load: :mod:`megtrim.libs.util.strict_json`, which knows shapes, needs pydantic.
"""

import json
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from megtrim.libs.util.errors import InputError

LARGEST_DOCUMENT = 64 * 1024 * 1024
LONGEST_SHOWN = 60
_MOST_KEYS = 10_000

T = TypeVar("T")


def read(text: str, convert: Callable[[Any], T], source: str, version: int, hint: str) -> T:
    """Return what ``convert`` makes of a document of ``version``. InputError names ``source``."""
    try:
        return convert(_parse(text, version))
    except json.JSONDecodeError as error:
        msg = f"{source}:{error.lineno}: found no JSON here ({error.msg}), expected a document"
        raise InputError(msg, hint=hint) from None
    except RecursionError:
        msg = f"{source}:1: found JSON that is nested too deeply, expected a document"
        raise InputError(msg, hint=hint) from None
    except (InputError, ValueError) as error:
        of = type(error) if isinstance(error, InputError) else InputError
        msg = f"{source}:1: {error}"
        raise of(msg, hint=hint) from None


def _parse(text: str, version: int) -> Any:
    if len(text) > LARGEST_DOCUMENT:
        expected = f"a document of at most {LARGEST_DOCUMENT} characters"
        raise _make_mismatch_error(len(text), expected, path="length")
    # pydantic's own parser takes the last of equal keys, and no lone surrogates.
    value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    if isinstance(value, dict) and value.get("version", version) != version:
        raise _make_mismatch_error(value["version"], str(version), path="version")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > _MOST_KEYS:
        msg = f"found an object of {len(pairs)} keys, expected at most {_MOST_KEYS}"
        raise InputError(msg)
    entries = dict(pairs)
    if len(entries) != len(pairs):
        msg = "found a key twice in one object, expected each key once"
        raise InputError(msg)
    return entries


def expect_finite(name: str) -> NoReturn:
    """Refuse NaN and the infinities, which Python's reader of JSON takes for numbers."""
    msg = f"{name} is not a JSON number"
    raise ValueError(msg)


def _refuse_constant(name: str) -> Any:
    raise _make_mismatch_error(name, "a finite number", path="a number")


def _make_mismatch_error(value: object, expected: str, *, path: str) -> InputError:
    return InputError(f"{path}: found {show(value)}, expected {expected}")


def show(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}…"
