"""What a model file of any format holds, which every reader of models returns."""

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
    parameters: Parameters | None
    """None: the file does not hold them."""


def describe(facts: ModelFacts, *, sha256: str) -> str:
    """Return the lines that ``megtrim model show`` prints; ``sha256`` is the file's."""
    version = f", written by engine {facts.engine_version}" if facts.engine_version else ""
    rows = [
        ("format", f"{facts.format}{version}"),
        ("sha256", sha256),
        ("graph hash", str(facts.graph_hash or "none in this format")),
    ]
    rows += [("input", describe_variable(variable)) for variable in facts.inputs]
    rows += [("output", describe_variable(variable)) for variable in facts.outputs]
    rows += [
        ("parameters", _describe_parameters(facts.parameters)),
        ("data types", ", ".join(facts.dtypes) or "none"),
        ("elementwise", ", ".join(facts.elemwise_modes) or "none"),
    ]
    rows += [("operator", f"{name} x {count}") for name, count in facts.operators]
    rows += [("unknown operator", f"{name} x {count}") for name, count in facts.unknown_operators]
    width = max(len(title) for title, _ in rows)
    return "\n".join(f"{title:<{width}}  {text}" for title, text in rows)


def _describe_parameters(found: Parameters | None) -> str:
    if found is None:
        return "in another file"
    return f"{found.tensors} tensors, {found.size_bytes:,} bytes"


def describe_variable(variable: Variable) -> str:
    shape = "" if variable.shape is None else f"({', '.join(map(str, variable.shape))})"
    return " ".join(part for part in (variable.name, variable.dtype, shape) if part)
