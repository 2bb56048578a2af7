import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.keep.operators import OperatorNeeds, select_needs, strip_version, unite_needs
from megtrim.engines.models.operators import (
    KNOWN_DTYPES,
    OperatorInfo,
    check_covers,
    merge,
    parse_operator_json,
)
from megtrim.libs.util.errors import InputError

STRIP_INFO = Path(__file__).parents[3] / "data" / "strip-info"


def info(
    *,
    graph_hash: int | None = 0,
    dtypes: tuple[str, ...] = (),
    operators: tuple[str, ...] = (),
    modes: tuple[str, ...] = (),
) -> OperatorInfo:
    return OperatorInfo(hash=graph_hash, dtypes=dtypes, opr_types=operators, elemwise_modes=modes)


def text_of(**changes: object) -> str:
    content = {"hash": 1, "dtypes": ["Float32"], "opr_types": ["Concat"], "elemwise_modes": []}
    return json.dumps({**content, **changes})


def refused(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    with pytest.raises(InputError) as caught:
        parse_operator_json(data, source="net.json")
    assert caught.value.hint
    return caught.value.message


def test_recorded_json_is_read_whole() -> None:
    path = STRIP_INFO / "resnet18-s.mge.json"

    (found,) = parse_operator_json(path.read_bytes(), source=path.name)

    assert found == OperatorInfo(
        hash=10078361748651523472,
        dtypes=("Byte", "Float32", "Int32"),
        opr_types=(
            "ConvBiasForward",
            "Elemwise",
            "Host2DeviceCopy",
            "ImmutableTensor",
            "MatrixMul",
            "PoolingForward",
            "Reshape",
            "SharedDeviceTensor",
        ),
        elemwise_modes=("ADD", "FUSE_ADD_RELU"),
    )


CONCAT = OperatorInfo(hash=1, dtypes=("Float32",), opr_types=("Concat",), elemwise_modes=())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Names are sorted and unique.
        (
            text_of(opr_types=["Split", "Concat", "Split"]),
            (replace(CONCAT, opr_types=("Concat", "Split")),),
        ),
        # A list of objects and objects in a row both count, in order.
        *(
            (
                together.format(text_of(hash=5), text_of(hash=6)),
                (replace(CONCAT, hash=5), replace(CONCAT, hash=6)),
            )
            for together in ("[{0}, {1}]", "{0}{1}", "{0}\n\n{1}\n", " {0} [{1}]")
        ),
        ('{"dtypes": [], "opr_types": [], "elemwise_modes": []}', (info(graph_hash=None),)),
        (text_of(hash=2**64 - 1), (replace(CONCAT, hash=2**64 - 1),)),
    ],
)
def test_what_a_file_says(text: str, expected: tuple[OperatorInfo, ...]) -> None:
    assert tuple(parse_operator_json(text.encode(), source="net.json")) == expected


@pytest.mark.parametrize("value", [-1, 2**64, 1.5, "1", True, None])
def test_hash_of_another_kind_is_refused(value: object) -> None:
    wanted = f"an integer from 0 to {2**64 - 1}"
    assert refused(text_of(hash=value)) == f"net.json:1: hash must be {wanted}"


def test_message_names_the_line_of_the_key() -> None:
    wrong = json.dumps(json.loads(text_of(opr_types=7)), indent=1)
    line = 3 + wrong.split("\n").index(' "opr_types": 7,')

    assert refused(f"{text_of()}\n\n{wrong}") == (
        f"net.json:{line}: opr_types must be a list of names, found a number"
    )


@pytest.mark.parametrize(
    "name",
    ["", "a b", "1x", "a;b", "std::x", "é", "x\n", "int", "class", "a-b", "x" * 201, "#define"],
)
@pytest.mark.parametrize("key", ["dtypes", "opr_types", "elemwise_modes"])
def test_names_that_are_no_identifiers_are_refused(name: str, key: str) -> None:
    """Names end up in compiled code, so nothing but an identifier passes."""
    message = refused(text_of(**{key: ["Float32", name]}))

    assert message == f"net.json:1: {key} contains {name[:80]!r}, expected a C++ identifier"


LARGE = 16 * 1024 * 1024


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "net.json:1: contains no operator information"),
        (" \n ", "net.json:1: contains no operator information"),
        ("[]", "net.json:1: contains no operator information"),
        ("\n{", "net.json:2: not JSON: Expecting property name enclosed in double quotes"),
        ("3", "net.json:1: expected an object, found a number"),
        ("null", "net.json:1: expected an object, found null"),
        ('["x"]', "net.json:1: expected an object, found text"),
        ("[[]]", "net.json:1: expected an object, found a list"),
        ("true", "net.json:1: expected an object, found true or false"),
        (text_of(dtypes={}), "net.json:1: dtypes must be a list of names, found an object"),
        (text_of(dtypes=[None]), "net.json:1: dtypes contains null, expected names"),
        (
            text_of(extra=1),
            "net.json:1: unknown key 'extra', expected hash, dtypes, opr_types, elemwise_modes",
        ),
        ('{"hash": 1, "hash": 2}', "net.json:1: not usable as JSON: the same key occurs twice"),
        ('{"hash": NaN}', "net.json:1: not usable as JSON: NaN is not a JSON number"),
        ('{"hash": 1}', "net.json:1: the key 'dtypes' is missing"),
        ('{"hash": ' + "9" * 5000 + "}", "net.json:1: not usable as JSON: Exceeds the limit"),
        ("[" * 100_000, "net.json:1: not usable as JSON: maximum recursion depth exceeded"),
        # A data type that no engine has is a mistake that would keep the wrong code.
        (
            text_of(dtypes=["Float23"]),
            f"net.json:1: unknown data type 'Float23', known are {', '.join(KNOWN_DTYPES)}",
        ),
        (b"{\n\xff", "net.json:2: found the byte 0xff, which is not UTF-8"),
        ("[" + ",".join([text_of()] * 4097) + "]", "net.json:1: more than 4096 objects"),
    ],
    ids=range(20),
)
def test_other_shapes_are_refused(text: str | bytes, message: str) -> None:
    assert refused(text).startswith(message)


def test_nothing_is_decoded_before_its_size_is_known() -> None:
    message = refused(b" " * (LARGE + 1))
    assert message == f"net.json: found {LARGE + 1:,} bytes, expected at most {LARGE:,}"


def test_limits_themselves_still_pass() -> None:
    many = ",".join([text_of()] * 4096)
    large = text_of().encode().ljust(LARGE)

    assert len(parse_operator_json(f"[{many}]".encode(), source="net.json")) == 4096
    assert len(parse_operator_json(large, source="net.json")) == 1


KEYS = st.sampled_from(["hash", "dtypes", "opr_types", "elemwise_modes", "x"])
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_any_json_is_read_or_refused(value: object) -> None:
    try:
        found = parse_operator_json(json.dumps(value).encode(), source="net.json")
    except InputError as error:
        assert error.message.startswith("net.json:")
    else:
        assert found


@pytest.mark.parametrize(
    ("name", "stripped"),
    [("MatrixMulV2", "MatrixMul"), ("ConvV12", "Conv"), ("V2X", "V2X"), ("NvOf", "NvOf")],
)
def test_version_suffix(name: str, stripped: str) -> None:
    assert strip_version(name) == stripped


def test_merge_names_who_needs_what() -> None:
    """Everything that one model needs is needed; versions of a name are one operator."""
    types = ("Float32", "Int8")
    both = info(graph_hash=3, dtypes=types, operators=("MatrixMul", "Concat"), modes=("ADD",))
    other = info(graph_hash=9, dtypes=("Float32",), operators=("MatrixMulV2",))
    needs = merge([("b", other), ("a", both), ("a", info(graph_hash=3, operators=("Concat",)))])

    assert needs == OperatorNeeds(
        hashes=((3, ("a",)), (9, ("b",))),
        dtypes=(("Float32", ("a", "b")), ("Int8", ("a",))),
        operators=(("Concat", ("a",)), ("MatrixMul", ("a", "b"))),
        elemwise_modes=(("ADD", ("a",)),),
    )


@pytest.mark.parametrize(
    ("dumps", "checked"),
    [
        # A dump of the second format reports 0, which is a hash like any other.
        ([("a", 0)], (0,)),
        # The engine would warn of a model without one otherwise: no hash is checked then.
        ([("a", 4), ("b", None)], ()),
        ([("a", 4), ("a", None)], ()),
    ],
)
def test_hashes_are_checked_where_every_dump_has_one(
    dumps: list[tuple[str, int | None]], checked: tuple[int, ...]
) -> None:
    needs = merge([(model, info(graph_hash=found, dtypes=("Int8",))) for model, found in dumps])

    assert needs.checked_hashes == checked
    if len({model for model, _ in dumps}) == 2:
        assert select_needs(needs, "a").checked_hashes == (4,)


def test_needs_of_single_models_unite_to_those_of_all() -> None:
    """So each model's can be kept in a file of its own."""
    first = ("a", info(graph_hash=4, dtypes=("Int8",), operators=("Concat", "Split")))
    second = ("b", info(graph_hash=4, dtypes=("Int8", "Float32"), modes=("ADD",)))
    needs = merge([first, second, ("c", info(graph_hash=None, operators=("Split",)))])
    parts = [select_needs(needs, model) for model in "cab"]

    assert parts[1] == merge([first])
    assert unite_needs(parts) == needs
    nothing = OperatorNeeds(hashes=(), dtypes=(), operators=(), elemwise_modes=())
    assert unite_needs([]) == merge([]) == nothing


def test_json_that_covers_its_model_passes() -> None:
    declared = info(dtypes=("Byte", "Float32"), operators=("MatrixMulV2", "Split"), modes=("ADD",))
    actual = info(dtypes=("Float32",), operators=("MatrixMul",), modes=("ADD",))

    assert check_covers(declared, actual, model="net.mge", source="net.json") == ()


@pytest.mark.parametrize(
    ("actual", "lacking"),
    [
        (info(operators=("Split", "Concat")), "operators Concat, Split"),
        (info(dtypes=("Float16",)), "data types Float16"),
        (info(modes=("MUL",)), "elementwise modes MUL"),
        (
            info(operators=("Concat",), dtypes=("Int8",), modes=("MUL",)),
            "operators Concat; data types Int8; elementwise modes MUL",
        ),
    ],
)
def test_json_without_something_is_refused(actual: OperatorInfo, lacking: str) -> None:
    """The reduced build would lack it too, so all of it is named."""
    declared = info(operators=("Elemwise",), dtypes=("Float32",), modes=("ADD",))

    with pytest.raises(InputError) as caught:
        check_covers(declared, actual, model="net.mge", source="net.json")

    said = "net.json:1: does not list what the model net.mge contains"
    assert caught.value.message == f"{said}: {lacking}"


@pytest.mark.parametrize(
    ("declared", "actual", "warns"),
    [
        (4, 5, True),
        (4, 4, False),
        # 0 stands for no hash in dumps of the second format.
        (0, 5, False),
        (None, 5, False),
        (4, 0, False),
        (4, None, False),
    ],
)
def test_another_hash_is_a_warning(declared: int | None, actual: int | None, warns: bool) -> None:
    warning = (
        "net.json: graph hash 4 is not that of net.mge (5); "
        "all operators are covered, so this does no harm by itself"
    )
    first = info(graph_hash=declared)
    second = info(graph_hash=actual)
    found = check_covers(first, second, model="net.mge", source="net.json")

    assert found == ((warning,) if warns else ())
