"""``megtrim check``: a configuration and all that it names, without a compiler."""

from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.config.load import load_config
from megtrim.config.scenarios import all_scenarios
from megtrim.regions.keepset import build_keep_set
from megtrim.regions.region import Region
from megtrim.trim.committed_keepset import write_committed
from megtrim.trim.runs.scenario_runs import bind
from unit.cli.support import SAMPLE_MODEL, Shell
from unit.sample_engine.engine_scripts import ENGINE, write_models

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


@pytest.fixture
def committed(team: Shell) -> Path:
    loaded = load_config(team.folder / "megtrim.yaml")
    records = (
        replace(bind(each, loaded, None), regions=(Region("kern", (1,)),), trace_sha256="0" * 64)
        for each in all_scenarios(loaded.config)
    )
    path = team.folder / "megtrim/keepset"
    write_committed(path, build_keep_set(20220507, records, None))
    return path


def test_what_is_right_is_fine(team: Shell, committed: Path) -> None:
    before = sorted(team.folder.rglob("*"))
    answer = team("check")

    assert (answer.status, answer.out) == (0, "megtrim.yaml: fine, 1 model and 3 scenarios\n")
    assert sorted(team.folder.rglob("*")) == before
    assert committed in before


def test_a_keep_set_that_is_not_there_yet_is_not_fine(team: Shell) -> None:
    answer = team("check").expect(0)
    assert answer.out == (
        "megtrim.yaml: 1 model and 3 scenarios can be trimmed; a pull request would be red, "
        "because there is no megtrim/keepset yet: make it with megtrim trim --config "
        "megtrim.yaml, and commit it\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "because", "accept"),
    [
        ("default, inputs", "other, inputs", "vgg/other@any is not in it", ""),
        ("[1, 2]", "[1, 4]", "vgg/wide-threads-4@any is not in it", ""),
        (
            "name: default,",
            "name: default, args: [--cpu, --iter, '7'],",
            "vgg/default@any is not what was traced: the arguments changed",
            " --accept",
        ),
        (
            "models:",
            "trim: {level: function}\nmodels:",
            "no function is listed in it, but functions are trimmed",
            "",
        ),
    ],
)
@pytest.mark.usefixtures("committed")
def test_a_keep_set_of_something_else_is_wrong(
    team: Shell, old: str, new: str, because: str, accept: str
) -> None:
    """Said in a second, and not by a pull request; only what changed must be accepted."""
    edit(team, (old, new))
    answer = team("check").expect(
        2, f"a pull request would be red, because megtrim/keepset: {because}\n"
    )
    again = f"megtrim trim --config megtrim.yaml{accept}"
    assert f"trace, and commit the keep set: {again}\n" in answer.err


@pytest.mark.usefixtures("committed")
def test_files_are_held_against_the_keep_set_by_their_bytes(team: Shell) -> None:
    writer = write_models.tiny_vgg()
    for at, each in enumerate(writer._operators):
        writer._operators[at] = replace(each, weights=each.weights[::-1])
    writer.write(team.folder / "m.sample")
    same = team("check")
    data = (team.folder / "data.npy").read_bytes()
    (team.folder / "data.npy").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    other = team("check")

    assert (same.status, other.status) == (0, 2), same.err
    assert "vgg/default@any is not what was traced: an input changed\n" in other.err


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("version: 1", "version: 2")], "megtrim.yaml:1: version: found the number 2, expected 1"),
        (
            [("wide, inputs: {data: ", "wide, inputs: {date: ")],
            "megtrim.yaml:8: models[0].scenarios[1].inputs.date: found an input",
        ),
        # Only an encrypted model may need an operator JSON.
        (
            [("m.sample", "m.onnx"), ("scenarios:", "strip_info: info.json\n    scenarios:")],
            "m.onnx: not a .mge model: it is an ONNX model",
        ),
    ],
)
def test_keys_inputs_and_models_are_checked(
    team: Shell, pairs: list[tuple[str, str]], message: str
) -> None:
    (team.folder / "m.onnx").write_bytes(b"\x08\x08\x12\x07pytorch")
    (team.folder / "info.json").write_bytes((ENGINE / "models/tiny-vgg.sample.json").read_bytes())
    edit(team, *pairs)
    answer = team("check").expect(2)
    assert answer.err.count(message) == 1


def test_files_and_options_are_checked_at_once(team: Shell) -> None:
    (team.folder / "m.sample").write_bytes(SAMPLE_MODEL[:-5])
    (team.folder / "megtrim" / "keepset" / "vgg").mkdir(parents=True)
    (team.folder / "megtrim" / "keepset" / "vgg" / "default@any.json").write_text("{", "utf-8")
    edit(team, ("{kind: sample}", "{kind: sample, cmake: {MGE_BIN_REDUCE: x.h}}"))
    answer = team("check").expect(2)
    for part in ("megtrim.yaml:5: m.sample", "default@any.json:1: not JSON", "MGE_BIN_REDUCE"):
        assert part in answer.err
    assert answer.out == ""
