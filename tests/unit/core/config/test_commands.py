"""What a configuration says of commands, and of a project of any kind."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from megtrim.core.build_spec import Linkage
from megtrim.core.config.load import load_config
from megtrim.core.config.model import Config
from megtrim.core.config.problems import ConfigError
from megtrim.core.config.scenarios import all_scenarios

PROJECT = {"kind": "cmake", "source": "src", "target": "tool"}


def load(folder: Path, command: dict[str, Any] | None = None, **more: Any) -> Config:
    (folder / "src").mkdir(exist_ok=True)
    (folder / "in.txt").touch()
    config = {"version": 1, "engine": PROJECT, "scenarios": [{"name": "s"} | (command or {})]}
    text = yaml.safe_dump(config | more)
    (folder / "megtrim.yaml").write_text(text, encoding="utf-8")
    return load_config(folder / "megtrim.yaml").config


def test_little_is_needed(tmp_path: Path) -> None:
    """Deferred: nobody lists all uses of a program, and those that are not listed still work."""
    config = load(tmp_path)
    (scenario,) = all_scenarios(config)

    assert (config.trim.level, config.trim.base) == ("deferred", "plain")
    assert config.artifacts == ("tool",)
    assert (scenario.id, scenario.model, scenario.settings.is_command) == ("s@any", None, True)
    assert load(tmp_path, trim={"level": "function"}).trim.level == "function"


@pytest.mark.parametrize(
    ("toolchain", "kind"),
    [
        ({}, "host"),
        ({"jobs": 1}, "host"),
        ({"kind": "auto"}, "auto"),
        ({"kind": "clang-linux-arm64"}, "clang-linux-arm64"),
        ({"prefer": "zig"}, "auto"),
    ],
)
def test_a_project_is_built_for_this_machine_if_nothing_else_is_said(
    tmp_path: Path, toolchain: dict[str, Any], kind: str
) -> None:
    assert load(tmp_path, toolchain=toolchain).toolchain.kind == kind


def test_a_list_of_threads_stands_for_a_command_with_each(tmp_path: Path) -> None:
    config = load(tmp_path, {"args": ["{threads}"], "threads": [1, 4]})

    assert [scenario.id for scenario in all_scenarios(config)] == [
        "s-threads-1@any",
        "s-threads-4@any",
    ]


def test_commands_may_be_files(tmp_path: Path) -> None:
    (tmp_path / "commands").mkdir()
    (tmp_path / "commands/a.yaml").write_text("name: a\nstdin: in.txt\n", encoding="utf-8")

    config = load(tmp_path, scenarios="commands/*.yaml")
    assert [scenario.id for scenario in all_scenarios(config)] == ["a@any"]


def test_a_library_is_trimmed_for_the_programs_that_load_it(tmp_path: Path) -> None:
    engine = PROJECT | {"target": "libtool.so"}
    config = load(tmp_path, {"program": "user"}, engine=engine, applications=[{"name": "user"}])

    assert config.applications[0].library is Linkage.SHARED
    assert config.artifacts == ("libtool.so", "user")


@pytest.mark.parametrize(
    ("command", "more", "said"),
    [
        ({"program": "other"}, {}, "scenarios[0].program: found 'other', expected no such key"),
        ({"args": ["{model}"]}, {}, "scenarios[0].args: found {model}, which only models have"),
        ({"args": ["{input:x}"]}, {}, "scenarios[0].args: found {input:x}, expected an input"),
        ({"inputs": {"x": "in.txt"}}, {}, "scenarios[0].inputs.x: found an input that args does"),
        ({"args": ["{other}"]}, {}, "scenarios[0].args[0]: found '{other}', expected {input:N"),
        ({"stdin": "none.txt"}, {}, "scenarios[0].stdin: found 'none.txt', no such file"),
        ({"stdout": "ignored"}, {}, "scenarios[0].stdout: found ignored, and it writes no files"),
        ({"stderr": "shown"}, {}, "scenarios[0].stderr: found 'shown', expected"),
        ({"status": 126}, {}, "scenarios[0].status: found the number 126, expected a whole"),
        ({"threads": 4}, {}, "scenarios[0].threads: found 4 threads that args does not ask for"),
        ({"classes": ["big"]}, {}, "scenarios[0].classes[0]: found 'big', expected any"),
        ({"application": "x"}, {}, "scenarios[0].application: found an unknown key"),
        ({}, {"trim": {"level": "region"}}, "trim.level: found region, and a project of kind cm"),
        ({}, {"trim": {"base": "region"}}, "trim.base: found region, and a project of kind cm"),
        ({}, {"trim": {"base": "reduced"}}, "trim.base: found region, and a project of kind cm"),
        ({}, {"trim": {"level": "blocks"}}, "trim.level: found blocks with a toolchain of kind h"),
        ({}, {"trim": {"minimum_size": True}}, "trim.minimum_size: found a key of reduced builds"),
        ({}, {"engine": {"kind": "cmake", "source": "src"}}, "engine.target: found nothing"),
        ({}, {"engine": {"kind": "cmake", "target": "t"}}, "engine.source: found nothing, expecte"),
        (
            {},
            {"engine": {"kind": "sample", "folder": "x"}},
            "engine.folder: found a key of kind cm",
        ),
        ({}, {"engine": {"kind": "sample"}}, "scenarios: found scenarios without a model"),
        ({}, {"scenarios": None}, "scenarios: found nothing, expected this key, or models"),
        ({}, {"engine": PROJECT | {"target": "trace.txt"}}, "engine.target: found 'trace.txt'"),
        (
            {},
            {"engine": PROJECT | {"target": "libtool.so"}},
            "scenarios[0].program: found nothing, and engine.target libtool.so is no program",
        ),
        (
            {},
            {"models": [{"name": "m", "file": "in.txt", "scenarios": [{"name": "s"}]}]},
            "models: found models of a project of kind cmake, which has none",
        ),
    ],
)
def test_a_mistake_is_named(
    tmp_path: Path, command: dict[str, Any], more: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, command, **more)

    assert said in str(caught.value)


def test_standard_error_may_be_all_that_is_compared(tmp_path: Path) -> None:
    config = load(tmp_path, {"stdout": "ignored", "stderr": "compared"})

    (scenario,) = all_scenarios(config)
    assert (scenario.judgement.printed, scenario.judgement.said) == (False, True)
    assert scenario.judgement.describe() == {
        "standard output": "ignored",
        "standard error": "compared",
    }
