from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.build_spec import Linkage
from megtrim.core.config.model import EngineConfig
from megtrim.core.keep.operators import strip_version
from megtrim.core.model_facts import ModelFacts, Variable
from megtrim.core.project import read_any_model
from megtrim.engines.ncnn import Ncnn, ParamReader, parse_param
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from unit.places.compile.projects.support import TOOLCHAIN

MODEL = """\
7767517
5 6
Input        data   0 1 data -23330=4,3,227,227,3 0=227 1=128 2=3
Convolution  conv1  1 1 data c 0=64 1=3 6=1728
Split        split  1 2 c c0 c1
Concat       concat 3 1 c0 c1 state cat
Softmax      prob   1 1 cat output 0=0 1="a text"
"""


def parse(text: str) -> ModelFacts:
    return parse_param(text.encode(), source="model.param")


def test_what_a_graph_says() -> None:
    facts = parse(MODEL.replace("5 6", "5 7"))

    assert dict(facts.operators) == dict.fromkeys(
        ("Concat", "Convolution", "Input", "Softmax", "Split"), 1
    )
    assert facts.inputs == (
        Variable(name="data", dtype="Float32", shape=(3, 128, 227)),
        Variable(name="state", dtype="Float32", shape=None),
    )
    assert [each.name for each in facts.outputs] == ["output"]
    assert facts.parameters is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("7767517", "7767516", "7767517"),
        ("5 7", "6 7", "found 5 layers, expected 6"),
        ("5 7", "5 6", "more blobs, expected 6"),
        ("5 7", "5", "two counts"),
        ("1 2 c c0 c1", "1 2 c c0", "3 names of blobs"),
        ('prob   1 1 cat output 0=0 1="a text"', "prob", "two counts"),
        ("Softmax", "Soft-max", "letters, digits and _"),
    ],
)
def test_a_damaged_graph(old: str, new: str, message: str) -> None:
    text = MODEL.replace("5 6", "5 7")
    assert old in text

    with pytest.raises(InputError, match=message) as caught:
        parse(text.replace(old, new))

    assert str(caught.value).startswith("model.param: ")


@pytest.mark.parametrize(
    ("settings", "shape"),
    [
        ("0=4", (4,)),
        ("0=4 1=5", (5, 4)),
        ("0=4 1=5 11=6 2=7", (7, 6, 5, 4)),
        ("0=0 1=5", None),
        ("0=-233 1=5", None),
        ("0=1e9", None),
        ("", None),
    ],
)
def test_the_shape_of_an_input(settings: str, shape: tuple[int, ...] | None) -> None:
    facts = parse(f"7767517\n1 1\nInput data 0 1 data {settings}\n")

    assert facts.inputs[0].shape == shape


def test_lines_behind_the_last_layer_are_not_read() -> None:
    """As ncnn itself: its nanodet_m.param has a line more than its count says."""
    text = "7767517\n1 1\nInput data 0 1 data\n"

    assert parse(f"{text}Noop n 0 0\n") == parse(text)


def test_the_digest_is_of_the_graph(tmp_path: Path) -> None:
    def digest(text: str) -> str | None:
        (tmp_path / "m.param").write_text(text, encoding="utf-8")
        return ParamReader().digest_model_graph(tmp_path / "m.param", "")

    text = MODEL.replace("5 6", "5 7")
    assert digest(text) == digest(text.replace("        ", " ").replace("\n", " \n"))
    assert digest(text) != digest(text.replace("0=64", "0=65"))


def test_its_layers_are_what_models_need(tmp_path: Path) -> None:
    for name, type_ in (("a", "ReLU"), ("b", "Sigmoid")):
        text = f"7767517\n2 2\nInput data 0 1 data\n{type_} x 1 1 data out\n"
        (tmp_path / f"{name}.param").write_text(text, encoding="utf-8")

    named = [(name, Path(f"{name}.param"), ()) for name in ("a", "b")]
    needs, warnings = ParamReader().gather_needs(named, folder=tmp_path)

    assert needs.operators == (("Input", ("a", "b")), ("ReLU", ("a",)), ("Sigmoid", ("b",)))
    assert (needs.hashes, warnings) == ((), ())


def test_any_model_is_read_by_who_knows_it(tmp_path: Path) -> None:
    file = tmp_path / "m.param"
    file.write_text(f"7767517\n9 9\n{MODEL}", encoding="utf-8")

    with pytest.raises(InputError, match="found 7 layers, expected 9"):
        read_any_model(file)


@pytest.mark.parametrize(
    ("word", "is_code"),
    [
        ("Convolution_layer_creator", True),
        ("Convolution_x86_layer_creator", True),
        ("Convolution_x86_avx512_layer_creator", True),
        ("ConvolutionDepthWise_layer_creator", False),
        ("Convolution1D_x86_layer_creator", False),
        ("Convolution", False),
    ],
)
def test_the_code_of_a_layer(word: str, *, is_code: bool) -> None:
    code = Ncnn.operator_code
    assert code is not None
    pattern = code.make_pattern(["Convolution"])

    assert bool(pattern.fullmatch(strip_version(word))) == is_code
    assert code.is_holder(["_ZN4ncnnL14layer_registryE"])
    assert code.is_holder(["_ZN4ncnnL18layer_registry_avxE"])


def open_project(folder: Path, **keys: Any) -> Ncnn:
    for name in ("CMakeLists.txt", "src/net.h", "include/x.h"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    project = Ncnn(folder, ProcessRunner({}))
    asked = {"kind": "ncnn", "target": "libncnn.a", **keys}
    project.choose(EngineConfig.model_validate(asked))
    return project


def test_its_library_and_headers(tmp_path: Path) -> None:
    project = open_project(tmp_path)

    assert project.library(Linkage.STATIC, TOOLCHAIN).include == ("src",)
    assert project.identity().kind == "ncnn"
    assert Ncnn.is_checkout(tmp_path)
    assert not Ncnn.is_checkout(tmp_path / "src")


LINES = st.lists(st.text(alphabet="Ia 01=,\n\t\x1b²", max_size=30), max_size=8)


@given(st.one_of(st.binary(max_size=200), LINES.map("\n".join).map(str.encode)))
def test_any_bytes_are_a_model_or_an_error_of_ours(data: bytes) -> None:
    for text in (data, b"7767517\n1 1\n" + data, b"7767517\n1 9\nInput x " + data):
        try:
            facts = parse_param(text, source="x")
        except InputError as error:
            assert str(error).startswith("x")
        else:
            assert facts.graph_sha256
