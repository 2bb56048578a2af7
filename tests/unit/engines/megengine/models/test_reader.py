import os
import re
import struct
from dataclasses import replace
from pathlib import Path

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.model_facts import ModelFacts, Parameters, UnknownFormat, Variable, describe
from megtrim.engines.megengine.models import reader
from megtrim.engines.megengine.models.operators import OperatorInfo
from megtrim.engines.megengine.models.reader import (
    operator_info,
    parse_model,
    parse_sample_model,
    read_is_flatbuffers,
    read_model,
    read_whole,
)
from megtrim.engines.megengine.models.registry import ELEMWISE_MODES, REGISTERED, by_id, by_name
from megtrim.libs.util.errors import InputError
from unit.engines.megengine.models.flatbuild import mge_v1, mge_v2
from unit.sample_engine.engine_scripts import ENGINE, sample_writer, write_models

MODEL = Path(__file__).parents[4] / "data" / "models" / "resnet18-s.mge"


def test_empty_model_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        parse_model(b"", source="net.mge")

    assert caught.value.message == "net.mge: empty, expected a model"
    assert not isinstance(caught.value, UnknownFormat)


def test_too_large_a_file_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_MODEL_BYTES", 1000)

    with pytest.raises(InputError, match="found more than 1,000 bytes, expected a model"):
        read_model(MODEL)
    monkeypatch.setattr(reader, "MAX_MODEL_BYTES", 746_364)
    assert read_model(MODEL).format == "mge v1"


OLD_FORMAT = mge_v1({}, tensors=bytes(64), old=True)
WHOLE = {
    "first": MODEL.read_bytes(),
    "oldest": OLD_FORMAT,
    "second": mge_v2({3: [{0: "a variable"}]}),
    "tested": b"mgbtest0" + bytes(4) + OLD_FORMAT,
    "sample": (ENGINE / "models" / "tiny-quant.sample").read_bytes(),
}


@pytest.mark.parametrize("data", WHOLE.values(), ids=WHOLE.keys())
def test_a_model_is_whole_or_cut_off(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.mge"
    path.write_bytes(data)
    read_whole(path, source="m.mge")

    for size in (0, 28, 40, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(InputError, match=r"^m\.mge: ") as caught:
            read_whole(path, source="m.mge")
        assert not isinstance(caught.value, UnknownFormat)


@pytest.mark.parametrize("data", [b"packed", b"M", bytes(100), b"MGBX" + b"\xff" * 40])
def test_what_is_of_no_known_format_may_be_whole(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.mge"
    path.write_bytes(data)

    read_whole(path, source="m.mge")


@pytest.mark.parametrize(
    ("path", "format_name", "flatbuffers"),
    [
        (MODEL, "mge v1", True),
        (MODEL.with_name("resnet18-s.v2.mge"), "mge v2", True),
        (ENGINE / "models" / "tiny-quant.sample", "sample", False),
    ],
)
def test_the_first_bytes_choose_the_format(path: Path, format_name: str, flatbuffers: bool) -> None:
    assert read_model(path).format.startswith(format_name)
    assert read_is_flatbuffers(path) is flatbuffers
    with pytest.raises(InputError, match=r"^their model: "):
        read_model(Path(__file__), shown="their model")


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


def engine_id(name: str) -> int:
    return xxhash.xxh64_intdigest(name.encode(), seed=20160701)


@pytest.mark.parametrize(
    ("registered", "name"),
    [
        ("PoolingV1", "PoolingForward"),
        ("MatrixMulV2", "MatrixMul"),
        ("ConvBiasForwardV4", "ConvBiasForward"),
        ("ConvBiasForward", "ConvBiasForward"),
        ("ConvolutionV2", "ConvolutionForward"),
        ("Convolution", "ConvolutionForward"),
        ("Softmax", "SoftmaxForward"),
        ("ReshapeV1", "Reshape"),
        ("opr::Loop", "Loop"),
    ],
)
def test_registered_name_gives_its_class(registered: str, name: str) -> None:
    found = by_name(registered)

    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("text", ["PoolingV1\0", "PoolingV3\0", "Pooling\0", "Pooling"])
def test_hash_of_any_version_gives_the_class(text: str) -> None:
    """Other versions of the engine registered other versions; the oldest hashed neither."""
    found = by_id(engine_id(text))

    assert found is not None
    assert found.name == "PoolingForward"


def test_what_the_table_knows_of_a_type() -> None:
    found = by_id(0x327BF927970E4459)

    assert found is not None
    assert found.name == "ConvBiasForward"
    assert found.dtypes == ("Byte",)
    assert by_name("FrobnicateV1") is None
    assert by_name("") is None
    assert by_id(0) is None
    assert REGISTERED["TopK"].dtypes == ("Byte", "Int32")
    assert REGISTERED["GetVarShapeV1"].dtypes == ("Int32",)
    assert REGISTERED["Elemwise"].dtypes == ()


def test_modes_are_in_the_engines_order() -> None:
    """A file stores the index, so the order is the meaning."""
    assert len(ELEMWISE_MODES) == 86
    assert ELEMWISE_MODES[0] == "RELU"
    assert ELEMWISE_MODES[16] == "ADD"
    assert ELEMWISE_MODES[37] == "FUSE_ADD_RELU"
    assert ELEMWISE_MODES[85] == "SIGN"


@pytest.mark.engine
def test_table_holds_what_the_engine_registers() -> None:
    register = re.compile(r"^(?:MGB_SEREG|SERGE_OPR_V2)\w*\(\s*([A-Z]\w+)\s*,", re.MULTILINE)
    texts = (
        path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(Path(os.environ["MEGTRIM_ENGINE"], "src").rglob("*.sereg*.h"))
    )
    names = {name for text in texts for name in register.findall(text)}
    # A loop registers the operators of its inner graph, which no dump of today holds.
    names -= {"LoopGrad", "Loop"}

    assert len(names) > 150
    assert sorted(name for name in names if by_name(name) is None) == []


SAMPLE = (ENGINE / "models/tiny-quant.sample").read_bytes()
_WEIGHT = write_models.Noise(3).integers(8, 3, 3, 3).tobytes()
"""The first of its weights."""


def _sealed(body: bytes) -> bytes:
    return b"SAMPLENN" + struct.pack("<IQ", 1, sample_writer.fnv1a(body)) + body


def _message(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        parse_sample_model(data, source="m.sample")
    return caught.value.message


def test_a_model_gives_its_facts() -> None:
    facts = parse_sample_model(SAMPLE, source="m.sample")
    assert facts.format == "sample v1"
    assert dict(facts.operators)["ConvBias"] == 3
    assert facts.elemwise_modes == ("ADD",)
    assert facts.inputs == (Variable(name="data", dtype="Float32", shape=(1, 3, 24, 24)),)
    assert [(v.name, v.shape) for v in facts.outputs] == [("softmax17", (1, 10))]
    assert facts.graph_hash == struct.unpack_from("<Q", SAMPLE, 12)[0]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        pytest.param(b"", "ends too early", id="empty"),
        pytest.param(b"SAMPLENX" + SAMPLE[8:], "is not a sample model of version 1", id="magic"),
        pytest.param(
            SAMPLE[:8] + b"\2" + SAMPLE[9:], "is not a sample model of version 1", id="version"
        ),
        pytest.param(SAMPLE[:-1], "does not match its own hash", id="cut off"),
        pytest.param(
            SAMPLE[:500] + b"\xff" + SAMPLE[501:], "does not match its own hash", id="bit"
        ),
        pytest.param(_sealed(SAMPLE[20:-1]), "ends too early", id="early end"),
        pytest.param(_sealed(SAMPLE[20:] + b"\0"), "has bytes after its end", id="late end"),
        pytest.param(_sealed(b"\xff\xff\xff\xff"), "announces 4294967295 entries", id="count"),
    ],
)
def test_what_is_no_whole_model_is_refused(data: bytes, found: str) -> None:
    message = _message(data)
    assert message.startswith(f"m.sample: {found} (at byte ")


def _one_operator(kind: bytes, mode: bytes = b"") -> bytes:
    tensor = b"\1x" + struct.pack("<BfBI", 0, 1.0, 1, 1)
    texts = b"".join(bytes([len(text)]) + text for text in (kind, b"x", mode))
    operator = texts + struct.pack("<BBBII", 0, 0, 1, 0, 0)
    one = struct.pack("<I", 1)
    return _sealed(one + tensor + one + operator + one + struct.pack("<I", 0))


def test_only_values_of_weights_are_not_of_the_graph() -> None:
    """Nor is the hash that covers them, as it must."""

    def digest(at: int, change: int) -> str:
        body = bytearray(SAMPLE[20:])
        body[at] ^= change
        return parse_sample_model(_sealed(bytes(body)), source="m").graph_sha256

    whole = parse_sample_model(SAMPLE, source="m").graph_sha256
    weights = [SAMPLE.index(_WEIGHT) - 20, SAMPLE.rindex(_WEIGHT) - 20 + len(_WEIGHT) - 1]
    scale = SAMPLE.index(struct.pack("<f", 0.02)) - 20

    assert [digest(at, 1) == whole for at in weights] == [True, True]
    assert digest(scale, 1) != whole


def test_names_are_identifiers_and_outputs_exist() -> None:
    """Operators and modes end up in compiled code, so nothing else may pass for one."""
    assert parse_sample_model(_one_operator(b"Fine"), source="m").operators == (("Fine", 1),)
    assert "a name that is not an identifier" in _message(_one_operator(b"X{};class Y"))
    assert "a name that is not an identifier" in _message(_one_operator(b""))
    assert "a name that is not an identifier" in _message(_one_operator(b"Elemwise", b"ADD)"))
    data = _one_operator(b"Input")
    assert "names a tensor that it does not contain" in _message(_sealed(data[20:-4] + b"\1\0\0\0"))


@given(st.data())
def test_damage_never_ends_in_anything_but_an_input_error(data: st.DataObject) -> None:
    body = bytearray(SAMPLE[20:])
    for _ in range(data.draw(st.integers(1, 4))):
        # Most of the file are weights, where everything is allowed: aim at the front.
        body[data.draw(st.integers(0, 900))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(body)))
    sealed = _sealed(bytes(body[: cut or None]))
    try:
        facts = parse_sample_model(sealed, source="m.sample")
    except InputError as error:
        assert error.message.startswith("m.sample: ")
    else:
        assert facts.operators
