from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.experiments.commands import (
    NO_GPU,
    Situation,
    choose_backend,
    describe_needs,
    find_data_type,
    why_not,
)
from megtrim.experiments.experiment import Backend, DataType
from megtrim.experiments.table import EXPERIMENTS, find_experiments
from megtrim.load_and_run.dialects import LITE

X86 = Situation(
    dialect=LITE,
    architecture="x86_64",
    cpu_features=frozenset({"avx2"}),
    data_type=DataType.FLOAT32,
)
PHONE = replace(X86, architecture="aarch64", cpu_features=frozenset({"dotprod"}))
NO_RECORD = replace(LITE, switches=LITE.switches - {"record_comp_seq"})


def reason(name: str, situation: Situation) -> str | None:
    (experiment,) = find_experiments([name])
    return why_not(experiment, situation)


@pytest.mark.parametrize(
    ("name", "situation", "expected"),
    [
        ("nchw88", X86, None),
        ("nchw88", PHONE, "needs x86_64, and this is aarch64"),
        ("nchw88", replace(X86, cpu_features=frozenset()), "needs a CPU with avx2"),
        ("nchw88", replace(X86, data_type=DataType.INT8), "needs a model of float32, and this one"),
        ("nchw44", X86, "needs aarch64 or arm, and this is x86_64"),
        ("nchw44", PHONE, None),
        ("nchw44-dot", PHONE, None),
        ("nchw44-dot", replace(PHONE, cpu_features=frozenset()), "needs a CPU with dotprod"),
        ("nchw4", X86, NO_GPU),
        ("recipe-nvidia", X86, NO_GPU),
        ("recipe-nvidia", replace(X86, dialect=NO_RECORD), "the flag --record-comp-seq is unknown"),
        ("recipe-arm", X86, "needs aarch64 or arm, and this is x86_64"),
        ("fast-run", replace(X86, backend=Backend.CUDA), NO_GPU),
        ("fast-run", replace(X86, backend=Backend.CUDA, has_gpu=True), None),
        ("nchw64", replace(X86, has_gpu=True, data_type=DataType.INT4), None),
        ("nchw64", replace(X86, has_gpu=True), "needs a model of int4 or int8, and this one is"),
    ],
)
def test_reasons(name: str, situation: Situation, expected: str | None) -> None:
    found = reason(name, situation)
    assert found is None if expected is None else (found or "").startswith(expected)


def test_what_is_not_known_is_held_against_none() -> None:
    unknown = Situation(dialect=LITE, architecture=None)
    reasons = {why_not(each, unknown) for each in EXPERIMENTS}
    assert reasons == {None, NO_GPU}


def test_every_experiment_can_run_somewhere() -> None:
    for each in EXPERIMENTS:
        needs = each.needs
        situation = Situation(
            dialect=LITE,
            architecture=(needs.architectures or ("x86_64",))[0],
            cpu_features=frozenset(needs.cpu_features),
            data_type=(needs.data_types or (DataType.FLOAT32,))[0],
            has_gpu=True,
        )
        assert why_not(each, situation) is None


def test_the_backend_of_an_experiment() -> None:
    (both, cpu, cuda) = find_experiments(["baseline", "nchw44", "nchw4"])
    gpu = replace(X86, backend=Backend.CUDA)
    assert [choose_backend(each, X86) for each in (both, cpu, cuda)] == ["cpu", "cpu", "cuda"]
    assert [choose_backend(each, gpu) for each in (both, cpu, cuda)] == ["cuda", "cpu", "cuda"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("Float32", "Int32"), DataType.FLOAT32),
        (("Float32", "QuantizedS8", "QuantizedS32"), DataType.INT8),
        (("Float32", "Quantized8Asymm"), DataType.INT8),
        (("Float32", "QuantizedS4", "QuantizedS8"), DataType.INT4),
        (("Float16",), None),
        ((), None),
    ],
)
def test_data_type_of_a_model(names: tuple[str, ...], expected: DataType | None) -> None:
    assert find_data_type(names) is expected


def test_needs_in_words() -> None:
    (both, dot, cuda, cpu) = find_experiments(["baseline", "fake-first", "nchw44-dot", "nchw64"])
    assert describe_needs(both) == ()
    assert describe_needs(cpu) == ("a CPU",)
    assert describe_needs(dot) == (
        "aarch64 or arm",
        "a CPU with dotprod",
        "a model of float32 or int8",
    )
    assert describe_needs(cuda) == ("an NVIDIA GPU", "a model of int4 or int8")
