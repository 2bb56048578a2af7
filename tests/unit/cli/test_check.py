"""``megtrim check``: a configuration and all that it names, without a compiler."""

from __future__ import annotations

import pytest

from unit.cli.support import SAMPLE_MODEL, Shell

CONFIG = """\
version: 1
engine: {kind: sample}
models:
  - name: vgg
    file: m.sample
    scenarios:
      - {name: default, inputs: {data: data.npy}}
      - {name: wide, inputs: {data: data.npy}, threads: [1, 2]}
"""


@pytest.fixture
def team(shell: Shell) -> Shell:
    (shell.folder / "m.sample").write_bytes(SAMPLE_MODEL)
    shell("init", "m.sample", "--config", "other.yaml")
    [made] = shell.folder.rglob("*.npy")
    (shell.folder / "data.npy").write_bytes(made.read_bytes())
    (shell.folder / "megtrim.yaml").write_text(CONFIG, encoding="utf-8")
    return shell


def edit(team: Shell, *pairs: tuple[str, str]) -> None:
    text = CONFIG
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    (team.folder / "megtrim.yaml").write_text(text, encoding="utf-8")


def test_what_is_right_is_fine(team: Shell) -> None:
    """Nothing is written."""
    before = sorted(team.folder.rglob("*"))
    answer = team("check")

    assert (answer.status, answer.out) == (0, "megtrim.yaml: fine, 1 model and 3 scenarios\n")
    assert sorted(team.folder.rglob("*")) == before


def test_keys_are_checked(team: Shell) -> None:
    """As every command does."""
    edit(team, ("version: 1", "version: 2"))
    answer = team("check")

    assert answer.status == 2
    assert "megtrim.yaml:1: version: found the number 2, expected 1" in answer.err


def test_files_and_options_are_checked_at_once(team: Shell) -> None:
    """A model that is cut off, an option that no CMake file has, a keep set that is none."""
    (team.folder / "m.sample").write_bytes(SAMPLE_MODEL[:-5])
    (team.folder / "megtrim" / "keepset" / "vgg").mkdir(parents=True)
    (team.folder / "megtrim" / "keepset" / "vgg" / "default@any.json").write_text("{", "utf-8")
    edit(team, ("{kind: sample}", "{kind: sample, cmake: {SAMPLE_NO_SUCH: 1}}"))
    answer = team("check")

    assert answer.status == 2
    for part in ("megtrim.yaml:5: m.sample", "default@any.json:1: not JSON", "SAMPLE_NO_SUCH"):
        assert part in answer.err
    assert answer.out == ""


def test_inputs_are_compared_with_the_model(team: Shell) -> None:
    """By name, type and shape; the place in the file is that of the list of threads."""
    edit(team, ("wide, inputs: {data: ", "wide, inputs: {date: "))
    answer = team("check")

    assert answer.status == 2
    assert (
        answer.err.count("megtrim.yaml:8: models[0].scenarios[1].inputs.date: found an input") == 1
    )
    assert "did you mean data?" in answer.err
