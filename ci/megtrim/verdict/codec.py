"""Frozen dataclasses to JSON values and back, strictly: nothing missing, nothing extra.

Pure; part of the verdict room. It knows dataclasses, not verdicts. A value of the wrong shape is
an :class:`~megtrim.errors.InputError` that names the path to it (``scenarios[2].status``).
"""

from __future__ import annotations

import dataclasses
import math
import sys
import types
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from megtrim.errors import InputError

_JSON_NAMES = {"cpu_class": "class"}
"""Fields whose JSON key is a word that Python reserves."""

_MAY_BE_NEGATIVE = ("growth_bytes", "saved_bytes", "saved_share", "cpu_c", "battery_c")
_MAY_BE_HUGE = ("largest_difference",)
"""What programs under test make: a failure that cannot be read would be no failure any more."""
_LARGEST_NUMBER = 2**62
_LONGEST_SHOWN = 60


@cache
def _fields(kind: type) -> tuple[tuple[str, str, Any], ...]:
    """Return (field name, JSON key, type) of each field of a dataclass."""
    hints = get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    return tuple((name, _JSON_NAMES.get(name, name), hints[name]) for name in names)


def encode(value: object) -> Any:
    """Return ``value`` as what :func:`json.dumps` takes; a float that is no number is null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {key: encode(getattr(value, name)) for name, key, _ in _fields(type(value))}
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): encode(value[key]) for key in sorted(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def decode(kind: Any, value: Any, path: str) -> Any:
    """Return the ``kind`` (dataclass, tuple, mapping, enum, scalar) that ``value`` spells."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _decode_optional(kind, value, path)
    if origin is tuple:
        return _decode_tuple(get_args(kind), value, path)
    if origin is Mapping:
        entries = _as(dict, value, path, "an object of texts")
        return {key: decode(str, entries[key], f"{path}.{key}") for key in sorted(entries)}
    if dataclasses.is_dataclass(kind):
        return _decode_fields(kind, value, path)
    if issubclass(kind, StrEnum):
        return _decode_enum(kind, value, path)
    return _decode_scalar(kind, value, path)


def _decode_optional(kind: Any, value: Any, path: str) -> Any:
    inner = next(part for part in get_args(kind) if part is not type(None))
    return None if value is None else decode(inner, value, path)


def _decode_tuple(parts: tuple[Any, ...], value: Any, path: str) -> tuple[Any, ...]:
    items = _as(list, value, path, "a list")
    if parts[-1] is Ellipsis:
        return tuple(decode(parts[0], item, f"{path}[{at}]") for at, item in enumerate(items))
    if len(items) != len(parts):
        raise make_mismatch_error(value, f"a list of {len(parts)}", path=path)
    pairs = zip(parts, items, strict=True)
    return tuple(decode(part, item, f"{path}[{at}]") for at, (part, item) in enumerate(pairs))


def _decode_fields(kind: Any, value: Any, path: str) -> Any:
    entries = _as(dict, value, path, "an object")
    fields = _fields(kind)
    missing = sorted({key for _, key, _ in fields} - entries.keys())
    extra = sorted(entries.keys() - {key for _, key, _ in fields})
    if missing or extra:
        found = f"found no key {missing[0]!r}" if missing else f"found key {extra[0][:60]!r}"
        expected = ", ".join(key for _, key, _ in fields)
        msg = f"{path or 'top level'}: {found}, expected exactly {expected}"
        raise InputError(msg)
    prefix = f"{path}." if path else ""
    return kind(**{name: decode(hint, entries[key], prefix + key) for name, key, hint in fields})


def _decode_enum(kind: type[StrEnum], value: Any, path: str) -> StrEnum:
    if not isinstance(value, str) or value not in [str(member) for member in kind]:
        raise make_mismatch_error(value, f"one of {', '.join(kind)}", path=path)
    return kind(value)


def _decode_scalar(kind: type[Any], value: Any, path: str) -> Any:
    names = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    accepted: tuple[type[Any], ...] = (float, int) if kind is float else (kind,)
    if not isinstance(value, accepted) or (kind is not bool and isinstance(value, bool)):
        raise make_mismatch_error(value, names[kind], path=path)
    if kind in (str, bool):
        return value
    least = -_LARGEST_NUMBER if path.endswith(_MAY_BE_NEGATIVE) else 0
    most = sys.float_info.max if path.endswith(_MAY_BE_HUGE) else _LARGEST_NUMBER
    if not least <= value <= most:
        raise make_mismatch_error(value, f"a number from {least} to {most}", path=path)
    return kind(value)


def _as(kind: type, value: Any, path: str, expected: str) -> Any:
    if not isinstance(value, kind):
        raise make_mismatch_error(value, expected, path=path)
    return value


def make_mismatch_error(value: object, expected: str, *, path: str) -> InputError:
    """Return the error of a ``value`` at ``path`` that is not what was ``expected``."""
    shown = repr(value)
    shown = shown if len(shown) <= _LONGEST_SHOWN else shown[:_LONGEST_SHOWN] + "…"
    return InputError(f"{path or 'top level'}: found {shown}, expected {expected}")
