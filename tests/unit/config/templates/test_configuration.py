"""The starter configuration: it loads as it is, and so does all that it shows commented out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from megtrim.config.load import LoadedConfig, load_config
from megtrim.config.templates.configuration import StarterModel, model_files, starter
from megtrim.config.yaml.document import parse_document
from megtrim.util.errors import InputError

SOURCES = {"megengine": "third_party/MegEngine", "sample": ""}
MODEL = StarterModel(file="m.mge", strip_info="m.json", inputs=(("h2d[0]", "in put.npy"),))


def _texts(kind: Literal["megengine", "sample"], toolchain: str = "auto") -> dict[str, str]:
    """Return the text of each file by its path."""
    main = starter(kind, source=SOURCES[kind], toolchain=toolchain)
    return {"megtrim.yaml": main, **model_files([MODEL])}


def _load(folder: Path, texts: dict[str, str]) -> LoadedConfig:
    for name in ("m.mge", "m.json", "in put.npy", "other.mge"):
        (folder / name).touch()
    (folder / "third_party/MegEngine").mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return load_config(folder / "megtrim.yaml")


@pytest.mark.parametrize("kind", ["megengine", "sample"])
def test_the_starter_loads_as_it_is(tmp_path: Path, kind: Literal["megengine", "sample"]) -> None:
    """Filled with what was given."""
    config = _load(tmp_path, _texts(kind, "host")).config
    scenario = config.models[0].scenarios[0]

    assert config.engine.kind == kind
    assert (
        config.engine.source == {"sample": None, "megengine": Path("third_party/MegEngine")}[kind]
    )
    assert config.toolchain.kind == "host"
    assert config.models[0].name == "m"
    assert config.models[0].strip_info == (Path("m.json"),)
    assert (scenario.name, scenario.args) == ("default", ("--cpu",))
    assert scenario.inputs == {"h2d[0]": Path("in put.npy")}


@pytest.mark.parametrize("kind", ["megengine", "sample"])
def test_all_that_it_shows_commented_out_loads_too(
    tmp_path: Path, kind: Literal["megengine", "sample"]
) -> None:
    """An example that does not work teaches the wrong thing."""
    texts = _texts(kind)
    uncommented = {
        name: re.sub(r"^( *)#(?=[^ \n])", r"\1", text, flags=re.MULTILINE)
        for name, text in texts.items()
    }
    config = _load(tmp_path, uncommented).config

    assert "".join(uncommented.values()).count("#") < "".join(texts.values()).count("#") - 10
    assert config.toolchain.jobs == 4
    assert config.models[0].scenarios[0].fast_run
    assert config.devices[0].name == "here"
    assert config.waivers[0].owner == "you"
    assert config.verify.max_age_s == 14 * 86_400


def test_models_get_names_of_their_own() -> None:
    """From the file's name, made fit and unique."""
    files = ["m.mge", "sub/m.mge", "été 1.mge", "---.mge", "2024.mge", "true.mge"]
    texts = model_files([StarterModel(file=file) for file in files])
    names = ["m", "m-2", "t-1", "model", "2024", "true"]

    assert list(texts) == [
        path
        for name in names
        for path in (f"megtrim/models/{name}.yaml", f"megtrim/models/{name}/default.yaml")
    ]
    data = [parse_document(text.encode(), file="f").data for text in texts.values()]
    assert [each["name"] for each in data[::2]] == names
    assert [each["file"] for each in data[::2]] == files


def test_a_path_that_yaml_cannot_hold_is_refused() -> None:
    """A line break would end up as a space."""
    with pytest.raises(InputError, match="control characters"):
        model_files([StarterModel(file="a\nb.mge")])


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(file=st.text(min_size=1, max_size=20), source=st.text(min_size=1, max_size=20))
def test_paths_are_written_so_that_they_read_back(file: str, source: str) -> None:
    """Whatever their characters mean to YAML."""
    try:
        main = starter("megengine", source=source)
        model, _ = model_files([StarterModel(file=file)]).values()
    except InputError:
        assert not (file.isprintable() and source.isprintable())
        return
    data = parse_document(main.encode(), file="megtrim.yaml").data

    assert isinstance(data["engine"], dict)
    assert data["engine"]["source"] == source
    assert parse_document(model.encode(), file="m.yaml").data["file"] == file
