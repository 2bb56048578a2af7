"""What a model needs: from its operator JSON if there is one, else from the file itself.

If there is a JSON, it is compared with the model: if it did not list something that the model
contains, the build could not run the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from megtrim.models.facts import ModelFacts, UnknownFormat, operator_info
from megtrim.models.operators import (
    MAX_JSON_BYTES,
    OperatorInfo,
    check_covers,
    parse_operator_json,
)
from megtrim.models.reader import read_model
from megtrim.util.input_files import read_bytes


def load_needs(
    model: Path, strip_info: Sequence[Path], *, folder: Path = Path()
) -> tuple[tuple[OperatorInfo, ...], tuple[str, ...]]:
    """Return the needs of one model, and warnings; paths are relative to ``folder``.

    Raises InputError for an invalid model or JSON, and for a JSON that does not cover its model. A
    model that only the engine can read (encrypted, packed) needs a JSON.
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
        _merge_infos(declared), _convert_facts(facts), model=str(model), source=source
    )
    return declared, (*unchecked, *covered)


def _convert_facts(facts: ModelFacts) -> OperatorInfo:
    return OperatorInfo(
        hash=facts.graph_hash,
        dtypes=facts.dtypes,
        opr_types=tuple(name for name, _ in facts.operators),
        elemwise_modes=facts.elemwise_modes,
    )


def _merge_infos(infos: Sequence[OperatorInfo]) -> OperatorInfo:
    return OperatorInfo(
        # With several JSONs no single hash is the model's, so there is nothing to compare.
        hash=infos[0].hash if len(infos) == 1 else None,
        dtypes=tuple(sorted({name for info in infos for name in info.dtypes})),
        opr_types=tuple(sorted({name for info in infos for name in info.opr_types})),
        elemwise_modes=tuple(sorted({name for info in infos for name in info.elemwise_modes})),
    )


def load_operator_json(path: Path, *, shown: str) -> tuple[OperatorInfo, ...]:
    """Read an operator JSON; ``shown`` is its name in messages. Raises InputError."""
    expected = "an operator JSON that the engine's dump wrote"
    data = read_bytes(path, most_bytes=MAX_JSON_BYTES, expected=expected, shown=shown)
    return parse_operator_json(data, source=shown)
