"""Models of the sample engine, which ``write_models.py`` of ``examples/sample-engine`` writes."""

import re
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

from megtrim.core.model_facts import ModelFacts, Parameters, UnknownFormat, Variable
from megtrim.engines.models.graph_digest import digest_graph
from megtrim.engines.models.reader import ModelFiles, expect_content
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import open_plain_file
from megtrim.libs.util.value import Value

MAGIC = b"SAMPLENN"
_VERSION = 1
_DTYPES = ("Float32", "QuantizedS8", "QuantizedS32")
_HASH = (12, 8)
"""Where the hash of all bytes after it is, the weights among them."""
_MAX_COUNT = 100_000
_MAX_DIMENSIONS = 16
MAX_BYTES = 64 * 1024 * 1024
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HINT = "the file is damaged or cut off: write it again with write_models.py"
T = TypeVar("T")


class SampleModels(ModelFiles):
    def is_own(self, head: bytes) -> bool:
        return head.startswith(MAGIC)

    def parse(self, data: bytes, *, source: str) -> ModelFacts:
        expect_content(data, source=source)
        if not data.startswith(MAGIC):
            msg = f"{source}: not a sample model: it begins with {data[:12]!r}"
            raise UnknownFormat(msg, hint="expected a file that write_models.py wrote")
        return parse_sample_model(data, source=source)

    def read_whole(self, path: Path, *, source: str) -> None:
        with open_plain_file(path, expected="a model", shown=source) as stream:
            data = stream.read(MAX_BYTES + 1)
        expect_content(data, source=source)
        if data.startswith(MAGIC):
            parse_sample_model(data, source=source)


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
