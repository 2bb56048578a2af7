"""Operator JSON: which operators, data types and elementwise modes a model needs.

The engine's dump writes it (``strip_info_file``). Names go into a header: C++ identifiers. Pure.
"""

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from megtrim.core.keep.operators import (
    MAX_HASH,
    OperatorCode,
    OperatorNeeds,
    collect_users,
    strip_version,
)
from megtrim.libs.elf.type_names import CPP_KEYWORD
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import decode, expect_merged
from megtrim.libs.util.json_text import expect_finite
from megtrim.libs.util.value import Value

OPERATOR_CODE = OperatorCode(
    holders="_GLOBAL__sub_I_|__cxx_global_var_init|_GLOBAL__I_",
    names="{}|{}Forward|_OprReg{}|{}Entry",
)
"""What an operator's class, and the class that registers it, are called."""
KNOWN_DTYPES: tuple[str, ...] = (
    "BFloat16",
    "Bool",
    "Byte",
    "Complex64",
    "Float16",
    "Float32",
    "Int16",
    "Int32",
    "Int8",
    "IntB1",
    "IntB2",
    "IntB4",
    "Quantized4Asymm",
    "Quantized8Asymm",
    "QuantizedS1",
    "QuantizedS16",
    "QuantizedS32",
    "QuantizedS4",
    "QuantizedS8",
    "Uint16",
    "Uint8",
    "UintB4",
)

MAX_JSON_BYTES = 16 * 1024 * 1024
_MAX_OBJECTS = 4096
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_SPACE = re.compile(r"[ \t\r\n]*")
_LISTS = ("dtypes", "opr_types", "elemwise_modes")
_HINT = "expected the operator JSON that the engine's dump writes (strip_info_file)"


class OperatorInfo(Value):
    hash: int | None
    """Graph hash; 0 for dumps in the second format; None if the JSON has none."""
    dtypes: tuple[str, ...]
    opr_types: tuple[str, ...]
    elemwise_modes: tuple[str, ...]


def parse_operator_json(data: bytes, *, source: str) -> tuple[OperatorInfo, ...]:
    """Parse an object, a list, or several objects in a row. InputError names ``source:line``."""
    if len(data) > MAX_JSON_BYTES:
        msg = f"{source}: {len(data)} bytes are too many for an operator JSON"
        raise InputError(msg, hint=_HINT)
    text = decode(data.removeprefix(codecs.BOM_UTF8), shown=source, hint=_HINT)
    expect_merged(text, shown=source, hint="dump the model and its JSON again, together")
    infos = tuple(
        _info(item, _Place(text, start, source)) for item, start in _objects(text, source)
    )
    if not infos:
        msg = f"{source}:1: contains no operator information"
        raise InputError(msg, hint=_HINT)
    return infos


def merge(models: Sequence[tuple[str, OperatorInfo]]) -> OperatorNeeds:
    """Merge pairs of model name and needs, by the rules of the engine's header generator."""
    unhashed = {model for model, info in models if info.hash is None}
    hashes: list[tuple[str, list[int]]] = []
    dtypes: list[tuple[str, Iterable[str]]] = []
    operators: list[tuple[str, Iterable[str]]] = []
    modes: list[tuple[str, Iterable[str]]] = []
    for model, info in models:
        if info.hash is not None and model not in unhashed:
            hashes.append((model, [info.hash]))
        dtypes.append((model, info.dtypes))
        operators.append((model, map(strip_version, info.opr_types)))
        modes.append((model, info.elemwise_modes))
    return OperatorNeeds(
        hashes=collect_users(hashes),
        dtypes=collect_users(dtypes),
        operators=collect_users(operators),
        elemwise_modes=collect_users(modes),
    )


def check_covers(
    declared: OperatorInfo, actual: OperatorInfo, *, model: str, source: str
) -> tuple[str, ...]:
    """Compare the JSON ``source`` with the content of the file ``model``; return warnings.

    Raises InputError if an operator, data type or mode of the model is missing in the JSON: the
    reduced build would miss it, too. A different graph hash alone proves nothing, and is a warning.
    """
    missing = {
        "operators": _missing(declared.opr_types, actual.opr_types),
        "data types": _missing(declared.dtypes, actual.dtypes),
        "elementwise modes": _missing(declared.elemwise_modes, actual.elemwise_modes),
    }
    gaps = [f"{what} {', '.join(names)}" for what, names in missing.items() if names]
    if gaps:
        msg = f"{source}:1: does not list what the model {model} contains: {'; '.join(gaps)}"
        hint = "dump the model and its JSON again, together, or leave the JSON out"
        raise InputError(msg, hint=hint)
    if declared.hash and actual.hash and declared.hash != actual.hash:
        hashes = f"graph hash {declared.hash} is not that of {model} ({actual.hash})"
        return (f"{source}: {hashes}; all operators are covered, so this does no harm by itself",)
    return ()


def _missing(declared: Iterable[str], actual: Iterable[str]) -> list[str]:
    # No data type and no mode ends like a version, so the rule fits all three lists.
    return sorted({strip_version(name) for name in actual} - {strip_version(n) for n in declared})


@dataclass(frozen=True, slots=True)
class _Place:
    text: str
    start: int
    source: str

    def fail(self, found: str, *, key: str = "") -> NoReturn:
        at = self.text.find(json.dumps(key), self.start) if key else self.start
        line = self.text.count("\n", 0, max(at, self.start)) + 1
        msg = f"{self.source}:{line}: {found}"
        raise InputError(msg, hint=_HINT)


def _objects(text: str, source: str) -> Iterator[tuple[object, int]]:
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=expect_finite)
    at = _skip_space(text, 0)
    count = 0
    while at < len(text):
        place = _Place(text, at, source)
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            msg = f"{source}:{error.lineno}: not JSON: {error.msg}"
            raise InputError(msg, hint=_HINT) from None
        except (ValueError, RecursionError) as error:
            place.fail(f"not usable as JSON: {str(error)[:200]}")
        for item in value if isinstance(value, list) else [value]:
            count += 1
            if count > _MAX_OBJECTS:
                place.fail(f"more than {_MAX_OBJECTS} objects")
            yield item, at
        at = _skip_space(text, end)


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        msg = "the same key occurs twice in one object"
        raise ValueError(msg)
    return result


def _info(item: object, place: _Place) -> OperatorInfo:
    if not isinstance(item, dict):
        place.fail(f"expected an object, found {_kind(item)}")
    for key in item:
        if key != "hash" and key not in _LISTS:
            place.fail(f"unknown key {key!r}, expected hash, {', '.join(_LISTS)}", key=key)
    dtypes, opr_types, elemwise_modes = (_names(item, key, place) for key in _LISTS)
    for name in dtypes:
        if name not in KNOWN_DTYPES:
            known = ", ".join(KNOWN_DTYPES)
            place.fail(f"unknown data type {name!r}, known are {known}", key="dtypes")
    return OperatorInfo(
        hash=_hash(item, place), dtypes=dtypes, opr_types=opr_types, elemwise_modes=elemwise_modes
    )


def _hash(item: dict[str, object], place: _Place) -> int | None:
    if "hash" not in item:
        return None
    value = item["hash"]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_HASH:
        place.fail(f"hash must be an integer from 0 to {MAX_HASH}", key="hash")
    return value


def _names(item: dict[str, object], key: str, place: _Place) -> tuple[str, ...]:
    if key not in item:
        place.fail(f"the key {key!r} is missing")
    values = item[key]
    if not isinstance(values, list):
        place.fail(f"{key} must be a list of names, found {_kind(values)}", key=key)
    names: set[str] = set()
    for value in values:
        if not isinstance(value, str):
            place.fail(f"{key} contains {_kind(value)}, expected names", key=key)
        if not _IDENTIFIER.fullmatch(value) or CPP_KEYWORD.fullmatch(value):
            place.fail(f"{key} contains {value[:80]!r}, expected a C++ identifier", key=key)
        names.add(value)
    return tuple(sorted(names))


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"
