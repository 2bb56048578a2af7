import struct
import time
from pathlib import Path
from typing import Any

import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from megtrim.core.model_facts import ModelFacts, Parameters, UnknownFormat, Variable
from megtrim.engines.megengine.models.mge import is_mge, parse_mge
from megtrim.engines.models.operators import parse_operator_json
from megtrim.engines.models.reader import operator_info
from megtrim.libs.util.errors import InputError
from unit.engines.megengine.models.flatbuild import Numbers, Repeated, mge_v1, mge_v2, u8, u32, u64

DATA = Path(__file__).parents[4] / "data"
MODELS = sorted((DATA / "models").glob("*.mge"))
BYTES = [path.read_bytes() for path in MODELS]
FLOAT32 = 0
INT8 = 2
FLOAT16 = 9
DTYPE_NONE = 22


def type_id(registered: str) -> Any:
    return u64(xxhash.xxh64_intdigest(f"{registered}\0".encode(), seed=20160701))


def tensor_v1(name: str = "", size: int = 0) -> dict[int, Any]:
    shape = Numbers("<I", (1, 3))
    return {0: name, 1: shape, 3: {0: u8(FLOAT32)}, 4: u32(size)}


def graph_v1(*operators: dict[int, Any], outputs: tuple[int, ...] = ()) -> dict[int, Any]:
    pairs = tuple(number for output in outputs for number in (output, 100 + output))
    return {
        0: u32(1_013_002),
        1: u64(77),
        3: list(operators),
        4: Numbers("<I", pairs, items=len(outputs)),
    }


def model_v2(*operators: dict[int, Any], **fields: Any) -> dict[int, Any]:
    return {0: u32(1_013_002), 2: list(operators), **{int(key[1:]): fields[key] for key in fields}}


def read(data: bytes) -> ModelFacts:
    return parse_mge(data, source="net.mge")


def refused(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        read(data)
    assert caught.value.hint
    return caught.value.message


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
def test_recorded_models_give_their_recorded_json(path: Path) -> None:
    text = (DATA / "strip-info" / f"{path.name}.json").read_bytes()
    made = operator_info(parse_mge(path.read_bytes(), source=path.name), source=path.name)

    assert (made,) == parse_operator_json(text, source="recorded")


def test_recorded_model_of_the_first_format() -> None:
    facts = read((DATA / "models" / "resnet18-s.mge").read_bytes())

    assert facts == ModelFacts(
        format="mge v1",
        engine_version="10.999.0",
        operators=(
            ("ConvBiasForward", 20),
            ("Elemwise", 9),
            ("Host2DeviceCopy", 1),
            ("ImmutableTensor", 1),
            ("MatrixMul", 1),
            ("PoolingForward", 2),
            ("Reshape", 1),
            ("SharedDeviceTensor", 42),
        ),
        dtypes=("Byte", "Float32", "Int32"),
        elemwise_modes=("ADD", "FUSE_ADD_RELU"),
        inputs=(Variable(name="h2d[0]", dtype="Float32", shape=(1, 3, 64, 64)),),
        outputs=(Variable(name="out", dtype="", shape=None),),
        graph_hash=10078361748651523472,
        graph_sha256="4820d152aa190f0aeaae3eaff95fcf6d91d844d1d789096a6ac8636a22decbdd",
        parameters=Parameters(tensors=43, size_bytes=736956),
    )


def test_recorded_model_of_the_second_format() -> None:
    facts = read((DATA / "models" / "mobilenet-s.v2.mge").read_bytes())

    assert facts.format == "mge v2"
    assert facts.operators[0] == ("ConvBiasForward", 21)
    assert facts.inputs == (Variable(name="h2d[0]", dtype="Float32", shape=(1, 3, 64, 64)),)
    assert facts.outputs == (Variable(name="out", dtype="", shape=(1, 250)),)
    assert facts.graph_hash == 0
    assert facts.parameters == Parameters(tensors=45, size_bytes=884848)
    first = read((DATA / "models" / "mobilenet-s.mge").read_bytes())
    assert (first.operators, first.parameters) == (facts.operators, facts.parameters)


RESNET_V1, RESNET_V2 = (
    (DATA / "models" / name).read_bytes() for name in ("resnet18-s.mge", "resnet18-s.v2.mge")
)
VALUES = range(24, 24 + 736956)
"""The tensors of the first format: all weights but one, a constant before the last two."""
CONSTANT = range(VALUES.stop - 32508, VALUES.stop - 32500)


def regraphed(data: bytes, at: int) -> bool | None:
    """Return whether a changed byte makes another graph; None: it makes no model."""
    damaged = bytearray(data)
    damaged[at] ^= 1
    try:
        return read(bytes(damaged)).graph_sha256 != read(data).graph_sha256
    except InputError:
        return None


def test_only_values_of_weights_are_not_of_the_graph() -> None:
    """In the first format they are outside of the graph, and one of them is a constant: a shape."""
    weights = [*VALUES[:: VALUES.stop // 60], CONSTANT.start - 1, CONSTANT.stop, VALUES[-1]]
    others = [*range(24), *CONSTANT, *range(VALUES.stop, len(RESNET_V1), 7)]

    assert [at for at in weights if regraphed(RESNET_V1, at) is not False] == []
    assert [at for at in others if regraphed(RESNET_V1, at) is False] == []


@pytest.mark.parametrize(
    ("at", "changes"),
    [
        *((at, False) for at in (746508, 746508 + 4703, 35252, 1008 + 499)),  # weights
        *((at, True) for at in (34156, 34163)),  # the constant
        *((at, True) for at in (1008 - 4, 1008 + 500, 34152)),  # sizes, and what is between
    ],
)
def test_only_weights_are_not_of_the_graph_in_the_second_format(at: int, changes: bool) -> None:
    assert regraphed(RESNET_V2, at) in ((True, None) if changes else (False,))


def test_a_graph_that_hides_among_the_weights_has_no_digest() -> None:
    """One reaches over parts of the graph, which could be changed there."""
    at = 1008 - 4
    assert RESNET_V2[at : at + 4] == (500).to_bytes(4, "little")
    longer = RESNET_V2[:at] + (900).to_bytes(4, "little") + RESNET_V2[at + 4 :]

    assert read(longer).graph_sha256 == ""


FIRST = mge_v1(
    graph_v1(
        {0: type_id("PoolingV1")},
        {0: type_id("TypeCvtV2"), 1: u8(67), 2: {0: u8(FLOAT16)}},
        {0: u64(0xABC)},
        {0: u64(0xABC)},
    )
)
POOLING = u64(xxhash.xxh64_intdigest(b"Pooling", seed=20160701))
MODES = ({0: "Elemwise", 3: u8(17), 4: {}}, *2 * ({0: "Elemwise", 3: u8(17), 4: {0: u32(85)}},))
INPUTS = graph_v1(
    {0: type_id("Host2DeviceCopy"), 7: [tensor_v1("data")]},
    {0: type_id("SharedDeviceTensor"), 7: [tensor_v1(size=6)]},
)
TYPES = model_v2(
    {0: "ImmutableTensor", 11: [{3: {0: u8(INT8)}, 6: Numbers("<B", (1, 2, 3))}]},
    {0: "Concat", 10: {0: u8(FLOAT16)}},
    _3=[{0: "v0", 3: {0: u8(4)}}],
)
NAMED = model_v2(
    _3=[{0: "first", 1: Numbers("<I", (2, 5)), 3: {0: u8(INT8)}}, {0: "second"}, {}],
    _4=[{0: u32(number), 1: u32(10 + number)} for number in range(3)],
    _5=[{0: u32(11), 1: "alias"}],
)


def unnamed(number: int) -> Variable:
    return Variable(name=f"unnamed{number}", dtype="", shape=None)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        # The first format names types by hash; what no table knows is shown, not dropped.
        (
            FIRST,
            {
                "operators": (("PoolingForward", 1), ("TypeCvt", 1)),
                "unknown_operators": (("0x0000000000000abc", 2),),
                "dtypes": ("Byte", "Float16"),
                "engine_version": "10.130.2",
                "graph_hash": 77,
            },
        ),
        # Before there were feature bits the tensors began earlier; ids had no version.
        (
            mge_v1(graph_v1({0: POOLING}), tensors=b"12345", old=True),
            {"operators": (("PoolingForward", 1),)},
        ),
        # Test cases put a magic and their number in front of either format.
        *(
            (b"mgbtest0" + struct.pack("<I", 2) + model, {"operators": (("Concat", 1),)})
            for model in (mge_v1(graph_v1({0: type_id("Concat")})), mge_v2(model_v2({0: "Concat"})))
        ),
        # A minimum-size build dumps no names: then the id counts.
        (
            mge_v2(model_v2({1: type_id("ReduceV2")}, {0: "ReduceV2"}, {0: "Odd\x1b[31mV1"})),
            {"operators": (("Reduce", 2),), "unknown_operators": (("Odd\ufffd[31mV1", 1),)},
        ),
        # The mode is stored by number; 0 is left out as the default.
        (
            mge_v2(model_v2(*MODES)),
            {"elemwise_modes": ("RELU", "SIGN"), "operators": (("Elemwise", 3),)},
        ),
        (
            mge_v2(TYPES),
            {
                "dtypes": ("Float16", "Int32", "Int8"),
                "parameters": Parameters(tensors=1, size_bytes=3),
            },
        ),
        # An alias wins over the variable's name; without both an output is numbered.
        (
            mge_v2(NAMED),
            {
                "outputs": (
                    Variable(name="first", dtype="Int8", shape=(2, 5)),
                    Variable(name="alias", dtype="", shape=None),
                    unnamed(2),
                )
            },
        ),
        (mge_v2(model_v2(_4=[{0: u32(7), 1: u32(9)}])), {"outputs": (unnamed(0),)}),
        # Inputs are what is copied to the device; tensors' bytes lie in front of the graph.
        (
            mge_v1(INPUTS, tensors=b"123456"),
            {
                "inputs": (Variable(name="data", dtype="Float32", shape=(1, 3)),),
                "parameters": Parameters(tensors=1, size_bytes=6),
            },
        ),
        (
            mge_v2(model_v2(_3=[{1: Numbers("<I", (1,) * 64)}], _4=[{}])),
            {"outputs": (Variable(name="unnamed0", dtype="", shape=(1,) * 64),)},
        ),
    ],
    ids=[
        "type ids",
        "oldest header",
        "test cases",
        "test cases of the second",
        "no names",
        "modes",
        "data types",
        "outputs",
        "no variables",
        "inputs",
        "largest rank",
    ],
)
def test_facts_of_a_model(data: bytes, expected: dict[str, object]) -> None:
    facts = read(data)

    assert {name: getattr(facts, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("operators", "outputs", "names"),
    [
        # In the order of the variables.
        ([["a"], None, ["b"]], (5, 1), ["b", "a"]),
        # Where every operator has names.
        ([["a", "b"], ["c"]], (2, 0), ["c", "a"]),
        # Where the numbers do not fit the names, no name is made up.
        ([["a", "b"], None], (1,), ["unnamed0"]),
    ],
)
def test_outputs_of_the_first_format_have_names_of_operators(
    operators: list[list[str] | None], outputs: tuple[int, ...], names: list[str]
) -> None:
    tables = [{0: type_id("Split")} | ({5: each} if each else {}) for each in operators]

    facts = read(mge_v1(graph_v1(*tables, outputs=outputs)))

    assert [output.name for output in facts.outputs] == names


@pytest.mark.parametrize(
    ("data_type", "dtypes"),
    [
        (0, ("Byte",)),
        (1, ("Byte", "Float16")),
        (2, ("Byte", "Float32")),
        (3, ("Byte", "Float16")),
        (4, ("Byte", "QuantizedS32")),
        (5, ("Byte", "QuantizedS32")),
    ],
)
def test_reduction_may_change_the_data_type(data_type: int, dtypes: tuple[str, ...]) -> None:
    facts = read(mge_v2(model_v2({0: "ReduceV2", 3: u8(23), 4: {2: u32(data_type)}})))

    assert facts.dtypes == dtypes


def table(**fields: Any) -> bytes:
    return mge_v2(model_v2({int(key[1:]): value for key, value in fields.items()}))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "net.mge: not a .mge model: it begins with b''"),
        (b"\x7fELF" + bytes(60), "net.mge: not a .mge model: it begins with b'\\x7fELF"),
        (b"MGBC", "net.mge: truncated inside the header, after 4 bytes"),
        *(
            (head, "net.mge: truncated: 0 bytes are left for the graph, expected 4")
            for head in (b"MGBC" + bytes(20), b"MGBC" + bytes(12) + b"\xff" * 8 + bytes(40))
        ),
        (
            b"\xff\xff\0\0\0\0\0\0mgv2" + bytes(40),
            "net.mge: truncated: 52 bytes are left for the graph, expected 65539",
        ),
        (mge_v1({}).replace(b"mgb1", b"mgb7"), "net.mge: damaged at byte 32: identifier b'mgb7'"),
        (
            mge_v1(graph_v1({0: type_id("SharedDeviceTensor"), 7: [tensor_v1(size=7)]})),
            "tensors of 7 bytes, the file has 0",
        ),
        # No one names a variable in a hundred thousand letters.
        (mge_v1(graph_v1({0: type_id("Concat"), 5: ["x" * 65_537]})), "a string of 65537 bytes"),
        (table(_0="Concat", _10={0: u8(DTYPE_NONE)}), "data type 22, known are 0 to 21"),
        (
            table(_0="Elemwise", _3=u8(17), _4={0: u32(86)}),
            "elementwise mode 86, known are 0 to 85",
        ),
        (table(_0="Elemwise", _3=u8(9), _4={}), "an Elemwise with parameters of kind 9"),
        (table(_0="Elemwise"), "an Elemwise with parameters of kind 0"),
        (mge_v2(model_v2(_3=[{0: "v"}], _4=[{0: u32(1)}])), "output variable 1 of 1"),
        (mge_v2(model_v2(_3=[{1: Numbers("<I", (1,) * 65)}])), "a tensor of 65 dimensions"),
    ],
)
def test_files_that_are_no_whole_model(data: bytes, message: str) -> None:
    assert message in refused(data)


def test_other_formats_are_distinguished_from_damaged_models() -> None:
    """An encrypted model is no damaged one: its JSON can stand in for it."""
    with pytest.raises(UnknownFormat) as caught:
        read(b"packed_model" + bytes(100))
    assert "strip_info" in caught.value.hint
    assert all(is_mge(data) for data in BYTES)
    assert is_mge(b"mgbtest0" + bytes(4) + BYTES[0])
    assert is_mge(mge_v1({}, old=True))
    assert not any(is_mge(data) for data in (b"", b"MGBX" + bytes(40)))


@pytest.mark.parametrize(
    "operators",
    [
        [{0: type_id("Concat"), 5: Repeated("x" * 4000, 60_000)}],
        Repeated({0: type_id("Concat"), 5: ["name"]}, 400_000),
    ],
)
def test_work_is_bounded(operators: Any) -> None:
    data = mge_v1({**graph_v1(), 3: operators})
    began = time.monotonic()

    assert "the structure needs more work than any model" in refused(data)
    assert time.monotonic() - began < 120


@settings(max_examples=60)
@given(st.sampled_from(BYTES), st.floats(0, 1, exclude_max=True))
def test_cut_off_models_are_refused(data: bytes, part: float) -> None:
    assert refused(data[: int(len(data) * part)]).startswith("net.mge: ")
