"""Names of files that no system has, for every verb: one error, and never a bug."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from megtrim.cli.main import main
from unit.cli.support import Shell
from unit.cli.test_hostile_inputs import settle_in


def _find_paths(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _find_paths(inner, (*words, name))
        if (alone := getattr(command, "alone", None)) is None:
            return
        command = alone
    for asked in command.params:
        if isinstance(asked.type, click.Path):
            yield (
                *words,
                *(_fill(each, asked) for each in command.params if _is_given(each, asked)),
            )


def _is_given(each: click.Parameter, asked: click.Parameter) -> bool:
    return each is asked or each.required


def _fill(each: click.Parameter, asked: click.Parameter) -> str:
    value = "PATH" if each is asked else "a" * 64 if "sha" in str(each.name) else "x"
    if isinstance(each.type, click.Choice):
        value = str(each.type.choices[0])
    if isinstance(each.type, click.types.IntParamType | click.IntRange):
        value = "1"
    return value if isinstance(each, click.Argument) else f"{each.opts[0]}={value}"


CALLS = [*dict.fromkeys(_find_paths(main))]
NAMES: dict[str, Callable[[], str]] = {
    "long part": lambda: f"{'a' * 300}.yaml",
    "circle": lambda: _link("circle", "circle"),
    "inside a file": lambda: "megtrim.yaml/inside",
    "folder": lambda: "engine",
    "device": lambda: "/dev/null",
    "lines": lambda: "a\nb.yaml",
}


def _link(name: str, to: str) -> str:
    Path(name).unlink(missing_ok=True)
    Path(name).symlink_to(to)
    return name


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    settle_in(folder)
    config = folder / "megtrim.yaml"
    text = config.read_text(encoding="utf-8")
    assert "{kind: auto}" in text
    config.write_text(text.replace("{kind: auto}", "{kind: ndk}"), encoding="utf-8")
    return folder


@pytest.mark.parametrize("call", CALLS, ids=lambda call: " ".join(call).replace("=", " "))
def test_a_name_that_no_file_has_is_an_input_error(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    call: tuple[str, ...],
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(project)
    shell, bugs = Shell(project, capsys), []
    for kind, make in NAMES.items():
        answer = shell(*(word.replace("PATH", make()) for word in call))
        if answer.status not in (0, 1, 2, 3):
            bugs.append((kind, answer.status, answer.err[-300:]))
        Path("circle").unlink(missing_ok=True)
    assert bugs == []


@pytest.mark.parametrize("verb", ["check", "plan"])
@pytest.mark.parametrize(
    ("line", "names"),
    [
        ('models: "."', "models"),
        ("models: ''", "models"),
        (f"models: {'a' * 300}/*.yaml", "models"),
        ("keep_set: /", "/"),
        (f"keep_set: {'a' * 300}", "a" * 300),
        (f"engine: {{kind: sample, source: {'a' * 300}}}", "a" * 50),
        ('engine: {kind: sample, source: "a\\0b"}', "control character"),
    ],
)
def test_a_name_in_the_configuration_is_an_input_error(
    shell: Shell, verb: str, line: str, names: str
) -> None:
    settle_in(shell.folder)
    config = shell.folder / "megtrim.yaml"
    key = line.partition(":")[0]
    kept = re.sub(rf"^{key}:.*\n(?:[ -].*\n)*", "", config.read_text(encoding="utf-8"), flags=re.M)
    config.write_text(f"{line}\n{kept}".replace("{kind: auto}", "{kind: ndk}"), encoding="utf-8")
    shell(*verb.split()).expect(2, names)
