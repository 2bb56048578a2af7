"""What a model file holds, whatever its format: the value that every reader returns.

Pure values; reading is done by one module per format.
"""

from __future__ import annotations

from dataclasses import dataclass

from megtrim.errors import InputError
from megtrim.models.operators import OperatorInfo


class UnknownFormat(InputError):
    """The file is no model of a format that can be read; it may be encrypted or packed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """An input or an output of a model."""

    name: str
    dtype: str
    """Name of the data type (``Float32``); empty where the file does not say it."""
    shape: tuple[int, ...] | None
    """None where the file does not say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The tensors whose values the file holds."""

    tensors: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """Everything that trimming needs to know of one model file."""

    format: str
    """``mge v1``, ``mge v2``, or the name of another reader's format."""
    engine_version: str
    """Version of the engine that wrote the file; empty where it is not recorded."""
    operators: tuple[tuple[str, int], ...]
    """Operator class names as in the operator JSON, with how often each occurs; sorted."""
    unknown_operators: tuple[tuple[str, int], ...] = ()
    """Names or type ids (``0x…``) that the registry cannot relate to a class; sorted."""
    dtypes: tuple[str, ...]
    elemwise_modes: tuple[str, ...]
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    graph_hash: int
    """0 where the format has none."""
    parameters: Parameters


def operator_info(facts: ModelFacts, *, source: str) -> OperatorInfo:
    """Return the operator JSON's content, made from the model file ``source`` itself.

    Raises InputError where the file holds operators whose class is not known: a guess would
    end in a reduced build that lacks them.
    """
    if facts.unknown_operators:
        names = ", ".join(name for name, _ in facts.unknown_operators)
        msg = f"{source}: holds operators that megtrim does not know: {names}"
        hint = "give the operator JSON of this model (strip_info), written by the engine's dump"
        raise InputError(msg, hint=hint)
    return OperatorInfo(
        hash=facts.graph_hash,
        dtypes=facts.dtypes,
        opr_types=tuple(name for name, _ in facts.operators),
        elemwise_modes=facts.elemwise_modes,
    )
