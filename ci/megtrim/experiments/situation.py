"""Whether an experiment can run: with this program, on this machine, with this model. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from megtrim.experiments.commands import describe_unknown, find_missing
from megtrim.experiments.experiment import Backend, DataType, Experiment
from megtrim.load_and_run.dialects import Dialect
from megtrim.util.value import Value

NO_GPU = "not run here: needs an NVIDIA GPU"

_INT4 = frozenset({"QuantizedS4", "Quantized4Asymm"})
_INT8 = frozenset({"QuantizedS8", "Quantized8Asymm"})
_FLOAT32 = "Float32"


class Situation(Value):
    """What there is; None: not known, and taken to be enough."""

    dialect: Dialect
    architecture: str | None
    cpu_features: frozenset[str] | None = None
    data_type: DataType | None = None
    backend: Backend = Backend.CPU
    has_gpu: bool = False


def why_not(experiment: Experiment, situation: Situation) -> str | None:
    """Flags come first, so that commands for a GPU are checked where there is none."""
    needs = experiment.needs
    backend = choose_backend(experiment, situation)
    missing = find_missing(experiment, backend, situation.dialect)
    if missing is not None:
        return describe_unknown(missing)
    if backend is Backend.CUDA and not situation.has_gpu:
        return NO_GPU
    machine, features = situation.architecture, situation.cpu_features
    if needs.architectures and machine is not None and machine not in needs.architectures:
        return f"needs {join_any(needs.architectures)}, and this is {machine}"
    lacking = describe_lacking(needs.cpu_features, features)
    if lacking is not None:
        return lacking
    data_type = situation.data_type
    if needs.data_types and data_type is not None and data_type not in needs.data_types:
        return f"needs a model of {join_any(needs.data_types)}, and this one is of {data_type}"
    return None


def describe_lacking(wanted: Iterable[str], features: frozenset[str] | None) -> str | None:
    absent = [each for each in wanted if features is not None and each not in features]
    return f"needs a CPU with {absent[0]}, which this one does not have" if absent else None


def choose_backend(experiment: Experiment, situation: Situation) -> Backend:
    backends = experiment.needs.backends
    return situation.backend if situation.backend in backends else backends[0]


def find_data_type(names: Iterable[str]) -> DataType | None:
    """By the engine's names; None: none that experiments tell apart.

    A quantised model has float32, too: at its ends.
    """
    found = set(names)
    if found & _INT4:
        return DataType.INT4
    if found & _INT8:
        return DataType.INT8
    return DataType.FLOAT32 if _FLOAT32 in found else None


def describe_needs(experiment: Experiment) -> tuple[str, ...]:
    needs = experiment.needs
    found = []
    if Backend.CPU not in needs.backends:
        found.append("an NVIDIA GPU")
    elif needs.architectures:
        found.append(join_any(needs.architectures))
    elif Backend.CUDA not in needs.backends:
        found.append("a CPU")
    if needs.cpu_features:
        found.append(f"a CPU with {' and '.join(needs.cpu_features)}")
    if needs.data_types:
        found.append(f"a model of {join_any(needs.data_types)}")
    return tuple(found)


def join_any(names: Iterable[str]) -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
