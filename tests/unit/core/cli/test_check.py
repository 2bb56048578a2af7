"""``megtrim check``, ``plan``, ``model`` and ``probe``: what is said without a build."""

import hashlib
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import click
import pytest

from megtrim.core.chain.session import Session
from megtrim.core.checks.invocation import Invocation, suggest_for_probe
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.cli import probe, verbs
from megtrim.core.config.load import load_config
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.keep.keepset import build_keep_set
from megtrim.core.keep.region import Region
from megtrim.core.proof.trap_diagnosis import Diagnosis
from megtrim.core.trim.committed_keepset import write_committed
from megtrim.core.trim.runs.scenario_runs import bind
from megtrim.engines.sample import SampleEngine, find_embedded_source
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from unit.core.cli.support import SAMPLE_MODEL, Shell
from unit.core.trim.stages.support import CONFIG as STAGES_CONFIG
from unit.core.trim.stages.support import changed, open_session
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
    shell.write("megtrim.yaml", CONFIG)
    return shell


def edit(team: Shell, *pairs: tuple[str, str]) -> None:
    text = CONFIG
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    team.write("megtrim.yaml", text)


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
    team("check").expect(0, out="megtrim.yaml: fine, 1 model and 3 scenarios\n")
    assert sorted(team.folder.rglob("*")) == before
    assert committed in before


def test_a_keep_set_that_is_not_there_yet_is_not_fine(team: Shell) -> None:
    team("check").expect(
        2,
        "megtrim.yaml: 1 model and 3 scenarios can be trimmed, but the check of a pull request "
        "would fail, because there is no megtrim/keepset yet\n",
        "make it with megtrim trim --config megtrim.yaml, and commit it\n",
    )


WAIVED = """
budgets: [{artifact: load_and_run, max: 1 KiB}]
waivers:
  - budget: load_and_run
    bytes: 1 KiB
    reason: the new model
    owner: ann
    expires: 2026-11-30
"""


@pytest.mark.parametrize(
    ("day", "status", "said"),
    [
        ("2026-10-01", 0, ""),
        ("2026-11-30", 0, "the waiver of ann for load_and_run lapses after 2026-11-30, today"),
        ("2026-12-01", 2, "megtrim.yaml:12: the waiver of ann for load_and_run expired on"),
    ],
)
@pytest.mark.usefixtures("committed")
def test_a_waiver_that_lapsed_is_not_fine(
    team: Shell, monkeypatch: pytest.MonkeyPatch, day: str, status: int, said: str
) -> None:
    team.write("megtrim.yaml", CONFIG + WAIVED)
    monkeypatch.setenv("MEGTRIM_NOW", day)
    answer = team("check").expect(status)

    assert said in answer.err
    assert (said == "") == ("waiver" not in answer.err)


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
        2, f"the check of a pull request would fail, because megtrim/keepset: {because}\n"
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
    assert team("check").expect(2).err.count(message) == 1


def test_files_and_options_are_checked_at_once(team: Shell) -> None:
    (team.folder / "m.sample").write_bytes(SAMPLE_MODEL[:-5])
    (team.folder / "megtrim" / "keepset" / "vgg").mkdir(parents=True)
    (team.folder / "megtrim" / "keepset" / "vgg" / "default@any.json").write_text("{", "utf-8")
    edit(team, ("{kind: sample}", "{kind: sample, cmake: {MGE_BIN_REDUCE: x.h}}"))
    answer = team("check").expect(2)
    for part in ("megtrim.yaml:5: m.sample", "default@any.json:1: not JSON", "MGE_BIN_REDUCE"):
        assert part in answer.err
    assert answer.out == ""


@pytest.fixture
def project(shell: Shell) -> Shell:
    devices = "devices: [{name: here, kind: local, class: any}]\n"
    return shell.configure(f"{STAGES_CONFIG}toolchain: {{kind: host}}\n{devices}")


def test_a_plan_lists_every_task_and_counts_them(
    project: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    lines = project("plan", "--quiet").expect(0).out.splitlines()
    assert lines[-1] == f"{len(lines) - 1} of {len(lines) - 1} tasks to do"
    assert any(line.endswith("build/plain") for line in lines)
    assert not (project.folder / "megtrim-out").exists()


def test_why_adds_a_reason_to_each(project: Shell) -> None:
    plain = project("plan")
    why = project("plan", "--why")

    pairs = list(zip(plain.out.splitlines(), why.out.splitlines(), strict=True))[:-1]
    assert all(long.startswith(short) and len(long) > len(short) + 2 for short, long in pairs)


def test_a_plan_is_data_too(project: Shell) -> None:
    steps = json.loads(project("plan", "--json").out)
    lines = project("plan").out.splitlines()[:-1]

    assert [step["task"] for step in steps] == [line.split()[1] for line in lines]
    assert {step["state"] for step in steps} == {line.split()[0] for line in lines}
    assert {*steps[0]} == {"task", "stage", "name", "state", "why", "folder"}


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("resnet18-s", (10078361748651523472, "ADD, FUSE_ADD_RELU", 20, 2, 125)),
        ("mobilenet-s", (7773529745014738635, "ADD", 21, 1, 250)),
    ],
)
@pytest.mark.parametrize(("suffix", "form"), [(".mge", "mge v1"), (".v2.mge", "mge v2")])
def test_model_show_of_either_format(
    shell: Shell, name: str, facts: tuple[int, str, int, int, int], suffix: str, form: str
) -> None:
    graph_hash, modes, convolutions, poolings, values = facts
    path = shell.model(f"{name}{suffix}")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    second = form == "mge v2"

    lines = shell("model", "show", path.name).out.splitlines()
    data = json.loads(shell("model", "show", "--json", path.name).out)

    assert lines[:5] == [
        f"format       {form}, written by engine 10.999.0",
        f"sha256       {digest}",
        f"graph hash   {'none in this format' if second else graph_hash}",
        "input        h2d[0] Float32 (1, 3, 64, 64)",
        f"output       out{f' (1, {values})' if second else ''}",
    ]
    assert lines[6:9] == [
        "data types   Byte, Float32, Int32",
        f"elementwise  {modes}",
        f"operator     ConvBiasForward x {convolutions}",
    ]
    assert f"operator     PoolingForward x {poolings}" in lines
    assert (data["sha256"], data["format"]) == (digest, form)
    assert data["graph_hash"] == (0 if second else graph_hash)
    assert ["ConvBiasForward", convolutions] in data["operators"]
    assert data["unknown_operators"] == []


@pytest.mark.parametrize("name", ["resnet18-s.mge", "resnet18-s.v2.mge"])
@pytest.mark.parametrize("share", [0, 0.1, 0.999])
def test_model_show_of_what_is_no_model(shell: Shell, name: str, share: float) -> None:
    path = shell.model(name)
    whole = path.read_bytes()
    path.unlink()  # the recorded one is read-only, and so is its copy
    if share:
        start = b"\x1b[31m" if share < 0.5 else b""
        path.write_bytes(start + whole[: int(len(whole) * share)])
    else:
        os.mkfifo(path)

    answer = shell("model", "show", name).expect(2, out="")
    assert answer.err.startswith(f"megtrim: {name}: ")
    assert "\x1b" not in answer.err


@pytest.mark.parametrize("text", ["data", "data=", "=a.npy", "", "="])
def test_an_input_without_name_or_file_is_refused(shell: Shell, text: str) -> None:
    shell("probe", "m.mge", "--input", text).expect(
        2, f"--input: found {text!r}, expected NAME=FILE"
    )


@pytest.fixture
def known(processes: ProcessRunner, tmp_path: Path) -> Session:
    return changed(
        open_session(tmp_path)[0], engine=SampleEngine(find_embedded_source(), processes)
    )


def wanted(model: str = "m", *arguments: str, **inputs: Path) -> probe.ProbeRequest:
    return probe.ProbeRequest(model=model, inputs=inputs, arguments=arguments)


def test_a_probe_runs_a_configured_model_or_any_file(known: Session, tmp_path: Path) -> None:
    other = tmp_path / "o=ther.mge"
    other.write_bytes(b"x")
    context = click.Context(verbs.probe)
    inputs = verbs._read_inputs(context, verbs.probe.params[0], (f"data={other}",))

    by_name = probe._make_spec(wanted("m", "--cpu"), known)
    by_file = probe._make_spec(wanted(str(other), **inputs), known)

    assert (by_name.model, by_name.arguments) == (tmp_path / "m.mge", ("--cpu",))
    assert (by_file.model, dict(by_file.inputs)) == (other, {"data": other})


@pytest.mark.parametrize(
    ("found", "keeps"),
    [
        (Diagnosis(status=ScenarioStatus.TRAP, text="-", log="", missing=("x<>",)), True),
        (
            Diagnosis(status=ScenarioStatus.TRAP, text="-", log="", lacking_operators=("Pooling",)),
            True,
        ),
        (Diagnosis(status=ScenarioStatus.TRAP, text="-", log="", function="ns::one()"), True),
        (Diagnosis(status=ScenarioStatus.ENGINE_ERROR, text="-", log=""), False),
    ],
)
def test_a_probe_says_how_to_keep_what_was_missing(found: Diagnosis, keeps: bool) -> None:
    asked = Invocation(config="a.yaml", committed=True)
    *_, line = probe._render_outcome(wanted(), found, asked, as_json=False).splitlines()

    assert line == (f"  what to do: {suggest_for_probe(asked)}" if keeps else "  arguments  ")
    assert ("run `megtrim trim --config a.yaml` and commit" in line) is keeps


TRACED = (
    "{} is a traced scenario, which runs only with its own arguments\n"
    "  probe its model: megtrim probe --config megtrim.yaml m -- ARGUMENT..."
)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        *((wanted(name, "--cpu"), TRACED.format(name)) for name in ("m/s", "m/s@any")),
        (wanted("gone.mge"), "there is no file gone.mge to probe"),
        (wanted("m", data=Path("gone.npy")), "there is no file gone.npy to probe"),
        (wanted("m", "stray"), "probe: found the argument 'stray'"),
        (wanted("m", "--fast-run"), "probe: the flag --fast_run is not allowed in args"),
    ],
)
def test_a_probe_that_cannot_work_is_refused_before_building(
    known: Session, request_: probe.ProbeRequest, message: str
) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        probe._make_spec(request_, known)


def test_a_probe_refuses_an_input_that_the_model_does_not_have(
    known: Session, tmp_path: Path
) -> None:
    """It would fail as if something had been trimmed away."""
    model = tmp_path / "vgg.sample"
    model.write_bytes(SAMPLE_MODEL)

    with pytest.raises(InputError, match="--input: found 'dta', expected one of") as caught:
        probe._make_spec(wanted(str(model), "--cpu", dta=model), known)
    assert "did you mean data?" in caught.value.hint
    assert probe._make_spec(wanted(str(model), "--cpu", data=model), known).inputs
