"""Reads a model file of any format into :class:`ModelFacts`, chosen by its first bytes."""

import hashlib
import io
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, NoReturn, TypeVar

from megtrim.core.keep.operators import OperatorNeeds
from megtrim.core.model_facts import ModelFacts, Parameters, UnknownFormat, Variable
from megtrim.engines.megengine.models.graph_digest import digest_graph
from megtrim.engines.megengine.models.mge import is_mge, least_bytes, parse_mge
from megtrim.engines.megengine.models.operators import (
    MAX_JSON_BYTES,
    OperatorInfo,
    check_covers,
    merge,
    parse_operator_json,
)
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import open_plain_file, read_bytes
from megtrim.libs.util.value import Value

MAX_MODEL_BYTES = 4 * 1024**3
_HEAD_BYTES = 64
_EXPECTED = "a model"
_AGAIN = "fetch or dump the model again"
MAGIC = b"SAMPLENN"
T = TypeVar("T")
_VERSION = 1
_DTYPES = ("Float32", "QuantizedS8", "QuantizedS32")
_HASH = (12, 8)
"""Where the hash of all bytes after it is, the weights among them."""
_MAX_COUNT = 100_000
_MAX_DIMENSIONS = 16
MAX_BYTES = 64 * 1024 * 1024
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HINT = "the file is damaged or cut off: write it again with write_models.py"


class _Operator(Value):
    type: str
    mode: str
    outputs: tuple[int, ...]
    weights_at: int
    weight_bytes: int


def parse_sample_model(data: bytes, *, source: str) -> ModelFacts:
    reader = _Reader(data, source)
    if len(data) > MAX_BYTES:
        reader.refuse(f"has {len(data)} bytes, at most {MAX_BYTES} are read")
    model_hash = reader.head()
    tensors = reader.many(reader.tensor)
    operators = reader.many(reader.operator)
    outputs = reader.many(lambda: reader.number("<I"))
    reader.end()
    used = {*outputs, *(number for each in operators for number in each.outputs)}
    if any(number >= len(tensors) for number in used):
        reader.refuse("names a tensor that it does not contain")
    fed = [tensors[n] for each in operators if each.type == "Input" for n in each.outputs]
    weights = [(each.weights_at, each.weight_bytes) for each in operators if each.weight_bytes]
    weight_bytes = sum(size for _, size in weights)
    types = Counter(operator.type for operator in operators)
    modes = {operator.mode for operator in operators if operator.type == "Elemwise"}
    return ModelFacts(
        format=f"sample v{_VERSION}",
        engine_version="",
        operators=tuple(sorted(types.items())),
        dtypes=tuple(sorted({tensor.dtype for tensor in tensors})),
        elemwise_modes=tuple(sorted(modes)),
        inputs=tuple(fed),
        outputs=tuple(tensors[number] for number in outputs),
        graph_hash=model_hash,
        graph_sha256=digest_graph(data, [_HASH, *weights], ()),
        parameters=Parameters(tensors=len(weights), size_bytes=weight_bytes),
    )


class _Reader:
    def __init__(self, data: bytes, source: str) -> None:
        self._data = data
        self._source = source
        self._at = 0

    def head(self) -> int:
        if self._take(len(MAGIC)) != MAGIC or self.number("<I") != _VERSION:
            self.refuse(f"is not a sample model of version {_VERSION}")
        stated = self.number("<Q")
        if stated != _fnv1a(self._data[self._at :]):
            self.refuse("does not match its own hash")
        return stated

    def many(self, one: Callable[[], T]) -> list[T]:
        count = self.number("<I")
        if count > min(_MAX_COUNT, len(self._data) - self._at):
            self.refuse(f"announces {count} entries")
        return [one() for _ in range(count)]

    def tensor(self) -> Variable:
        name = self._text()
        dtype = self.number("<B")
        self._take(4)
        dimensions = self.number("<B")
        if dtype >= len(_DTYPES) or dimensions > _MAX_DIMENSIONS:
            self.refuse(f"contains a tensor of type {dtype} with {dimensions} dimensions")
        shape = tuple(self.number("<I") for _ in range(dimensions))
        return Variable(name=name, dtype=_DTYPES[dtype], shape=shape)

    def operator(self) -> _Operator:
        kind = self._text()
        _name = self._text()
        mode = self._text()
        self._take(4 * self.number("<B"))
        self._take(4 * self.number("<B"))
        outputs = tuple(self.number("<I") for _ in range(self.number("<B")))
        weight_bytes = self.number("<I")
        weights_at = self._at
        self._take(weight_bytes)
        # Both go into the generated header.
        names = (kind, mode) if kind == "Elemwise" else (kind,)
        if not all(_IDENTIFIER.fullmatch(name) for name in names):
            self.refuse("contains a name that is not an identifier")
        return _Operator(
            type=kind, mode=mode, outputs=outputs, weights_at=weights_at, weight_bytes=weight_bytes
        )

    def end(self) -> None:
        if self._at != len(self._data):
            self.refuse("has bytes after its end")

    def number(self, form: str) -> int:
        (value,) = struct.unpack(form, self._take(struct.calcsize(form)))
        return int(value)

    def refuse(self, what: str) -> NoReturn:
        msg = f"{self._source}: {what} (at byte {self._at})"
        raise InputError(msg, hint=_HINT)

    def _text(self) -> str:
        raw = self._take(self.number("<B"))
        if not raw.isascii() or not raw.decode("ascii").isprintable():
            self.refuse("contains a name that is not text")
        return raw.decode("ascii")

    def _take(self, count: int) -> bytes:
        if self._at + count > len(self._data):
            self.refuse("ends too early")
        self._at += count
        return self._data[self._at - count : self._at]


def _fnv1a(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def parse_model(data: bytes, *, source: str) -> ModelFacts:
    """Raises InputError for anything but an intact model."""
    if not data:
        msg = f"{source}: empty, expected a model"
        raise InputError(msg, hint=_AGAIN)
    if data.startswith(MAGIC):
        return parse_sample_model(data, source=source)
    return parse_mge(data, source=source)


def is_own(head: bytes) -> bool:
    return head.startswith(MAGIC)


def read_is_flatbuffers(path: Path) -> bool:
    with open_plain_file(path, expected=_EXPECTED) as stream:
        return is_mge(stream.read(_HEAD_BYTES))


def read_whole(path: Path, *, source: str) -> None:
    """Raise InputError for an empty or truncated model; unknown formats pass."""
    with open_plain_file(path, expected=_EXPECTED, shown=source) as stream:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        head = stream.read(_HEAD_BYTES)
        if not head or head.startswith(MAGIC):
            parse_model(head + stream.read(MAX_BYTES), source=source)
            return
        least = least_bytes(head, lambda at: _read_number(stream, at) if at < size else 0)
    if size < least:
        msg = f"{source}: truncated: it has {size} bytes, expected at least {least}"
        raise InputError(msg, hint=_AGAIN)


def _read_number(stream: IO[bytes], at: int) -> int:
    stream.seek(at)
    return int.from_bytes(stream.read(4), "little")


@lru_cache(maxsize=1024)
def digest_model_graph(path: Path, sha256: str) -> str | None:
    """Return the digest of a model without values of weights; None: only the engine can read it."""
    try:
        data = read_bytes(path, most_bytes=MAX_MODEL_BYTES, expected=_EXPECTED)
        facts = parse_model(data, source=str(path))
    except InputError:
        return None
    known = hashlib.sha256(data).hexdigest() == sha256
    return (facts.graph_sha256 or None) if known else None


def read_model(path: Path, *, shown: str = "") -> ModelFacts:
    data = read_bytes(path, most_bytes=MAX_MODEL_BYTES, expected=_EXPECTED, shown=shown)
    return parse_model(data, source=shown or str(path))


def load_needs(
    model: Path, strip_info: Sequence[Path], *, folder: Path = Path()
) -> tuple[tuple[OperatorInfo, ...], tuple[str, ...]]:
    """Return the needs of one model, and warnings; paths are relative to ``folder``.

    A model that only the engine can read (encrypted, packed) needs a JSON. Raises InputError.
    """
    if not strip_info:
        facts = read_model(folder / model, shown=str(model))
        return (operator_info(facts, source=str(model)),), ()
    declared = tuple(i for p in strip_info for i in load_operator_json(folder / p, shown=str(p)))
    source = ", ".join(str(path) for path in strip_info)
    try:
        facts = read_model(folder / model, shown=str(model))
    except UnknownFormat as unknown:
        return declared, (f"{unknown.message}: {source} cannot be checked, and is trusted",)
    unchecked = tuple(
        f"{model}: megtrim does not know {name}: {source} cannot be checked for it, and is trusted"
        for name, _ in facts.unknown_operators
    )
    covered = check_covers(
        _merge_infos(declared), list_needs(facts), model=str(model), source=source
    )
    return declared, (*unchecked, *covered)


def _merge_infos(infos: Sequence[OperatorInfo]) -> OperatorInfo:
    lists = {
        key: tuple(sorted({name for info in infos for name in getattr(info, key)}))
        for key in ("dtypes", "opr_types", "elemwise_modes")
    }
    # With several JSONs no single hash is the model's, so there is nothing to compare.
    return OperatorInfo(hash=infos[0].hash if len(infos) == 1 else None, **lists)


def gather_needs(
    models: Iterable[tuple[str, Path, Sequence[Path]]], *, folder: Path
) -> tuple[OperatorNeeds, tuple[str, ...]]:
    """Take name, file and operator JSON of each model, as :func:`load_needs` does."""
    needed: list[tuple[str, OperatorInfo]] = []
    warnings: list[str] = []
    for name, file, strip_info in models:
        infos, odd = load_needs(file, strip_info, folder=folder)
        needed += [(name, info) for info in infos]
        warnings += odd
    return merge(needed), tuple(warnings)


def list_needs(facts: ModelFacts) -> OperatorInfo:
    return OperatorInfo(
        hash=facts.graph_hash,
        dtypes=facts.dtypes,
        opr_types=tuple(name for name, _ in facts.operators),
        elemwise_modes=facts.elemwise_modes,
    )


def operator_info(facts: ModelFacts, *, source: str) -> OperatorInfo:
    """Return the content of an operator JSON, made from the model file ``source`` itself."""
    if facts.unknown_operators:
        names = ", ".join(name for name, _ in facts.unknown_operators)
        msg = f"{source}: has operators that megtrim does not know: {names}"
        hint = "add the operator JSON of this model (strip_info), written by the engine's dump"
        raise InputError(msg, hint=hint)
    return list_needs(facts)


def load_operator_json(path: Path, *, shown: str) -> tuple[OperatorInfo, ...]:
    expected = "an operator JSON that the engine's dump wrote"
    data = read_bytes(path, most_bytes=MAX_JSON_BYTES, expected=expected, shown=shown)
    return parse_operator_json(data, source=shown)
