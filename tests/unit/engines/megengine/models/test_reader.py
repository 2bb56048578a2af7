from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.model_facts import ModelFacts, Parameters, UnknownFormat, Variable, describe
from megtrim.core.project import read_any_model
from megtrim.engines.megengine.models.reader import MgeModels
from megtrim.engines.models import reader
from megtrim.engines.models.operators import OperatorInfo
from megtrim.engines.models.reader import ModelFiles, operator_info
from megtrim.engines.sample_models import SampleModels
from megtrim.libs.util.errors import InputError
from unit.engines.megengine.models.flatbuild import mge_v1, mge_v2
from unit.sample_engine.engine_scripts import ENGINE

MODEL = Path(__file__).parents[4] / "data" / "models" / "resnet18-s.mge"


MGE = MgeModels()
SAMPLES = SampleModels()


@pytest.mark.parametrize("models", [MGE, SAMPLES])
def test_empty_model_is_refused(models: ModelFiles) -> None:
    with pytest.raises(InputError) as caught:
        models.parse(b"", source="net.mge")

    assert caught.value.message == "net.mge: empty, expected a model"
    assert not isinstance(caught.value, UnknownFormat)


def test_the_model_of_another_engine_is_unknown() -> None:
    with pytest.raises(UnknownFormat, match=r"^net: not a \.mge model: it begins with b'SAMPLENN"):
        MGE.parse(WHOLE["sample"][1], source="net")
    with pytest.raises(UnknownFormat, match=r"^net: not a sample model: it begins with"):
        SAMPLES.parse(WHOLE["first"][1], source="net")


def test_too_large_a_file_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_MODEL_BYTES", 1000)

    with pytest.raises(InputError, match="found more than 1,000 bytes, expected a model"):
        MGE.read_model(MODEL)
    monkeypatch.setattr(reader, "MAX_MODEL_BYTES", 746_364)
    assert MGE.read_model(MODEL).format == "mge v1"


OLD_FORMAT = mge_v1({}, tensors=bytes(64), old=True)
WHOLE = {
    "first": (MGE, MODEL.read_bytes()),
    "oldest": (MGE, OLD_FORMAT),
    "second": (MGE, mge_v2({3: [{0: "a variable"}]})),
    "tested": (MGE, b"mgbtest0" + bytes(4) + OLD_FORMAT),
    "sample": (SAMPLES, (ENGINE / "models" / "tiny-quant.sample").read_bytes()),
}


@pytest.mark.parametrize(("models", "data"), WHOLE.values(), ids=WHOLE.keys())
def test_a_model_is_whole_or_cut_off(tmp_path: Path, models: ModelFiles, data: bytes) -> None:
    path = tmp_path / "m.mge"
    path.write_bytes(data)
    models.read_whole(path, source="m.mge")

    for size in (0, 28, 40, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(InputError, match=r"^m\.mge: ") as caught:
            models.read_whole(path, source="m.mge")
        assert not isinstance(caught.value, UnknownFormat)


@pytest.mark.parametrize("data", [b"packed", b"M", bytes(100), b"MGBX" + b"\xff" * 40])
def test_what_is_of_no_known_format_may_be_whole(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.mge"
    path.write_bytes(data)

    MGE.read_whole(path, source="m.mge")
    SAMPLES.read_whole(path, source="m.mge")


@pytest.mark.parametrize(
    ("path", "format_name", "flatbuffers"),
    [
        (MODEL, "mge v1", True),
        (MODEL.with_name("resnet18-s.v2.mge"), "mge v2", True),
        (ENGINE / "models" / "tiny-quant.sample", "sample", False),
    ],
)
def test_the_first_bytes_choose_the_format(path: Path, format_name: str, flatbuffers: bool) -> None:
    """Whichever engine is asked first: its own reader knows no other's models."""
    assert read_any_model(path, first=SAMPLES).format.startswith(format_name)
    assert read_any_model(path, first=MGE).format.startswith(format_name)
    assert MGE.read_is_flatbuffers(path) is flatbuffers
    assert not SAMPLES.read_is_flatbuffers(path)
    with pytest.raises(InputError, match=r"^their model: "):
        read_any_model(Path(__file__), shown="their model")


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
    said = "has operators that megtrim does not know"
    assert caught.value.message == f"net.mge: {said}: 0x00000000000000ff"
    assert "strip_info" in caught.value.hint
