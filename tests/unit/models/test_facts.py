from dataclasses import replace

import pytest

from megtrim.models.facts import ModelFacts, Parameters, Variable, describe, operator_info
from megtrim.models.operators import OperatorInfo
from megtrim.util.errors import InputError

FACTS = ModelFacts(
    format="mge v2",
    engine_version="1.13.4",
    operators=(("Elemwise", 2), ("Host2DeviceCopy", 1)),
    unknown_operators=(("0x00000000000000ff", 1),),
    dtypes=("Float32", "Int8"),
    elemwise_modes=("ADD",),
    inputs=(Variable(name="data", dtype="Float32", shape=(1, 3)),),
    outputs=(Variable(name="out", dtype="", shape=None),),
    graph_hash=0,
    parameters=Parameters(tensors=2, size_bytes=1234),
)


def test_all_facts_are_shown_in_columns() -> None:
    assert describe(FACTS, sha256="ab").splitlines() == [
        "format            mge v2, written by engine 1.13.4",
        "sha256            ab",
        "graph hash        none in this format",
        "input             data Float32 (1, 3)",
        "output            out",
        "parameters        2 tensors, 1,234 bytes",
        "data types        Float32, Int8",
        "elementwise       ADD",
        "operator          Elemwise x 2",
        "operator          Host2DeviceCopy x 1",
        "unknown operator  0x00000000000000ff x 1",
    ]


def test_a_model_of_little() -> None:
    little = ModelFacts(
        format="sample v1",
        engine_version="",
        operators=(),
        dtypes=(),
        elemwise_modes=(),
        inputs=(),
        outputs=(),
        graph_hash=7,
        parameters=Parameters(tensors=0, size_bytes=0),
    )

    assert describe(little, sha256="ab").splitlines() == [
        "format       sample v1",
        "sha256       ab",
        "graph hash   7",
        "parameters   0 tensors, 0 bytes",
        "data types   none",
        "elementwise  none",
    ]


def test_known_operators_are_all_that_is_needed() -> None:
    known = replace(FACTS, unknown_operators=())

    assert operator_info(known, source="net.mge") == OperatorInfo(
        hash=0,
        dtypes=("Float32", "Int8"),
        opr_types=("Elemwise", "Host2DeviceCopy"),
        elemwise_modes=("ADD",),
    )


def test_unknown_operators_are_not_guessed() -> None:
    with pytest.raises(InputError) as caught:
        operator_info(FACTS, source="net.mge")
    assert caught.value.message == (
        "net.mge: has operators that megtrim does not know: 0x00000000000000ff"
    )
    assert "strip_info" in caught.value.hint
