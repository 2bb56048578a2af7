"""Describes a model's content for people. Pure: facts in, text out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from megtrim.models.facts import ModelFacts, Variable


def describe(facts: ModelFacts, *, sha256: str) -> str:
    """Return the lines that ``megtrim model show`` prints, without a final newline.

    ``sha256`` is the file's: the second format has no hash of its own.
    """
    version = f", written by engine {facts.engine_version}" if facts.engine_version else ""
    parameters = facts.parameters
    rows = [
        ("format", f"{facts.format}{version}"),
        ("sha256", sha256),
        ("graph hash", str(facts.graph_hash or "none in this format")),
        *_variables("input", facts.inputs),
        *_variables("output", facts.outputs),
        ("parameters", f"{parameters.tensors} tensors, {parameters.size_bytes:,} bytes"),
        ("data types", ", ".join(facts.dtypes) or "none"),
        ("elementwise", ", ".join(facts.elemwise_modes) or "none"),
        *_operators("operator", facts.operators),
        *_operators("unknown operator", facts.unknown_operators),
    ]
    width = max(len(title) for title, _ in rows)
    return "\n".join(f"{title:<{width}}  {text}" for title, text in rows)


def _variables(title: str, variables: Sequence[Variable]) -> list[tuple[str, str]]:
    return [(title, describe_variable(variable)) for variable in variables]


def describe_variable(variable: Variable) -> str:
    """Return what is known of an input or output, such as ``data Float32 (1, 3, 64, 64)``."""
    return " ".join(part for part in (variable.name, variable.dtype, _shape(variable)) if part)


def _shape(variable: Variable) -> str:
    return "" if variable.shape is None else f"({', '.join(map(str, variable.shape))})"


def _operators(title: str, operators: Sequence[tuple[str, int]]) -> list[tuple[str, str]]:
    return [(title, f"{name} x {count}") for name, count in operators]
