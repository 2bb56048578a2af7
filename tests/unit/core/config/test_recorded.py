"""What a configuration says of a project that its own commands build."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from megtrim.core.build_spec import Linkage
from megtrim.core.cli.session.templates import ProjectStarter, project_starter
from megtrim.core.config.load import load_config
from megtrim.core.config.model import Config, is_shared_object
from megtrim.core.config.problems import ConfigError

PROJECT = {"kind": "link", "source": "src", "target": "tool", "build": [["make", "-j4"]]}


def load(folder: Path, engine: dict[str, Any] | None = None, **more: Any) -> Config:
    """A key of ``engine`` without a value is left out."""
    (folder / "src").mkdir(exist_ok=True)
    merged = PROJECT | (engine or {})
    config = {
        "version": 1,
        "engine": {key: value for key, value in merged.items() if value is not None},
        "scenarios": [{"name": "s"}],
        **more,
    }
    text = yaml.safe_dump(config)
    (folder / "megtrim.yaml").write_text(text, encoding="utf-8")
    return load_config(folder / "megtrim.yaml").config


def test_little_is_needed(tmp_path: Path) -> None:
    config = load(tmp_path)

    assert config.engine.build == (("make", "-j4"),)
    assert config.engine.compiler == "cc"
    assert (config.trim.level, config.trim.base) == ("deferred", "plain")
    assert config.artifacts == ("tool",)


def test_a_library_is_trimmed_for_the_programs_that_load_it(tmp_path: Path) -> None:
    scenarios = [{"name": "s", "program": "user"}]
    users = [{"name": "user"}]
    config = load(tmp_path, {"target": "libz.so.1"}, scenarios=scenarios, applications=users)

    assert config.applications[0].library is Linkage.SHARED
    assert config.artifacts == ("libz.so.1", "user")


@pytest.mark.parametrize(
    ("target", "shared"),
    [
        ("libz.so", True),
        ("libz.so.1", True),
        ("libz.so.1.2.13", True),
        ("libz.a", False),
        ("a.social", False),
        (".so", False),
        ("tool.so.gz", False),
    ],
)
def test_shared_objects_are_known_by_name(target: str, shared: bool) -> None:
    assert is_shared_object(target) is shared


@pytest.mark.parametrize(
    ("engine", "more", "said"),
    [
        ({"build": None}, {}, "engine.build: found nothing, expected the commands that build it"),
        ({"build": []}, {}, "engine.build: found"),
        ({"build": [[]]}, {}, "engine.build[0]: found"),
        ({"build": "make"}, {}, "engine.build: found"),
        ({"build": ["make"]}, {}, "engine.build[0]: found"),
        ({"build": [["a\nb"]]}, {}, "engine.build[0][0]: found"),
        ({"target": None}, {}, "engine.target: found nothing"),
        ({"target": "libz.a"}, {}, "engine.target: found 'libz.a', expected a program that links"),
        ({"compiler": "/bin/cc"}, {}, "engine.compiler: found '/bin/cc', expected the name of a"),
        ({"compiler": "ccache gcc"}, {}, "engine.compiler: found 'ccache gcc', expected"),
        ({"cmake": {"A": "B"}}, {}, "engine.cmake: found CMake options of kind link"),
        ({"folder": "a"}, {}, "engine.folder: found a key of kind cmake next to kind: link"),
        ({}, {"toolchain": {"kind": "ndk"}}, "toolchain.kind: found a toolchain of a project of"),
        (
            {},
            {"toolchain": {"image": "i@sha256:" + "0" * 64}},
            "toolchain.image: found a toolchain of a project of kind link",
        ),
        ({}, {"trim": {"level": "region"}}, "trim.level: found region, and a project of kind link"),
        (
            {},
            {"applications": [{"name": "a", "source": "src"}]},
            "applications[0].source: found 'src', expected no such key",
        ),
        ({}, {"tests": {"commands": []}}, "tests.commands: found"),
        ({}, {"tests": {"commands": [["make"]], "build": ["all"]}}, "tests.build[0]: found"),
        ({}, {"tests": {"commands": [["make"]], "keep": "no"}}, "tests.keep: found 'no'"),
        ({}, {"tests": {"commands": [["make"]], "keep": 1}}, "tests.keep: found the number 1"),
        (
            {"kind": "cmake", "build": None},
            {
                "tests": {"commands": [["ctest"]]},
                "toolchain": {"image": "i@sha256:" + "0" * 64},
            },
            "tests: found tests next to toolchain.image",
        ),
        (
            {},
            {"tests": {"commands": [["make"]], "keep": True}, "classes": [{"name": "tests"}]},
            "classes[0].name: found a CPU class tests next to tests.keep, expected another name",
        ),
        (
            {"kind": "cmake", "compiler": "gcc"},
            {},
            "engine.build: found a key of kind link next to kind: cmake",
        ),
    ],
)
def test_what_does_not_fit_is_named(
    tmp_path: Path, engine: dict[str, Any], more: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, engine, **more)

    assert said in str(caught.value)


def test_what_init_writes_is_a_configuration(tmp_path: Path) -> None:
    commands = (("./configure", "CC=gcc -O2", "a: b #c", "it's"), ("make", "-j4"))
    text = project_starter(
        ProjectStarter(
            source="src",
            target="libz.so.1",
            compiler="g++-12",
            commands=commands,
            programs=("one", "two"),
            keep_set="megtrim/keepset-z",
        )
    )
    (tmp_path / "src").mkdir()
    (tmp_path / "megtrim.yaml").write_text(text, encoding="utf-8")
    config = load_config(tmp_path / "megtrim.yaml").config

    assert config.engine.build == commands
    assert config.engine.compiler == "g++-12"
    assert [each.name for each in config.applications] == ["one", "two"]
    assert config.scenarios[0].program == "one"
    assert config.keep_set == Path("megtrim/keepset-z")
    assert len(text.splitlines()) <= 20
