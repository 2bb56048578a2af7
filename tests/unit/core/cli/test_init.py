"""``megtrim init`` and ``doctor``."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest
import yaml

from megtrim.core.cli import doctor
from megtrim.core.config.load import load_config
from unit.core.cli.support import Shell
from unit.core.config.support import MODEL
from unit.places.compile.projects.support import NEWEST, write


@pytest.fixture
def project(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    folder = shell.folder / "a" / "b" / "project"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(shell.folder / "state"))
    return Shell(folder, shell.capture)


@pytest.fixture
def team(project: Shell) -> Shell:
    write(project.folder.parent / "MegEngine", NEWEST)
    return project


def test_a_model_and_a_checkout_are_enough(team: Shell) -> None:
    team.model("resnet18-s.mge")
    team.write("resnet18-s.mge.json", "{}")
    team.model("mobilenet-s.v2.mge")

    answer = team("init", "resnet18-s.mge", "mobilenet-s.v2.mge").expect(0, err="")
    takes = "for the input h2d[0] Float32 (1, 3, 64, 64) of"
    *lines, following = answer.out.splitlines()
    assert lines == [
        f"wrote resnet18-s.h2d-0.npy, {takes} resnet18-s.mge",
        f"wrote mobilenet-s.v2.h2d-0.npy, {takes} mobilenet-s.v2.mge",
        "wrote megtrim.yaml and megtrim/models, for the engine in ../MegEngine",
    ]
    assert following == "next: megtrim trim --config megtrim.yaml"
    config = load_config(team.folder / "megtrim.yaml").config
    assert (config.engine.kind, str(config.engine.source)) == ("megengine", "../MegEngine")
    assert [(m.name, str(m.file), [str(p) for p in m.strip_info]) for m in config.models] == [
        ("mobilenet-s.v2", "mobilenet-s.v2.mge", []),
        ("resnet18-s", "resnet18-s.mge", ["resnet18-s.mge.json"]),
    ]
    assert config.models[1].scenarios[0].inputs == {"h2d[0]": Path("resnet18-s.h2d-0.npy")}
    # Equal outputs of a constant image prove little.
    found = np.load(team.folder / "resnet18-s.h2d-0.npy")
    assert (found.dtype, found.shape) == (np.dtype("float32"), (1, 3, 64, 64))
    assert np.unique(found).size > 90


def test_a_model_of_the_sample_engine_needs_no_checkout(shell: Shell) -> None:
    shell.sample("tiny-vgg.sample")
    shell.sample("tiny-vgg.data.npy")
    before = (shell.folder / "tiny-vgg.data.npy").read_bytes()

    answer = shell("init", "tiny-vgg.sample").expect(0, err="")
    assert answer.out.startswith("found tiny-vgg.data.npy, for the input data Float32 (1, 3, 32, ")
    assert (shell.folder / "tiny-vgg.data.npy").read_bytes() == before
    config = load_config(shell.folder / "megtrim.yaml").config
    assert (config.engine.kind, config.engine.source) == ("sample", None)


def test_init_writes_paths_relative_to_the_configuration(team: Shell) -> None:
    team.model("resnet18-s.mge")

    team("init", "-c", "trim/m.yaml", "resnet18-s.mge", "--engine", "../MegEngine").expect(0)
    config = load_config(team.folder / "trim" / "m.yaml").config
    assert str(config.models[0].file) == "../resnet18-s.mge"
    assert str(config.models[0].scenarios[0].inputs["h2d[0]"]) == "../resnet18-s.h2d-0.npy"
    assert str(config.engine.source) == "../../MegEngine"


def test_two_configurations_can_share_the_models(team: Shell) -> None:
    team.model("resnet18-s.mge")
    first = team("init", "resnet18-s.mge")
    second = team("init", "-c", "android.yaml", "resnet18-s.mge")
    model = team.folder / "megtrim/models/resnet18-s.yaml"
    model.write_text("mine", encoding="utf-8")
    err = refused(team, "-c", "linux.yaml", "resnet18-s.mge")

    assert (first.status, second.status) == (0, 0)
    assert err.startswith("megtrim: megtrim/models/resnet18-s.yaml exists and differs\n")
    assert model.read_text(encoding="utf-8") == "mine"


_SCHEMA = re.compile(r"# yaml-language-server: \$schema=(.+)\n")


def test_each_file_names_the_schema_that_it_fits(team: Shell) -> None:
    for name in ("resnet18-s.mge", "mobilenet-s.mge"):
        team.model(name)
    team("init", "-c", "trim/m.yaml", "resnet18-s.mge", "--engine", "../MegEngine").expect(0)
    kept = team.folder / "trim/megtrim/schemas/scenario.schema.json"
    kept.write_text(mine := kept.read_text("utf-8").replace("\n", " "), encoding="utf-8")
    team("init", "--add", "-c", "trim/m.yaml", "mobilenet-s.mge").expect(0)

    files = sorted((team.folder / "trim").rglob("*.yaml"))
    assert len(files) == 5
    for file in files:
        text = file.read_text(encoding="utf-8")
        named = _SCHEMA.match(text)
        assert named is not None
        schema = json.loads((file.parent / named[1]).read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator(schema).validate(yaml.safe_load(text))
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(schema).validate({"unknown": 1})
    assert kept.read_text(encoding="utf-8") == mine


LINUX = "linux/megtrim.yaml"


@pytest.mark.parametrize("config", ["megtrim.yaml", LINUX])
def test_a_model_is_added_by_files_of_its_own(team: Shell, config: str) -> None:
    for name in ("resnet18-s.mge", "mobilenet-s.mge"):
        team.model(name)
    assert team("init", "resnet18-s.mge").status == 0
    if config != "megtrim.yaml":
        text = team.read("megtrim.yaml")
        text = text.replace("models: megtrim", "models: ../megtrim").replace("../Meg", "../../Meg")
        (team.folder / "linux").mkdir()
        (team.folder / LINUX).write_text(text, "utf-8")
    before = {path: path.read_bytes() for path in team.folder.rglob("*") if path.is_file()}

    team("init", "--add", "-c", config, "mobilenet-s.mge").expect(0)
    added = {path.relative_to(team.folder).as_posix() for path in team.folder.rglob("*.*")}
    added -= {path.relative_to(team.folder).as_posix() for path in before}
    assert added == {
        "mobilenet-s.h2d-0.npy",
        "megtrim/models/mobilenet-s.yaml",
        "megtrim/models/mobilenet-s/default.yaml",
    }
    assert {path: path.read_bytes() for path in before} == before
    for each in {"megtrim.yaml", config}:
        loaded = load_config(team.folder / each)
        assert [model.name for model in loaded.config.models] == ["mobilenet-s", "resnet18-s"]
        assert loaded.resolve(loaded.config.models[0].file).resolve().name == "mobilenet-s.mge"


def refused(shell: Shell, *arguments: str) -> str:
    before = {path: path.is_file() and path.read_bytes() for path in shell.folder.rglob("*")}
    answer = shell("init", *arguments).expect(2)
    after = {path: path.is_file() and path.read_bytes() for path in shell.folder.rglob("*")}
    assert after == before
    return answer.err


RESNET = "resnet18-s.mge"
SAMPLE = "tiny-vgg.sample"
INPUT = "resnet18-s.h2d-0.npy"


def _nothing(_team: Shell) -> None:
    pass


def _link(name: str) -> Callable[[Shell], object]:
    return lambda team: (team.folder / name).symlink_to("gone/nowhere")


def _write(name: str, data: bytes) -> Callable[[Shell], object]:
    return lambda team: (team.folder / name).write_bytes(data)


@pytest.mark.parametrize(
    ("words", "message", "prepare"),
    [
        (
            (RESNET, SAMPLE),
            f"{SAMPLE} is a model of the sample engine, but {RESNET} is not",
            _nothing,
        ),
        ((RESNET, "--engine", "folder"), "found a folder, expected a checkout of Meg", _nothing),
        ((RESNET, "--engine", "gone"), "gone: found no such file, expected a checkout", _nothing),
        ((SAMPLE, "--engine", "folder"), "found a folder, expected a copy of the sam", _nothing),
        ((SAMPLE, "--engine", "gone"), "gone: found no such file, expected a copy of", _nothing),
        (
            (RESNET,),
            "found 2 checkouts of MegEngine: ../MegEngine, ../engine-1.13",
            lambda team: write(team.folder.parent / "engine-1.13", NEWEST),
        ),
        (
            (RESNET,),
            f"{INPUT}: found float64 (1, 3, 32, 32), expected h2d[0] Float32 (1, 3, 64, 64)",
            lambda team: np.save(team.folder / INPUT, np.zeros((1, 3, 32, 32))),
        ),
        ((RESNET,), "megtrim: megtrim.yaml already exists", _write("megtrim.yaml", b"mine")),
        ((RESNET,), "cannot be written", _link("megtrim")),
        ((RESNET,), "cannot be written", _link(INPUT)),
        ((RESNET, "bad.mge"), "megtrim: bad.mge: ", _nothing),
        ((RESNET, "bad.mge"), "megtrim: bad.mge: ", _write("bad.mge", b"mgb0001\0")),
    ],
)
def test_what_cannot_be_trimmed_is_refused(
    team: Shell, words: tuple[str, ...], message: str, prepare: Callable[[Shell], object]
) -> None:
    team.model(RESNET)
    team.sample(SAMPLE)
    (team.folder / "folder").mkdir()
    prepare(team)

    assert message in refused(team, *words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "found no model, expected at least one"),
        ((SAMPLE,), "is a model for the engine sample, expected one for megeng"),
        (("--engine", "x", RESNET), "leave out --engine"),
        (("-c", "gone.yaml", RESNET), "gone.yaml"),
        ((RESNET,), "resnet18-s.mge is in the configuration already, as the model resnet18-s"),
        ((f"./{RESNET}",), "edit it at megtrim/models/resnet18-s.yaml:3"),
    ],
)
def test_a_model_that_cannot_be_added_is_refused(
    team: Shell, words: tuple[str, ...], message: str
) -> None:
    team.model(RESNET)
    team.sample(SAMPLE)
    assert team("init", RESNET).status == 0

    assert message in refused(team, "--add", *words)


def test_two_names_of_one_file_are_one_model(team: Shell) -> None:
    team.model(RESNET)
    (team.folder / "other.mge").write_bytes((team.folder / RESNET).read_bytes())
    assert team("init", RESNET, f"./{RESNET}", f"{team.folder}/{RESNET}").status == 0
    assert [each.name for each in _list_models(team)] == ["resnet18-s.yaml"]

    (team.folder / "alias.mge").symlink_to("other.mge")
    assert team("init", "--add", "other.mge", "alias.mge").status == 0
    assert [each.name for each in _list_models(team)] == ["other.yaml", "resnet18-s.yaml"]


def _list_models(team: Shell) -> list[Path]:
    return sorted((team.folder / "megtrim/models").glob("*.yaml"))


def test_without_an_engine_nothing_is_written(project: Shell) -> None:
    project.model(RESNET)

    error = refused(project, RESNET)
    nowhere = f"found no checkout of MegEngine in, next to or above {project.folder}"
    assert error.startswith(f"megtrim: {nowhere}")
    assert "name it with --engine PATH" in error


def test_each_kind_of_device_is_shown(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = "there is no adb; apt-get install adb"
    adb = SimpleNamespace(missing=lambda _: lacking)
    ssh = SimpleNamespace(missing=lambda _: "", describe_tools=lambda _: "version 1")
    monkeypatch.setattr(doctor, "_REMOTE", {"adb": adb, "ssh": ssh})

    found = {each["what"]: each for each in json.loads(shell("doctor", "--json").out)}
    for kind, there, text in (("adb", False, lacking), ("ssh", True, "version 1")):
        what = f"device {kind}"
        assert found[what] == {"what": what, "there": there, "text": text, "needed": False}


def test_doctor_says_what_is_there(shell: Shell) -> None:
    text = shell("doctor")
    data = shell("doctor", "--json")

    findings = json.loads(data.out)
    assert [each["what"] for each in findings] == [
        "python",
        "cmake",
        "ninja",
        "toolchain zig",
        "toolchain clang-linux-arm64",
        "toolchain clang-linux-armhf",
        "toolchain ndk",
        "toolchain host",
        "clang, for the level blocks",
        "device qemu",
        "qemu-user, for work",
        "device adb",
        "device ssh",
        "device virtual-phone",
        "docker, for toolchain.image",
        "git",
        "ccache",
    ]
    lines = text.out.splitlines()
    at = lines.index("optional")
    shown = [f"  {'ok     ' if each['there'] else 'missing'} {each['what']}" for each in findings]
    for needed, part in ((True, lines[1:at]), (False, lines[at + 1 :])):
        own = (line for line, each in zip(shown, findings, strict=True) if each["needed"] is needed)
        assert [line.partition(":")[0] for line in part] == [*own]
    assert lines[0] == "needed"
    assert findings[0]["text"] == ".".join(str(number) for number in sys.version_info[:3])


def test_doctor_says_how_to_get_what_is_missing(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(shell.folder))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    answer = shell("doctor").expect(2)
    lines = {line.strip().partition(":")[0]: line for line in answer.out.splitlines()}
    hints = {
        "toolchain zig": "pip install 'megtrim[zig]'",
        "toolchain clang-linux-arm64": "apt-get install clang-14",
        "toolchain host": "apt-get install g++",
        "device qemu": "apt-get install qemu-user-static",
        "qemu-user, for work": "apt-get install qemu-user",
        "device adb": "apt-get install adb",
        "device ssh": "apt-get install openssh-client",
        "device virtual-phone": "apt-get install",
        "git": "apt-get install git",
        "ccache": "apt-get install ccache",
    }
    assert [name for name, hint in hints.items() if hint not in lines[f"missing {name}"]] == []
    for name in ("g++", "gcc"):
        program = shell.folder / name
        program.write_text("#!/bin/sh\necho g++ 12\n", encoding="utf-8")
        program.chmod(0o755)
    assert "ok      toolchain host: g++ 12\n" in shell("doctor").expect(0).out
    shell.sample("tiny-vgg.sample")
    for kind, status, needed in (
        ("host", 0, {"toolchain host"}),
        ("clang-linux-arm64", 2, {"toolchain clang-linux-arm64", "device qemu"}),
        ("auto", 0, {"toolchain host"}),
    ):
        text = f"version: 1\nengine: {{kind: sample}}\ntoolchain: {{kind: {kind}}}\n"
        shell.write("m.yaml", text + MODEL.replace("m.mge", "tiny-vgg.sample"))
        answer = shell("doctor", "--config", "m.yaml", "--json").expect(status)
        found = {each["what"] for each in json.loads(answer.out) if each["needed"]}
        assert found == {"python", "cmake", "ninja", *needed}


PARAM = "7767517\n2 2\nInput data 0 1 data 0=4 1=4 2=3\nReLU relu 1 1 data out\n"


@pytest.fixture
def library(project: Shell) -> Shell:
    (project.folder / "ncnn" / "src").mkdir(parents=True)
    for name in ("CMakeLists.txt", "src/net.h"):
        project.write(f"ncnn/{name}", "")
    project.write("a.param", PARAM)
    return project


def test_a_model_of_a_library(library: Shell) -> None:
    """Its programs are a team's own, and so are their arguments."""
    library.write("b c.param", PARAM)

    answer = library("init", "a.param", "b c.param", "--engine", "ncnn").expect(0, err="")

    assert answer.out.splitlines() == [
        "wrote megtrim.yaml, for ncnn in ncnn",
        "write your program that runs the models: app/CMakeLists.txt",
        "next: megtrim trim --config megtrim.yaml",
    ]
    (library.folder / "app").mkdir()
    library.write("app/CMakeLists.txt", "")
    config = load_config(library.folder / "megtrim.yaml").config
    assert (config.engine.kind, config.engine.target) == ("ncnn", "libncnn.a")
    assert (config.trim.level, config.trim.base, config.trim.prices) == ("deferred", "plain", True)
    assert [(model.name, str(model.file)) for model in config.models] == [
        ("a", "a.param"),
        ("b-c", "b c.param"),
    ]
    assert [run.application for run in config.all_runs] == ["app", "app"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a.param",), "found no checkout of ncnn"),
        (("a.param", "--engine", "ncnn/src"), "expected a checkout of ncnn"),
        (("a.param", "m.mge", "--engine", "ncnn"), "a.param is a model of ncnn, but m.mge is not"),
        (("cut.param", "--engine", "ncnn"), "cut.param: found 1 layers, expected 2"),
    ],
)
def test_a_model_of_a_library_that_cannot_be_used(
    library: Shell, words: tuple[str, ...], message: str
) -> None:
    library.model("resnet18-s.mge").rename(library.folder / "m.mge")
    library.write("cut.param", PARAM.rpartition("ReLU")[0])

    answer = library("init", *words)

    assert (answer.status, answer.out) == (2, "")
    assert message in answer.err
    assert not (library.folder / "megtrim.yaml").exists()
