"""What the configuration asks of the engine, refused before a build where the tree misses it."""

import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

from megtrim.core.cli.session.preflight import (
    expect_known_folders,
    expect_known_options,
    expect_runnable_models,
    expect_usable_files,
    list_named_files,
)
from megtrim.core.config.load import LoadedConfig, load_config
from megtrim.core.project import Project
from megtrim.engines.megengine.engine import MegEngine
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects.checkout import Checkout, take
from unit.core.cli.support import MODELS, SAMPLE_MODEL
from unit.places.compile.projects.support import NEWEST, OLDEST, write

OPTIONS = """\
version: 1
engine:
  kind: megengine
  source: engine
  cmake:
    CMAKE_CXX_FLAGS: -g0
    {option}
models: [{{name: m, file: m.mge, scenarios: [{{name: s, args: [{args}]}}]}}]
"""
OWN_FLAG = {"lite/load_and_run/src/own.cpp": 'DEFINE_bool(cpu, 0, "");DEFINE_bool(our_own, 0, "")'}


FORK = NEWEST | OWN_FLAG
TEST = "MGE_WITH_TEST: false"


@pytest.mark.parametrize(
    ("tree", "option", "args", "expected"),
    [
        (NEWEST, TEST, "--fuse-grain", ""),
        (FORK, TEST, "--cpu, --our-own", ""),
        (OLDEST, "MGE_WITH_MINIMUM_SIZE: true", "--cpu", "the key trim.minimum_size in its place"),
        (OLDEST, "MGE_BIN_REDUCE: x.h", "--cpu", "no such key: megtrim passes the header that it"),
        (OLDEST, "CMAKE_PROJECT_MegEngine_INCLUDE: x", "--cpu", "CMAKE_PROJECT_INCLUDE, which meg"),
        (OLDEST, TEST, "--fuse-grain", "8: m/s@any: the flag --fuse-grain is unknown to this engi"),
        (FORK, TEST, "--fitting", "8: m/s@any: the flag --fitting is unknown to this engine"),
    ],
)
def test_options_and_flags_are_those_of_the_tree(
    processes: ProcessRunner,
    tmp_path: Path,
    tree: dict[str, str],
    option: str,
    args: str,
    expected: str,
) -> None:
    """Flags are those of its program, a fork's own among them; other options CMake judges.

    What distinguishes the variants is megtrim's, although the tree has it.
    """
    engine = MegEngine(write(tmp_path / "engine", tree), processes)
    write(tmp_path, {"megtrim.yaml": OPTIONS.format(option=option, args=args), "m.mge": "model"})
    loaded = load_config(tmp_path / "megtrim.yaml")
    if not expected:
        expect_known_options(loaded, engine)
        return
    with pytest.raises(InputError) as caught:
        expect_known_options(loaded, engine)

    name = option.partition(":")[0]
    if option != TEST:
        expected = f"7: engine.cmake.{name}: found an option that megtrim sets, expected {expected}"
    assert caught.value.message.startswith(f"{tmp_path}/megtrim.yaml:{expected}")


KEEPING = """\
version: 1
engine: {{kind: megengine, source: engine}}
trim:
  level: function
  keep: [{keep}]
models:
  - name: m
    file: m.mge
    also: [n.mge]
    scenarios: [{{name: s}}]
"""


def keeping(folder: Path, *keep: str, models: tuple[bytes, bytes] = (b"x", b"x")) -> LoadedConfig:
    for name, data in zip(("m.mge", "n.mge"), models, strict=True):
        (folder / name).write_bytes(data)
    (folder / "engine").mkdir(exist_ok=True)
    lines = ",\n    ".join(f'"{each}"' for each in keep)
    (folder / "megtrim.yaml").write_text(KEEPING.format(keep=lines), encoding="utf-8")
    return load_config(folder / "megtrim.yaml")


def tree(processes: ProcessRunner, root: Path) -> Checkout:
    files = {
        "src/base/log.cpp": "",
        "CMakeLists.txt": "add_subdirectory(third_party/dnn ${CMAKE_BINARY_DIR}/mkl-dnn)",
        "third_party/dnn/a.cpp": "",
    }
    return take(write(root, files), processes)


@pytest.mark.parametrize(
    "pattern",
    [
        "src/base/",
        "./src/base/",
        "base/",
        "src/",
        "third_party/dnn/",
        "mkl-dnn/",
        "/usr/lib/",
        "my::log::*",
        "my::operator/",
        "base",
    ],
)
def test_what_a_build_may_have_is_not_refused(
    processes: ProcessRunner, tmp_path: Path, pattern: str
) -> None:
    expect_known_folders(keeping(tmp_path, pattern), [tree(processes, tmp_path / "engine")])


def test_folders_that_no_tree_has_are_refused_together(
    processes: ProcessRunner, tmp_path: Path
) -> None:
    loaded = keeping(tmp_path, "src/bse/", "src/base", "my::*", "apps/main/", "src/mkl/")
    trees = [
        tree(processes, tmp_path / "engine"),
        take(write(tmp_path / "app", {"apps/main/main.cpp": ""}), processes),
    ]

    with pytest.raises(InputError) as caught:
        expect_known_folders(loaded, trees)

    reported = [
        (5, 0, "'src/bse/', no such folder", "src/base/"),
        (6, 1, "'src/base', no name of a function", "src/base/"),
        (9, 4, "'src/mkl/', no such folder", "src/"),
    ]
    assert caught.value.message.splitlines() == [
        f"{tmp_path}/megtrim.yaml:{line}: trim.keep[{at}]: found {found}, "
        f"expected a folder of the source, with / at its end (did you mean {meant}?)"
        for line, at, found, meant in reported
    ]
    assert caught.value.hint == "the path of a folder outside of the source begins with /"


def test_empty_and_cut_models_are_refused_together(tmp_path: Path) -> None:
    cut = struct.pack("<I", 1000) + b"\0\0\0\0mgv2" + bytes(20)

    with pytest.raises(InputError) as caught:
        expect_usable_files(keeping(tmp_path, "x", models=(b"", cut)))

    file = f"{tmp_path}/megtrim.yaml"
    assert caught.value.message.splitlines() == [
        f"{file}:8: m.mge: empty, expected a model",
        f"{file}:9: n.mge: truncated: it has 32 bytes, expected at least 1004",
    ]
    assert caught.value.hint == "fetch or dump the model again"


def test_files_may_be_links_to_shared_ones_and_of_formats_of_their_own(tmp_path: Path) -> None:
    loaded = keeping(tmp_path, "x", models=(b"packed", b"M"))
    expect_usable_files(loaded)
    (tmp_path / "n.mge").rename(tmp_path / "shared.mge")
    (tmp_path / "n.mge").symlink_to("shared.mge")

    assert list_named_files(loaded) == tuple(tmp_path / name for name in ("m.mge", "shared.mge"))


INPUTS = """\
version: 1
engine: {{kind: megengine, source: engine}}
{more}models:
- name: r
  file: {model}
  scenarios:
  - name: s
    {scenario}
"""
TAKES = "h2d[0] Float32 (1, 3, 64, 64)"
GIVEN = "inputs: {'h2d[0]': good.npy}"
BARE = "args: [--cpu]"
RIGHT = np.ones((1, 3, 64, 64), "<f4")


@pytest.fixture
def newest(processes: ProcessRunner, tmp_path: Path) -> MegEngine:
    return MegEngine(write(tmp_path / "engine", NEWEST), processes)


@pytest.fixture
def oldest(processes: ProcessRunner, tmp_path: Path) -> MegEngine:
    return MegEngine(write(tmp_path / "old", OLDEST), processes)


def configured(
    folder: Path, scenario: str, *, model: str = "resnet18-s.mge", more: str = ""
) -> LoadedConfig:
    """Return a configuration with one scenario of a recorded model, and an input that fits."""
    if (MODELS / model).is_file():
        shutil.copy(MODELS / model, folder)
    np.save(folder / "good.npy", RIGHT)
    (folder / "engine").mkdir(exist_ok=True)
    text = INPUTS.format(model=model, scenario=scenario, more=more)
    (folder / "megtrim.yaml").write_text(text, encoding="utf-8")
    return load_config(folder / "megtrim.yaml")


def reason(loaded: LoadedConfig, engine: Project) -> str:
    with pytest.raises(InputError) as caught:
        expect_runnable_models(loaded, engine)
    return caught.value.message.replace(f"{loaded.folder}/", "")


SIZED = f"dynamic_shape: true\n    {GIVEN}"
PLAIN = "trim: {level: function, base: plain}\n"
APPLICATION = "application: own\n    args: ['{model}', '{input:x}']\n    inputs: {x: good.npy}"
OWN = "applications: [{name: own}]\n"


@pytest.mark.parametrize(
    ("scenario", "model", "more", "array"),
    [
        (GIVEN, "resnet18-s.mge", "", RIGHT),
        (GIVEN, "resnet18-s.v2.mge", "", RIGHT),
        (SIZED, "resnet18-s.mge", "", np.ones((2, 3, 32, 32), "<f4")),
        ("inputs: {x: good.npy}", "m.bin", PLAIN, RIGHT),
        (APPLICATION, "resnet18-s.mge", OWN, RIGHT),
    ],
    ids=["fits", "second format", "other sizes", "encrypted", "application"],
)
def test_inputs_that_a_run_can_use_pass(
    newest: MegEngine, tmp_path: Path, scenario: str, model: str, more: str, array: object
) -> None:
    (tmp_path / "m.bin").write_bytes(b"\0encrypted")
    loaded = configured(tmp_path, scenario, model=model, more=more)
    np.save(tmp_path / "good.npy", np.asarray(array))

    assert expect_runnable_models(loaded, newest) == ()


HAS = f"an input that resnet18-s.mge does not have, expected one of its inputs: {TAKES} (did you"
KINDS = (
    "cat.jpg, expected a file whose name ends in .json, .npy, .pgm or .ppm; to convert it: "
    "python3 -c 'import sys, numpy as np; from PIL import Image; "
    """image = Image.open(sys.argv[1]).convert('"'"'RGB'"'"').resize((64, 64)); """
    "np.save(sys.argv[2], np.asarray(image, np.float32).transpose(2, 0, 1)[None])' "
    "cat.jpg cat.npy"
)
FITS = f", expected {TAKES}, as resnet18-s.mge takes it"


@pytest.mark.parametrize(
    ("name", "file", "array", "found"),
    [
        ("h2d[1]", "good.npy", RIGHT, f"{HAS} mean h2d[0]?)"),
        ("h2d[0]", "cat.jpg", RIGHT, KINDS),
        ("h2d[0]", "good.npy", RIGHT.astype("<f8"), f"good.npy with float64 (1, 3, 64, 64){FITS}"),
        ("h2d[0]", "good.npy", RIGHT[:, :, :9], f"good.npy with float32 (1, 3, 9, 64){FITS}"),
        ("h2d[0]", "good.npy", RIGHT[0], f"good.npy with float32 (3, 64, 64){FITS}"),
        (
            "h2d[0]",
            "good.npy",
            np.asfortranarray(RIGHT),
            f"good.npy with float32 (1, 3, 64, 64), by columns{FITS}",
        ),
    ],
    ids=["name", "kind", "type", "size", "dimensions", "order"],
)
def test_an_input_that_does_not_fit_is_refused(
    newest: MegEngine, tmp_path: Path, name: str, file: str, array: object, found: str
) -> None:
    (tmp_path / "cat.jpg").write_bytes(b"\xff\xd8")
    loaded = configured(tmp_path, f"inputs: {{'{name}': {file}}}")
    np.save(tmp_path / "good.npy", np.asarray(array))

    key = f"models[0].scenarios[0].inputs.{name}"
    assert reason(loaded, newest) == f"megtrim.yaml:8: {key}: found {found}"


def test_a_file_that_is_cut_off_is_refused(newest: MegEngine, tmp_path: Path) -> None:
    loaded = configured(tmp_path, GIVEN)
    (tmp_path / "good.npy").write_bytes((tmp_path / "good.npy").read_bytes()[:-1])

    assert "good.npy: not an intact .npy file: its shape does not fit" in reason(loaded, newest)


def test_a_scenario_without_inputs(newest: MegEngine, oldest: MegEngine, tmp_path: Path) -> None:
    """Its output may be constant; the oldest program would end without them, after three builds."""
    loaded = configured(tmp_path, BARE)

    (warning,) = expect_runnable_models(loaded, newest)
    assert warning == (
        f"{tmp_path}/megtrim.yaml:7: r/s: no file for the input {TAKES}: the output may be "
        "constant, which proves nothing"
    )
    assert reason(loaded, oldest).endswith(
        f"found no file for an input, expected {TAKES}: this engine runs the model only with its "
        "inputs"
    )


def test_mistakes_are_shown_in_the_files_that_they_are_in(
    newest: MegEngine, tmp_path: Path
) -> None:
    configured(tmp_path, GIVEN)
    starts = (tmp_path / "megtrim.yaml").read_text("utf-8").partition("models:")[0]
    texts = {
        "megtrim.yaml": f"{starts}models: models/*.yaml\n",
        "models/r.yaml": "name: r\nfile: resnet18-s.mge\nscenarios: models/r/*.yaml\n",
        "models/r/bare.yaml": "name: bare\n",
        "models/r/wrong.yaml": "name: wrong\ninputs:\n  x: good.npy\n",
    }
    (tmp_path / "models/r").mkdir(parents=True)
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    found = reason(load_config(tmp_path / "megtrim.yaml"), newest)
    assert found.startswith("models/r/wrong.yaml:3: models[0].scenarios[1].inputs.x: found an ")
    (tmp_path / "models/r/wrong.yaml").unlink()
    (warning,) = expect_runnable_models(load_config(tmp_path / "megtrim.yaml"), newest)
    assert warning.startswith(f"{tmp_path}/models/r/bare.yaml:1: r/bare: no file for the input")


def test_a_format_that_the_engine_does_not_read_is_refused(
    newest: MegEngine, oldest: MegEngine, tmp_path: Path
) -> None:
    """The second format came with 1.10; models of the sample engine are another engine's."""
    loaded = configured(tmp_path, GIVEN, model="resnet18-s.v2.mge")
    assert reason(loaded, oldest).endswith(
        "models[0].file: found resnet18-s.v2.mge, a model of the format mge v2, expected one that "
        "this engine reads: mge v1"
    )
    (tmp_path / "m.sample").write_bytes(SAMPLE_MODEL)
    loaded = configured(tmp_path, BARE, model="m.sample")
    assert reason(loaded, newest).endswith("this engine reads: mge v1 or mge v2")


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"\x08\x07\x12\x07pytorch", "an ONNX model"),
        (b"\x1c\0\0\0TFL3", "a TensorFlow Lite model"),
        (b"PK\x03\x04archive/data.pkl", "a zip archive, such as PyTorch saves"),
        (b"\x80\x04\x95", "a Python pickle, such as megengine.save writes"),
    ],
)
def test_a_model_of_another_framework_is_called_by_its_name(
    newest: MegEngine, tmp_path: Path, data: bytes, found: str
) -> None:
    (tmp_path / "m.bin").write_bytes(data)
    loaded = configured(tmp_path, BARE, model="m.bin")

    assert f"not a .mge model: it is {found}" in reason(loaded, newest)
