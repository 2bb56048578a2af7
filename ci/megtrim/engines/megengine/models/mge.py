"""Read MegEngine's model files (``.mge``), both formats, into :class:`ModelFacts`.

Layouts: the engine's ``schema.fbs`` (tensors' bytes, then the graph as a FlatBuffers object) and
``schema_v2.fbs`` (one object). FlatBuffers' own runtime has no verifier: the reader at the end
checks every offset, names the byte in an InputError, and bounds its work for any bytes. Pure.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from megtrim.core.model_facts import ModelFacts, Parameters, UnknownFormat, Variable
from megtrim.engines.megengine.models.registry import ELEMWISE_MODES, OperatorType, by_id, by_name
from megtrim.engines.models.graph_digest import digest_graph
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

DTYPES: tuple[str, ...] = (
    "Float32",
    "Uint8",
    "Int8",
    "Int16",
    "Int32",
    "IntB1",
    "IntB2",
    "IntB4",
    "Byte",
    "Float16",
    "UintB4",
    "Quantized8Asymm",
    "QuantizedS32",
    "QuantizedS8",
    "Quantized4Asymm",
    "QuantizedS4",
    "QuantizedS16",
    "BFloat16",
    "Bool",
    "Uint16",
    "QuantizedS1",
    "Complex64",
)
"""Data types; a file stores the index (``dtype.fbs``)."""

_TESTCASES = b"mgbtest0"
_V1_MAGICS = {b"MGBC": 24, b"MGBS": 16}
"""Magics of the first format, and the offset of the tensors: the older has no feature bits."""
_V1_IDENTIFIER = b"mgb1"
_V2_IDENTIFIER = b"mgv2"
_OTHERS = (
    (re.compile(rb".{4}TFL3", re.DOTALL), "a TensorFlow Lite model"),
    (re.compile(rb"PK\x03\x04"), "a zip archive, such as PyTorch saves"),
    (
        re.compile(rb"\x80(?:[\x02\x03][\](cX}]|[\x04\x05]\x95)"),
        "a Python pickle, such as megengine.save writes",
    ),
    # It has no magic: the number of its version is first, then what wrote it, or the graph.
    (re.compile(rb"\x08[\x01-\x20][\x12\x3a]"), "an ONNX model"),
)
_WEIGHTS = re.compile(r"(?:(?:Volatile)?SharedDeviceTensor|MultipleDeviceTensor).*")
_VALUES = re.compile(r"B?Float.*|Quantized.*")
"""Their numbers select no kernel. Those of constants do: some are folded, others are shapes."""
_TEXT = re.compile(rb"[\t\n\r\f -~\x80-\xff]+")
_LONGEST_HEAD = 4096
_MAX_RANK = 64
MAX_STEPS = 5_000_000
"""Most values read from one buffer. A real model needs a few dozen for each operator."""
MAX_STRING_BYTES = 64 * 1024
_U8 = struct.Struct("<B")
_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")
_U64 = struct.Struct("<Q")

_PARAM_ELEMWISE = 17
_PARAM_REDUCE = 23
_PARAM_DTYPE = 67
_REDUCE_DTYPES = {1: "Float16", 2: "Float32", 3: "Float16", 4: "QuantizedS32", 5: "QuantizedS32"}
"""Data type of a reduction's output by its ``data_type``; 0 keeps the input's."""


class _Schema(Value):
    """Indices of an operator's fields in one format; -1 if it has no such field."""

    format: str
    type_name: int
    type_id: int
    param: int
    output_name: int
    output_dtype: int
    tensors: int


_V1 = _Schema(
    format="mge v1", type_name=-1, type_id=0, param=1, output_name=5, output_dtype=6, tensors=7
)
_V2 = _Schema(
    format="mge v2", type_name=0, type_id=1, param=3, output_name=-1, output_dtype=10, tensors=11
)


def is_mge(data: bytes) -> bool:
    start = _graph_start(data)
    return data[start : start + 4] in _V1_MAGICS or data[start + 8 : start + 12] == _V2_IDENTIFIER


def least_bytes(head: bytes, number_at: Callable[[int], int]) -> int:
    """Return the least size by the first 64 bytes (``number_at``: a u32, or 0); 0: unknown."""
    start = _graph_start(head)
    graph_at = start
    if tensors_at := _V1_MAGICS.get(head[start : start + 4]):
        header = head[start : start + tensors_at]
        graph_at = start + tensors_at + int.from_bytes(header[-8:], "little")
    elif head[start + 8 : start + 12] != _V2_IDENTIFIER:
        return 0
    return graph_at + 4 + number_at(graph_at)


def parse_mge(data: bytes, *, source: str) -> ModelFacts:
    """Parse a model file. Raises InputError for anything but an intact model."""
    start = _graph_start(data)
    magic = data[start : start + 4]
    if magic in _V1_MAGICS:
        return _parse_v1(data, start + _V1_MAGICS[magic], source)
    if data[start + 8 : start + 12] == _V2_IDENTIFIER:
        return _parse_v2(data, start, source)
    hint = "expected a dump in the engine's formats mgb1 or mgv2"
    text = "a text file" if _TEXT.fullmatch(data[:_LONGEST_HEAD]) else ""
    if found := next((name for pattern, name in _OTHERS if pattern.match(data)), text):
        msg = f"{source}: not a .mge model: it is {found}; the engine runs only its own dumps"
        raise InputError(msg, hint=hint)
    msg = f"{source}: not a .mge model: it begins with {data[:12]!r}"
    more = "an encrypted or packed one cannot be read: add its operator JSON (strip_info)"
    raise UnknownFormat(msg, hint=f"{hint}; {more}")


def _graph_start(data: bytes) -> int:
    # A dump with test cases begins with another magic and their number.
    return len(_TESTCASES) + 4 if data.startswith(_TESTCASES) else 0


def _read_sized_buffer(data: bytes, at: int, source: str) -> Buffer:
    size = int.from_bytes(data[at : at + 4], "little")
    end = at + 4 + size
    if at + 12 > len(data) or end > len(data):
        left = max(len(data) - at, 0)
        msg = f"{source}: truncated: {left} bytes are left for the graph, expected {size + 4}"
        raise InputError(msg, hint="fetch or dump the model again")
    return Buffer(data, start=at + 4, end=end, source=source)


@dataclass(slots=True)
class _Found:
    operators: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    dtypes: set[str] = field(default_factory=set)
    modes: set[str] = field(default_factory=set)
    inputs: list[Variable] = field(default_factory=list)
    output_names: list[tuple[str, ...]] = field(default_factory=list)
    tensors: int = 0
    tensor_bytes: int = 0
    values_at: int = 0
    weights: list[tuple[int, int]] = field(default_factory=list)

    def facts(
        self,
        schema: _Schema,
        version: int,
        graph_hash: int,
        outputs: tuple[Variable, ...],
        graph_sha256: str,
    ) -> ModelFacts:
        major = version // 100_000
        minor = version // 100 % 1000
        parameters = Parameters(tensors=self.tensors, size_bytes=self.tensor_bytes)
        return ModelFacts(
            format=schema.format,
            engine_version=f"{major}.{minor}.{version % 100}",
            operators=tuple(sorted(self.operators.items())),
            unknown_operators=tuple(sorted(self.unknown.items())),
            dtypes=tuple(sorted(self.dtypes)),
            elemwise_modes=tuple(sorted(self.modes)),
            inputs=tuple(self.inputs),
            outputs=outputs,
            graph_hash=graph_hash,
            graph_sha256=graph_sha256,
            parameters=parameters,
        )


def _parse_v1(data: bytes, tensors_at: int, source: str) -> ModelFacts:
    header = data[tensors_at - 8 : tensors_at]
    if len(header) < 8:
        msg = f"{source}: truncated inside the header, after {len(data)} bytes"
        raise InputError(msg, hint="fetch or dump the model again")
    tensor_bytes: int = _U64.unpack(header)[0]
    buffer = _read_sized_buffer(data, min(tensors_at + tensor_bytes, len(data)), source)
    graph = buffer.root(tensors_at + tensor_bytes + 4, _V1_IDENTIFIER)
    found = _Found(values_at=tensors_at)
    for operator in graph.tables(3):
        _read_operator(operator, _V1, found)
    if found.tensor_bytes > tensor_bytes:
        graph.fail(f"tensors of {found.tensor_bytes} bytes, the file has {tensor_bytes}")
    outputs = _v1_outputs(tuple(graph.u32s(4, stride=2)), found.output_names)
    known = found.tensor_bytes == tensor_bytes
    graph_sha256 = digest_graph(data, found.weights, buffer.parts) if known else ""
    return found.facts(_V1, graph.u32(0), graph.u64(1), outputs, graph_sha256)


def _v1_outputs(ids: tuple[int, ...], names: list[tuple[str, ...]]) -> tuple[Variable, ...]:
    """Return the outputs with their names, by the numbers of their variables.

    Variables are numbered in the order of the operators, and only names show how many outputs an
    operator has. A dump names the outputs of either all operators, or of those that make outputs
    of the model.
    """
    flat = [name for group in names for name in group]
    if all(names):
        by_number = dict(enumerate(flat))
    else:
        by_number = dict(zip(sorted(ids), flat, strict=False)) if len(flat) == len(ids) else {}
    return tuple(
        Variable(name=by_number.get(number, f"unnamed{place}"), dtype="", shape=None)
        for place, number in enumerate(ids)
    )


def _parse_v2(data: bytes, start: int, source: str) -> ModelFacts:
    buffer = _read_sized_buffer(data, start, source)
    model = buffer.root(start + 4, _V2_IDENTIFIER)
    found = _Found()
    for operator in model.tables(2):
        _read_operator(operator, _V2, found)
    variables = [_variable(table) for table in model.tables(3)]
    found.dtypes.update(variable.dtype for variable in variables if variable.dtype)
    aliases = {table.u32(0): table.string(1) for table in model.tables(5)}
    outputs = []
    for place, table in enumerate(model.tables(4)):
        number = table.u32(0)
        if variables and number >= len(variables):
            table.fail(f"output variable {number} of {len(variables)}")
        known = variables[number] if variables else Variable(name="", dtype="", shape=None)
        name = aliases.get(table.u32(1)) or known.name or f"unnamed{place}"
        outputs.append(Variable(name=name, dtype=known.dtype, shape=known.shape))
    graph_sha256 = digest_graph(data, found.weights, buffer.parts)
    return found.facts(_V2, model.u32(0), 0, tuple(outputs), graph_sha256)


def _read_operator(operator: Table, schema: _Schema, found: _Found) -> None:
    kind = _operator_type(operator, schema, found)
    name = kind.name if kind else ""
    if kind:
        found.dtypes.update(kind.dtypes)
    dtype = operator.table(schema.output_dtype)
    if dtype:
        found.dtypes.add(_dtype(dtype))
    for tensor in operator.tables(schema.tensors):
        _read_tensor(tensor, schema, found, name)
    _read_parameters(operator, schema, found, name)
    if schema.output_name >= 0:
        found.output_names.append(tuple(operator.strings(schema.output_name)))


def _read_parameters(operator: Table, schema: _Schema, found: _Found, name: str) -> None:
    kind = operator.u8(schema.param)
    param = operator.table(schema.param + 1)
    if name == "Elemwise":
        if kind != _PARAM_ELEMWISE or param is None:
            operator.fail(f"an Elemwise with parameters of kind {kind}")
        mode = param.u32(0)
        if mode >= len(ELEMWISE_MODES):
            param.fail(f"elementwise mode {mode}, known are 0 to {len(ELEMWISE_MODES) - 1}")
        found.modes.add(ELEMWISE_MODES[mode])
    elif kind == _PARAM_REDUCE and param and param.u32(2) in _REDUCE_DTYPES:
        found.dtypes.add(_REDUCE_DTYPES[param.u32(2)])
    elif kind == _PARAM_DTYPE and param:
        found.dtypes.add(_dtype(param))


def _operator_type(operator: Table, schema: _Schema, found: _Found) -> OperatorType | None:
    registered = operator.string(schema.type_name) if schema.type_name >= 0 else ""
    type_id = operator.u64(schema.type_id)
    kind = by_name(registered) if registered else by_id(type_id)
    if kind:
        found.operators[kind.name] += 1
    else:
        found.unknown[_printable(registered) or f"0x{type_id:016x}"] += 1
    return kind


def _read_tensor(tensor: Table, schema: _Schema, found: _Found, name: str) -> None:
    variable = _variable(tensor)
    if variable.dtype:
        found.dtypes.add(variable.dtype)
    if name == "Host2DeviceCopy":
        found.inputs.append(variable)
    at = (found.values_at + found.tensor_bytes, tensor.u32(4))
    start, size = at if schema is _V1 else tensor.vector(6, 1)
    if size:
        if _WEIGHTS.fullmatch(name) and _VALUES.fullmatch(variable.dtype):
            found.weights.append((start, size))
        found.tensors += 1
        found.tensor_bytes += size


def _variable(table: Table) -> Variable:
    rank = table.size(1, 4)
    if rank > _MAX_RANK:
        table.fail(f"a tensor of {rank} dimensions")
    dtype = table.table(3)
    return Variable(
        name=_printable(table.string(0)),
        dtype=_dtype(dtype) if dtype else "",
        shape=tuple(table.u32s(1)) if table.has(1) else None,
    )


def _dtype(table: Table) -> str:
    number = table.u8(0)
    if number >= len(DTYPES):
        table.fail(f"data type {number}, known are 0 to {len(DTYPES) - 1}")
    return DTYPES[number]


def _printable(text: str) -> str:
    """Replace control characters: names go from the file to terminals and reports."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


class Buffer:
    """The bytes of one FlatBuffers object inside a file, with a limit for the work on them."""

    __slots__ = ("_data", "_end", "_source", "_start", "_steps", "parts")

    def __init__(self, data: bytes, *, start: int, end: int, source: str) -> None:
        self._data = data
        self._start = start
        self._end = end
        self._source = source
        self._steps = MAX_STEPS
        self.parts: list[int] = []
        """Offsets of all tables that were read, and of their lists of fields."""

    def fail(self, at: int, found: str) -> NoReturn:
        """Raise the InputError of a damaged file; ``at`` is an offset in the file."""
        msg = f"{self._source}: damaged at byte {at}: {found}"
        raise InputError(msg, hint="fetch or dump the model again; an encrypted one needs its key")

    def read(self, kind: struct.Struct, at: int) -> int:
        self.need(at, kind.size)
        number: int = kind.unpack_from(self._data, at)[0]
        return number

    def need(self, at: int, size: int) -> None:
        """Raise InputError unless there are ``size`` bytes at ``at``, or for too much work."""
        if at < self._start or at + size > self._end:
            self.fail(at, f"{size} bytes are needed there, the data ends at {self._end}")
        self._spend(at, 1)

    def _spend(self, at: int, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            self.fail(at, "the structure needs more work than any model")

    def follow(self, at: int) -> int:
        distance = self.read(_U32, at)
        if not distance:
            self.fail(at, "an offset of 0 leads nowhere")
        return at + distance

    def string(self, at: int) -> str:
        size = self.read(_U32, at)
        if size > MAX_STRING_BYTES:
            self.fail(at, f"a string of {size} bytes")
        self.need(at + 4, size)
        self._spend(at, size // 8)
        return self._data[at + 4 : at + 4 + size].decode("utf-8", errors="replace")

    def vector(self, at: int, item_bytes: int) -> tuple[int, int]:
        count = self.read(_U32, at)
        self.need(at + 4, count * item_bytes)
        return at + 4, count

    def root(self, at: int, identifier: bytes) -> Table:
        found = self._data[at + 4 : at + 8]
        if found != identifier:
            self.fail(at + 4, f"identifier {found!r}, expected {identifier!r}")
        return Table(self, self.follow(at))


class Table:
    __slots__ = ("_buffer", "_fields", "_fields_bytes", "at")

    def __init__(self, buffer: Buffer, at: int) -> None:
        self._buffer = buffer
        self.at = at
        self._fields = at - buffer.read(_I32, at)
        self._fields_bytes = buffer.read(_U16, self._fields)
        if self._fields_bytes < 4 or self._fields_bytes % 2:
            buffer.fail(self._fields, f"a table of fields of {self._fields_bytes} bytes")
        buffer.need(self._fields, self._fields_bytes)
        buffer.parts += (at, self._fields)

    def fail(self, found: str) -> NoReturn:
        self._buffer.fail(self.at, found)

    def _field(self, index: int) -> int:
        slot = 4 + 2 * index
        if slot + 2 > self._fields_bytes:
            return 0
        distance = self._buffer.read(_U16, self._fields + slot)
        return self.at + distance if distance else 0

    def has(self, index: int) -> bool:
        return self._field(index) != 0

    def _number(self, index: int, kind: struct.Struct) -> int:
        at = self._field(index)
        return self._buffer.read(kind, at) if at else 0

    def u8(self, index: int) -> int:
        return self._number(index, _U8)

    def u32(self, index: int) -> int:
        return self._number(index, _U32)

    def u64(self, index: int) -> int:
        return self._number(index, _U64)

    def string(self, index: int) -> str:
        at = self._field(index)
        return self._buffer.string(self._buffer.follow(at)) if at else ""

    def table(self, index: int) -> Table | None:
        at = self._field(index)
        return Table(self._buffer, self._buffer.follow(at)) if at else None

    def size(self, index: int, item_bytes: int) -> int:
        return self.vector(index, item_bytes)[1]

    def vector(self, index: int, item_bytes: int) -> tuple[int, int]:
        at = self._field(index)
        return self._buffer.vector(self._buffer.follow(at), item_bytes) if at else (0, 0)

    def u32s(self, index: int, *, stride: int = 1) -> Iterator[int]:
        """Yield every ``stride``-th 32-bit number of a vector, from the first."""
        first, count = self.vector(index, 4 * stride)
        for number in range(count):
            yield self._buffer.read(_U32, first + 4 * stride * number)

    def tables(self, index: int) -> Iterator[Table]:
        first, count = self.vector(index, 4)
        for number in range(count):
            yield Table(self._buffer, self._buffer.follow(first + 4 * number))

    def strings(self, index: int) -> Iterator[str]:
        first, count = self.vector(index, 4)
        for number in range(count):
            yield self._buffer.string(self._buffer.follow(first + 4 * number))
