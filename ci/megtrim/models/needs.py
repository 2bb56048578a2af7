"""What one model needs, from its operator JSON where there is one, else from the file itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from megtrim.errors import InputError
from megtrim.models.facts import ModelFacts, UnknownFormat, operator_info
from megtrim.models.operators import MAX_JSON_BYTES, OperatorInfo, check_covers, parse_operator_json
from megtrim.models.reader import read_model


def load_needs(
    model: Path, strip_info: Sequence[Path]
) -> tuple[tuple[OperatorInfo, ...], tuple[str, ...]]:
    """Return a model's needs, and warnings.

    Operator JSON that is given is held against the model; where the model's format cannot be
    read (it is encrypted), the JSON is taken at its word, with a warning.
    """
    declared = tuple(info for path in strip_info for info in read_operator_json(path))
    try:
        facts = read_model(model)
    except UnknownFormat:
        if not declared:
            raise
        return declared, (f"{model}: its format is unknown, so its operator JSON is unchecked",)
    if not declared:
        return (operator_info(facts, source=str(model)),), ()
    source = ", ".join(str(path) for path in strip_info)
    return declared, (*_unknown(model, facts), *_checked(declared, facts, model, source))


def _checked(
    declared: Sequence[OperatorInfo], facts: ModelFacts, model: Path, source: str
) -> tuple[str, ...]:
    actual = OperatorInfo(
        hash=facts.graph_hash,
        dtypes=facts.dtypes,
        opr_types=tuple(name for name, _ in facts.operators),
        elemwise_modes=facts.elemwise_modes,
    )
    return check_covers(_union(declared, facts.graph_hash), actual, model=str(model), source=source)


def _unknown(model: Path, facts: ModelFacts) -> tuple[str, ...]:
    if not facts.unknown_operators:
        return ()
    names = ", ".join(name for name, _ in facts.unknown_operators)
    return (f"{model}: its operators {names} are unknown, so the JSON is unchecked for them",)


def _union(infos: Sequence[OperatorInfo], graph_hash: int) -> OperatorInfo:
    """Join the objects of one model's JSON; its hash is the model's if one of them has it."""
    hashes = [info.hash for info in infos]
    return OperatorInfo(
        hash=graph_hash if graph_hash in hashes else hashes[0],
        dtypes=tuple(sorted({name for info in infos for name in info.dtypes})),
        opr_types=tuple(sorted({name for info in infos for name in info.opr_types})),
        elemwise_modes=tuple(sorted({name for info in infos for name in info.elemwise_modes})),
    )


def read_operator_json(path: Path) -> tuple[OperatorInfo, ...]:
    """Read the operator JSON at ``path``."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_JSON_BYTES + 1)
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise InputError(msg, hint="name the operator JSON of the model") from None
    return parse_operator_json(data, source=str(path))
