"""What the readers of model files share: each engine's own says how one is parsed."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from megtrim.core.keep.operators import OperatorNeeds
from megtrim.core.model_facts import ModelFacts, UnknownFormat
from megtrim.engines.models.operators import (
    MAX_JSON_BYTES,
    OperatorInfo,
    check_covers,
    merge,
    parse_operator_json,
)
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import read_bytes

MAX_MODEL_BYTES = 4 * 1024**3
FETCH_AGAIN = "fetch or dump the model again"


class ModelFiles(ABC):
    @abstractmethod
    def is_own(self, head: bytes) -> bool:
        """Tell by the first bytes of a file whether no other reader can read it."""

    @abstractmethod
    def parse(self, data: bytes, *, source: str) -> ModelFacts:
        """Raises InputError for anything but an intact model."""

    @abstractmethod
    def read_whole(self, path: Path, *, source: str) -> None:
        """Raise InputError for an empty or truncated model; unknown formats pass."""

    def read_is_flatbuffers(self, path: Path) -> bool:
        del path
        return False

    def read_model(self, path: Path, *, shown: str = "") -> ModelFacts:
        data = read_bytes(path, most_bytes=MAX_MODEL_BYTES, expected="a model", shown=shown)
        return self.parse(data, source=shown or str(path))

    def digest_model_graph(self, path: Path, sha256: str) -> str | None:
        """Return the digest of a model without values of weights.

        None: only the engine can read it.
        """
        return _digest_model_graph(self, path, sha256)

    def load_needs(
        self, model: Path, strip_info: Sequence[Path], *, folder: Path = Path()
    ) -> tuple[tuple[OperatorInfo, ...], tuple[str, ...]]:
        """Return the needs of one model, and warnings; paths are relative to ``folder``.

        A model that only the engine can read (encrypted, packed) needs a JSON. Raises InputError.
        """
        if not strip_info:
            facts = self.read_model(folder / model, shown=str(model))
            return (operator_info(facts, source=str(model)),), ()
        declared = tuple(
            i for p in strip_info for i in self.load_operator_json(folder / p, shown=str(p))
        )
        source = ", ".join(str(path) for path in strip_info)
        try:
            facts = self.read_model(folder / model, shown=str(model))
        except UnknownFormat as unknown:
            return declared, (f"{unknown.message}: {source} cannot be checked, and is trusted",)
        unchecked = tuple(
            f"{model}: megtrim does not know {name}: {source} cannot be checked for it, "
            "and is trusted"
            for name, _ in facts.unknown_operators
        )
        covered = check_covers(
            _merge_infos(declared), list_needs(facts), model=str(model), source=source
        )
        return declared, (*unchecked, *covered)

    def gather_needs(
        self, models: Iterable[tuple[str, Path, Sequence[Path]]], *, folder: Path
    ) -> tuple[OperatorNeeds, tuple[str, ...]]:
        """Take name, file and operator JSON of each model, as :meth:`load_needs` does."""
        needed: list[tuple[str, OperatorInfo]] = []
        warnings: list[str] = []
        for name, file, strip_info in models:
            infos, odd = self.load_needs(file, strip_info, folder=folder)
            needed += [(name, info) for info in infos]
            warnings += odd
        return merge(needed), tuple(warnings)

    def load_operator_json(self, path: Path, *, shown: str) -> tuple[OperatorInfo, ...]:
        expected = "an operator JSON that the engine's dump wrote"
        data = read_bytes(path, most_bytes=MAX_JSON_BYTES, expected=expected, shown=shown)
        return parse_operator_json(data, source=shown)


@lru_cache(maxsize=1024)
def _digest_model_graph(models: ModelFiles, path: Path, sha256: str) -> str | None:
    try:
        data = read_bytes(path, most_bytes=MAX_MODEL_BYTES, expected="a model")
        facts = models.parse(data, source=str(path))
    except InputError:
        return None
    known = hashlib.sha256(data).hexdigest() == sha256
    return (facts.graph_sha256 or None) if known else None


def expect_content(data: bytes, *, source: str) -> None:
    if not data:
        msg = f"{source}: empty, expected a model"
        raise InputError(msg, hint=FETCH_AGAIN)


def _merge_infos(infos: Sequence[OperatorInfo]) -> OperatorInfo:
    lists = {
        key: tuple(sorted({name for info in infos for name in getattr(info, key)}))
        for key in ("dtypes", "opr_types", "elemwise_modes")
    }
    # With several JSONs no single hash is the model's, so there is nothing to compare.
    return OperatorInfo(hash=infos[0].hash if len(infos) == 1 else None, **lists)


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
