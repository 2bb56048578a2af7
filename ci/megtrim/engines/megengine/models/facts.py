"""The content of a model file in any format, which every reader returns."""

import hashlib
from bisect import bisect_left
from collections.abc import Iterable

from megtrim.engines.megengine.models.operators import OperatorInfo
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value


class UnknownFormat(InputError):
    """The file has no format that megtrim can read; it may be encrypted or packed."""


class Variable(Value):
    name: str
    dtype: str
    """Name of the data type (``Float32``); empty if the file does not contain it."""
    shape: tuple[int, ...] | None
    """None if the file does not contain it."""


class Parameters(Value):
    tensors: int
    size_bytes: int


class ModelFacts(Value):
    format: str
    engine_version: str
    """Version of the engine that wrote the file; empty if it is not recorded."""
    operators: tuple[tuple[str, int], ...]
    unknown_operators: tuple[tuple[str, int], ...] = ()
    """Names or type IDs (``0x…``) for which the registry has no class; sorted."""
    dtypes: tuple[str, ...]
    elemwise_modes: tuple[str, ...]
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    graph_hash: int
    """0 if the format has none."""
    graph_sha256: str = ""
    """Of the file without the values of its weights; empty if it does not show where they are."""
    parameters: Parameters

    @property
    def known_needs(self) -> OperatorInfo:
        return OperatorInfo(
            hash=self.graph_hash,
            dtypes=self.dtypes,
            opr_types=tuple(name for name, _ in self.operators),
            elemwise_modes=self.elemwise_modes,
        )


def digest_graph(data: bytes, weights: Iterable[tuple[int, int]], graph: Iterable[int]) -> str:
    """Return the digest of a file without its ``weights``, given by offset and size.

    Their sizes count. Empty where one lies over another or the ``graph``, which no dump writes.
    """
    digest = hashlib.sha256()
    view = memoryview(data)
    end = 0
    parts = sorted(graph)
    cuts = sorted(weights)
    for start, size in cuts:
        inside = bisect_left(parts, start)
        if start < end or (inside < len(parts) and parts[inside] < start + size):
            return ""
        digest.update(view[end:start])
        end = start + size
    digest.update(view[end:])
    digest.update(repr(cuts).encode())
    return digest.hexdigest()


def operator_info(facts: ModelFacts, *, source: str) -> OperatorInfo:
    """Return the content of an operator JSON, made from the model file ``source`` itself."""
    if facts.unknown_operators:
        names = ", ".join(name for name, _ in facts.unknown_operators)
        msg = f"{source}: has operators that megtrim does not know: {names}"
        hint = "add the operator JSON of this model (strip_info), written by the engine's dump"
        raise InputError(msg, hint=hint)
    return facts.known_needs


def describe(facts: ModelFacts, *, sha256: str) -> str:
    """Return the lines that ``megtrim model show`` prints; ``sha256`` is the file's."""
    version = f", written by engine {facts.engine_version}" if facts.engine_version else ""
    parameters = facts.parameters
    rows = [
        ("format", f"{facts.format}{version}"),
        ("sha256", sha256),
        ("graph hash", str(facts.graph_hash or "none in this format")),
    ]
    rows += [("input", describe_variable(variable)) for variable in facts.inputs]
    rows += [("output", describe_variable(variable)) for variable in facts.outputs]
    rows += [
        ("parameters", f"{parameters.tensors} tensors, {parameters.size_bytes:,} bytes"),
        ("data types", ", ".join(facts.dtypes) or "none"),
        ("elementwise", ", ".join(facts.elemwise_modes) or "none"),
    ]
    rows += [("operator", f"{name} x {count}") for name, count in facts.operators]
    rows += [("unknown operator", f"{name} x {count}") for name, count in facts.unknown_operators]
    width = max(len(title) for title, _ in rows)
    return "\n".join(f"{title:<{width}}  {text}" for title, text in rows)


def describe_variable(variable: Variable) -> str:
    shape = "" if variable.shape is None else f"({', '.join(map(str, variable.shape))})"
    return " ".join(part for part in (variable.name, variable.dtype, shape) if part)
