"""Models and inputs that the program would refuse after the builds: refused before them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from megtrim.build.engines import Engine
from megtrim.build.engines.megengine.engine import MegEngine
from megtrim.cli.session.model_checks import expect_runnable_models
from megtrim.config.load import LoadedConfig, load_config
from megtrim.util.errors import InputError
from megtrim.util.process import ProcessRunner
from unit.build.engines.megengine_trees import NEWEST, OLDEST
from unit.build.engines.support import write
from unit.cli.support import MODELS, SAMPLE_MODEL

CONFIG = """\
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
    np.save(folder / "good.npy", np.ones((1, 3, 64, 64), "<f4"))
    (folder / "engine").mkdir(exist_ok=True)
    text = CONFIG.format(model=model, scenario=scenario, more=more)
    (folder / "megtrim.yaml").write_text(text, encoding="utf-8")
    return load_config(folder / "megtrim.yaml")


def reason(loaded: LoadedConfig, engine: Engine) -> str:
    """Return why the models are refused, without the place of the file."""
    with pytest.raises(InputError) as caught:
        expect_runnable_models(loaded, engine)
    return caught.value.message.replace(f"{loaded.folder}/", "")


def test_an_input_that_fits_passes(newest: MegEngine, tmp_path: Path) -> None:
    """Name, type and shape are the model's."""
    loaded = configured(tmp_path, "inputs: {'h2d[0]': good.npy}")

    assert expect_runnable_models(loaded, newest) == ()


def test_a_wrong_name_is_refused_with_those_that_there_are(
    newest: MegEngine, tmp_path: Path
) -> None:
    """With its line, and the one that was meant."""
    loaded = configured(tmp_path, "inputs: {'h2d[1]': good.npy}")

    assert reason(loaded, newest) == (
        "megtrim.yaml:8: models[0].scenarios[0].inputs.h2d[1]: found an input that "
        f"resnet18-s.mge does not have, expected one of its inputs: {TAKES} (did you mean h2d[0]?)"
    )


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.ones((1, 3, 64, 64)), "float64 (1, 3, 64, 64)"),
        (np.ones((1, 3, 32, 32), "<f4"), "float32 (1, 3, 32, 32)"),
        (np.ones((3, 64, 64), "<f4"), "float32 (3, 64, 64)"),
        (np.ones((1, 3, 64, 64), "<f4", order="F"), "float32 (1, 3, 64, 64), by columns"),
    ],
)
def test_a_wrong_type_or_shape_is_refused(
    newest: MegEngine, tmp_path: Path, array: object, found: str
) -> None:
    """With what the model takes."""
    loaded = configured(tmp_path, "inputs: {'h2d[0]': good.npy}")
    np.save(tmp_path / "good.npy", np.asarray(array))

    assert reason(loaded, newest) == (
        f"megtrim.yaml:8: models[0].scenarios[0].inputs.h2d[0]: found good.npy with {found}, "
        f"expected {TAKES}, as resnet18-s.mge takes it"
    )


def test_other_sizes_pass_where_they_are_meant(newest: MegEngine, tmp_path: Path) -> None:
    """Only whoever dumped a model knows whether it takes them."""
    loaded = configured(tmp_path, "dynamic_shape: true\n    inputs: {'h2d[0]': good.npy}")
    np.save(tmp_path / "good.npy", np.ones((2, 3, 32, 32), "<f4"))

    assert expect_runnable_models(loaded, newest) == ()


def test_a_file_that_is_cut_off_is_refused(newest: MegEngine, tmp_path: Path) -> None:
    """Its header alone is right."""
    loaded = configured(tmp_path, "inputs: {'h2d[0]': good.npy}")
    data = (tmp_path / "good.npy").read_bytes()
    (tmp_path / "good.npy").write_bytes(data[:-1])

    assert "good.npy: not an intact .npy file: its shape does not fit" in reason(loaded, newest)


def test_a_file_of_another_kind_is_refused(newest: MegEngine, tmp_path: Path) -> None:
    """The program reads its kind from the end of its name."""
    (tmp_path / "cat.jpg").write_bytes(b"\xff\xd8")
    loaded = configured(tmp_path, "inputs: {'h2d[0]': cat.jpg}")

    ends = "a file whose name ends in .json, .npy, .pgm or .ppm"
    assert reason(loaded, newest).endswith(f"found cat.jpg, expected {ends}")


def test_a_scenario_without_inputs_is_warned_of(newest: MegEngine, tmp_path: Path) -> None:
    """Its output may be constant; up to 1.6 it would not even run."""
    loaded = configured(tmp_path, "args: [--cpu]")

    (warning,) = expect_runnable_models(loaded, newest)
    assert warning == (
        f"{tmp_path}/megtrim.yaml:7: r/s: no file for the input {TAKES}: the output may be "
        "constant, which proves nothing"
    )


def test_mistakes_are_shown_in_the_files_that_they_are_in(
    newest: MegEngine, tmp_path: Path
) -> None:
    """As `megtrim init` writes them: a file for each model and scenario."""
    configured(tmp_path, "inputs: {'h2d[0]': good.npy}")
    starts = (tmp_path / "megtrim.yaml").read_text("utf-8").partition("models:")[0]
    model = "name: r\nfile: resnet18-s.mge\nscenarios: models/r/*.yaml\n"
    texts = {
        "megtrim.yaml": f"{starts}models: models/*.yaml\n",
        "models/r.yaml": model,
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


def test_the_oldest_generation_needs_all_inputs(oldest: MegEngine, tmp_path: Path) -> None:
    """Its program ends without them, after three builds."""
    loaded = configured(tmp_path, "args: [--cpu]")

    expected = f"{TAKES}: this engine runs the model only with its inputs"
    assert reason(loaded, oldest).endswith(f"found no file for an input, expected {expected}")


def test_a_format_that_the_engine_does_not_read_is_refused(
    newest: MegEngine, oldest: MegEngine, tmp_path: Path
) -> None:
    """The second format came with 1.10; models of the sample engine are another engine's."""
    loaded = configured(tmp_path, "inputs: {'h2d[0]': good.npy}", model="resnet18-s.v2.mge")
    assert expect_runnable_models(loaded, newest) == ()
    assert reason(loaded, oldest).endswith(
        "models[0].file: found resnet18-s.v2.mge, a model of the format mge v2, expected one that "
        "this engine reads: mge v1"
    )
    (tmp_path / "m.sample").write_bytes(SAMPLE_MODEL)
    loaded = configured(tmp_path, "args: [--cpu]", model="m.sample")
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
    """And refused, where no operator JSON says that only the engine can read it."""
    (tmp_path / "m.bin").write_bytes(data)
    loaded = configured(tmp_path, "args: [--cpu]", model="m.bin")

    assert f"not a .mge model: it is {found}" in reason(loaded, newest)


def test_what_only_the_engine_can_read_passes(newest: MegEngine, tmp_path: Path) -> None:
    """Encrypted, with its operator JSON; or any, where no regions are trimmed."""
    (tmp_path / "m.bin").write_bytes(b"\0encrypted")
    plain = "trim: {level: function, base: plain}\n"
    loaded = configured(tmp_path, "inputs: {x: good.npy}", model="m.bin", more=plain)

    assert expect_runnable_models(loaded, newest) == ()


def test_an_application_reads_its_inputs_itself(newest: MegEngine, tmp_path: Path) -> None:
    """Their names are its own."""
    scenario = "application: own\n    args: ['{model}', '{input:x}']\n    inputs: {x: good.npy}"
    loaded = configured(tmp_path, scenario, more="applications: [{name: own}]\n")

    assert expect_runnable_models(loaded, newest) == ()
