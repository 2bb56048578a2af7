"""``ncnn``: a CMake project with models, of which the graph (``.param``) is read."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from megtrim.core.keep.operators import OperatorCode, OperatorNeeds, collect_users
from megtrim.core.model_facts import ModelFacts, UnknownFormat, Variable
from megtrim.core.project import ModelReader
from megtrim.engines.cmake import CMakeProject
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import decode, read_bytes
from megtrim.libs.util.value import Value

_MAGIC = b"7767517"
_MOST_BYTES = 16 * 1024**2
_MOST = 100_000
"""Of layers, of blobs, and of a side of an input."""
_COUNT = re.compile(r"[0-9]{1,9}", re.ASCII)
_FIRST_BLOB = 4
_LONGEST_NAME = 255
"""As ncnn's own reader has it."""
_SIDES = ("2", "11", "1", "0")
"""Settings of an Input layer: channels, depth, height, width."""


class _Layer(Value):
    type: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    parameters: tuple[str, ...]


def parse_param(data: bytes, *, source: str) -> ModelFacts:
    if not ParamReader().is_own(data):
        msg = f"{source}: found no text that begins with {_MAGIC.decode()}, as a .param does"
        raise UnknownFormat(msg, hint="name the .param, not its .param.bin or .bin")
    text = decode(data, shown=source)
    lines = [line.split() for line in text.split("\n") if line.strip()]
    if len(lines) < 2 or lines[0] != [_MAGIC.decode()] or len(lines[1]) != 2:
        _refuse(source, "another beginning", f"{_MAGIC.decode()}, then two counts in a line")
    layer_count, blob_count = (_read_count(word, source) for word in lines[1])
    lines = lines[: layer_count + 2]  # ncnn reads no more
    if len(lines) < layer_count + 2:
        _refuse(source, f"{len(lines) - 2} layers", f"{layer_count}, as its second line says")
    layers = [_read_layer(words, source) for words in lines[2:]]
    written = [name for layer in layers for name in layer.writes]
    read = {name for layer in layers for name in layer.reads}
    if len({*written, *read}) > blob_count:
        _refuse(source, "more blobs", f"{blob_count}, as its second line says")
    fed = [_describe(name) for name in sorted(read.difference(written))]
    return ModelFacts(
        format="ncnn param",
        engine_version="",
        operators=tuple(sorted(Counter(layer.type for layer in layers).items())),
        dtypes=(),
        elemwise_modes=(),
        inputs=(*map(_describe_input, filter(_is_input, layers)), *fed),
        outputs=tuple(_describe(name) for name in written if name not in read),
        graph_hash=0,
        graph_sha256=hashlib.sha256("\n".join(map(" ".join, lines)).encode()).hexdigest(),
        parameters=None,
    )


def _read_layer(words: Sequence[str], source: str) -> _Layer:
    """``words``: type, name, count of blobs it reads, count of those it writes, blobs, settings."""
    shown = repr(" ".join(words[:2])[:80])
    if len(words) < _FIRST_BLOB:
        _refuse(source, f"the layer {shown}", "its type, its name, and two counts")
    if not (words[0].isascii() and words[0].isidentifier()):
        _refuse(source, f"the layer {shown}", "a type of letters, digits and _")
    reads_end = _FIRST_BLOB + _read_count(words[2], source)
    writes_end = reads_end + _read_count(words[3], source)
    if len(words) < writes_end:
        _refuse(source, f"the layer {shown}", f"{writes_end - _FIRST_BLOB} names of blobs")
    for name in words[:writes_end]:
        if len(name) > _LONGEST_NAME or not name.isprintable():
            _refuse(source, f"the name {name[:80]!r}", "at most 255 printable characters")
    return _Layer(
        type=words[0],
        reads=tuple(words[_FIRST_BLOB:reads_end]),
        writes=tuple(words[reads_end:writes_end]),
        parameters=tuple(words[writes_end:]),
    )


def _read_count(word: str, source: str) -> int:
    if not _COUNT.fullmatch(word) or int(word) > _MOST:
        _refuse(source, f"{word[:40]!r}", f"a count, at most {_MOST}")
    return int(word)


def _is_input(layer: _Layer) -> bool:
    return layer.type == "Input" and len(layer.writes) == 1


def _describe_input(layer: _Layer) -> Variable:
    values = {key: value for key, _, value in (each.partition("=") for each in layer.parameters)}
    sides = [values[side] for side in _SIDES if side in values]
    known = bool(sides) and all(_COUNT.fullmatch(side) and int(side) for side in sides)
    return _describe(layer.writes[0], tuple(map(int, sides)) if known else None)


def _describe(name: str, shape: tuple[int, ...] | None = None) -> Variable:
    return Variable(name=name, dtype="Float32", shape=shape)


def _refuse(source: str, found: str, expected: str) -> NoReturn:
    msg = f"{source}: found {found}, expected {expected}"
    raise InputError(msg, hint="the file is damaged or cut off: convert the model again")


class ParamReader(ModelReader):
    """Weights are in another file (``.bin``), whose form only the layers know."""

    def is_own(self, head: bytes) -> bool:
        return head.lstrip().startswith(_MAGIC)

    def read_model(self, path: Path, *, shown: str = "") -> ModelFacts:
        source = shown or str(path)
        data = read_bytes(path, most_bytes=_MOST_BYTES, expected="a .param", shown=source)
        return parse_param(data, source=source)

    def digest_model_graph(self, path: Path, sha256: str) -> str | None:
        del sha256  # of all bytes, of which spaces may differ
        return self.read_model(path).graph_sha256

    def gather_needs(
        self, models: Iterable[tuple[str, Path, Sequence[Path]]], *, folder: Path
    ) -> tuple[OperatorNeeds, tuple[str, ...]]:
        read = [(name, self.read_model(folder / file, shown=str(file))) for name, file, _ in models]
        layers = collect_users((name, dict(facts.operators)) for name, facts in read)
        return OperatorNeeds(hashes=(), dtypes=(), operators=layers, elemwise_modes=()), ()


class Ncnn(CMakeProject):
    kind = "ncnn"
    title = "ncnn"
    tree = "a checkout of ncnn"
    clone = "git clone https://github.com/Tencent/ncnn"
    model_format = "ncnn"
    listed = "src/net.h"
    headers = "src"
    archive = "libncnn.a"
    models: ModelReader | None = ParamReader()
    operator_code: OperatorCode | None = OperatorCode(
        holders=r"_ZN4ncnnL\d+layer_registry", names=r"{}(?:_[a-z0-9]+)*_layer_creator"
    )
