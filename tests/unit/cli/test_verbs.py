"""The verbs around the stages: doctor, init, model, schema, explain, and the probe's request."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.cli import probe
from megtrim.config.load import load_config
from megtrim.engines.sample import SampleEngine, find_embedded_source
from megtrim.errors import InputError
from megtrim.midout.keepset import dump_keep_set
from megtrim.pipeline.results import VerdictResult
from megtrim.pipeline.running.trap_diagnosis import Diagnosis
from megtrim.pipeline.session import Session
from megtrim.process import ProcessRunner
from megtrim.store import Store
from megtrim.verdict import next_step
from megtrim.verdict.invocation import Invocation
from megtrim.verdict.join import join
from megtrim.verdict.model import to_json
from megtrim.verdict.statuses import ScenarioStatus
from unit.cli.support import Shell
from unit.stages.support import CONFIG, changed, keep_set, open_session
from unit.verdict.examples import TUNED, facts, trapped


def without_compilers(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(shell.folder))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


def test_doctor_says_what_is_there(shell: Shell) -> None:
    """One line each; text and JSON agree."""
    text, data = shell("doctor"), shell("doctor", "--json")

    findings = json.loads(data.out)
    assert [each["what"] for each in findings] == [
        *("python", "cmake", "ninja", "toolchain zig", "toolchain clang-linux-arm64"),
        *("toolchain ndk", "toolchain host", "device qemu", "device adb", "device ssh"),
        *("device virtual-phone", "docker, for toolchain.image", "git", "ccache"),
    ]
    assert text.out.splitlines() == [
        f"{'ok     ' if each['there'] else 'missing'} {each['what']}: {each['text']}"
        for each in findings
    ]
    assert findings[0]["text"] == ".".join(str(number) for number in sys.version_info[:3])


def test_doctor_says_how_to_get_what_is_missing(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And ends with 2 where nothing can build an engine."""
    without_compilers(shell, monkeypatch)

    answer = shell("doctor")

    assert answer.status == 2
    lines = {line.partition(":")[0]: line for line in answer.out.splitlines()}
    hints = {
        "missing toolchain zig": "pip install 'megtrim[zig]'",
        "missing toolchain clang-linux-arm64": "apt-get install clang-14",
        "missing toolchain host": "apt-get install g++",
        "missing device qemu": "apt-get install qemu-user-static",
        "missing device adb": "apt-get install adb",
        "missing device ssh": "apt-get install openssh-client",
        "missing device virtual-phone": "apt-get install",
        "missing git": "apt-get install git",
        "missing ccache": "apt-get install ccache",
    }
    for line, hint in hints.items():
        assert hint in lines[line]


def test_doctor_is_content_with_one_compiler(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any of them can build the sample engine."""
    without_compilers(shell, monkeypatch)
    for name in ("g++", "gcc"):
        program = shell.folder / name
        program.write_text("#!/bin/sh\necho g++ 12\n", encoding="utf-8")
        program.chmod(0o755)

    answer = shell("doctor")

    assert answer.status == 0
    assert "ok      toolchain host: g++ 12\n" in answer.out


def test_init_writes_a_configuration_that_loads(shell: Shell) -> None:
    """With the operator JSON that lies beside a model, and names made of the files'."""
    shell.model("resnet18-s.mge")
    (shell.folder / "resnet18-s.mge.json").write_text("{}", encoding="utf-8")
    shell.model("mobilenet-s.v2.mge")

    answer = shell("init", "resnet18-s.mge", "mobilenet-s.v2.mge")

    assert (answer.status, answer.err) == (0, "")
    assert answer.out == "wrote megtrim.yaml; next: megtrim trim --config megtrim.yaml\n"
    config = load_config(shell.folder / "megtrim.yaml").config
    assert config.engine.kind == "sample"
    assert [(m.name, str(m.file), [str(p) for p in m.strip_info]) for m in config.models] == [
        ("resnet18-s", "resnet18-s.mge", ["resnet18-s.mge.json"]),
        ("mobilenet-s.v2", "mobilenet-s.v2.mge", []),
    ]


def test_init_writes_paths_relative_to_the_configuration(shell: Shell) -> None:
    """Wherever that lies; its folder is made."""
    shell.model("resnet18-s.mge")
    (shell.folder / "engine").mkdir()

    answer = shell("init", "-c", "trim/m.yaml", "resnet18-s.mge", "--engine", "engine")

    assert answer.status == 0
    loaded = load_config(shell.folder / "trim" / "m.yaml")
    assert str(loaded.config.models[0].file) == "../resnet18-s.mge"
    assert loaded.config.engine.kind == "megengine"
    assert str(loaded.config.engine.source) == "../engine"


def test_init_overwrites_nothing(shell: Shell) -> None:
    """A configuration is somebody's work."""
    shell.model("resnet18-s.mge")
    (shell.folder / "megtrim.yaml").write_text("mine", encoding="utf-8")

    answer = shell("init", "resnet18-s.mge")

    assert answer.status == 2
    assert answer.err.startswith("megtrim: megtrim.yaml already exists\n")
    assert (shell.folder / "megtrim.yaml").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("content", [None, b"", b"hello", b"mgb0001\0"])
def test_init_refuses_what_is_no_model(shell: Shell, content: bytes | None) -> None:
    """Now, not after an hour of building; nothing is written."""
    shell.model("resnet18-s.mge")
    if content is not None:
        (shell.folder / "bad.mge").write_bytes(content)

    answer = shell("init", "resnet18-s.mge", "bad.mge")

    assert answer.status == 2
    assert answer.err.startswith("megtrim: bad.mge: ")
    assert not (shell.folder / "megtrim.yaml").exists()


def test_model_show_tells_what_a_model_holds(shell: Shell) -> None:
    """For people and as JSON."""
    shell.model("resnet18-s.mge")

    text, data = (
        shell("model", "show", "resnet18-s.mge"),
        shell("model", "show", "--json", "resnet18-s.mge"),
    )

    assert (text.status, data.status) == (0, 0)
    facts = json.loads(data.out)
    assert f"graph hash    {facts['graph_hash']}"[:10] in text.out
    assert str(facts["graph_hash"]) in text.out
    assert facts["inputs"][0]["name"] in text.out
    assert shell("model", "show", "gone.mge").status == 2


@pytest.mark.parametrize(
    ("name", "graph_hash", "modes", "convolutions", "poolings", "values"),
    [
        ("resnet18-s", 10078361748651523472, "ADD, FUSE_ADD_RELU", 20, 2, 125),
        ("mobilenet-s", 7773529745014738635, "ADD", 21, 1, 250),
    ],
)
@pytest.mark.parametrize(("suffix", "form"), [(".mge", "mge v1"), (".v2.mge", "mge v2")])
def test_model_show_of_either_format(
    shell: Shell,
    name: str,
    graph_hash: int,
    modes: str,
    convolutions: int,
    poolings: int,
    values: int,
    suffix: str,
    form: str,
) -> None:
    """Both tell the same model; the second has no hash of its own, so the file's must do."""
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


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (b"", "x.mge: empty, expected a model"),
        (b"\x1b[31mred", "x.mge: not a .mge model: it begins with b'\\x1b[31mred'"),
        (b"MGBC", "x.mge: truncated inside the header, after 4 bytes"),
        (None, "x.mge: found a pipe, expected a model"),
    ],
)
def test_model_show_of_what_is_no_model(shell: Shell, damage: bytes | None, told: str) -> None:
    """One message; a pipe, which nobody writes to, is not waited for."""
    path = shell.folder / "x.mge"
    if damage is None:
        os.mkfifo(path)
    else:
        path.write_bytes(damage)

    answer = shell("model", "show", "x.mge")

    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"megtrim: {told}")
    assert "\x1b" not in answer.err


@pytest.mark.parametrize("name", ["resnet18-s.mge", "resnet18-s.v2.mge"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
def test_model_show_of_a_model_that_is_cut_off(shell: Shell, name: str, share: float) -> None:
    """Wherever the copy ended."""
    path = shell.model(name)
    whole = path.read_bytes()
    path.unlink()  # the recorded one is read-only, and so is its copy
    path.write_bytes(whole[: int(len(whole) * share)])

    answer = shell("model", "show", name)

    assert answer.status == 2
    assert answer.err.startswith(f"megtrim: {name}: ")
    assert "Traceback" not in answer.err


def test_schema_prints_the_schema(shell: Shell) -> None:
    """Of the configuration, for editors."""
    schema = json.loads(shell("ci", "schema").out)

    assert schema["$schema"].startswith("https://json-schema.org/")
    assert "keep_set" in schema["properties"]


@pytest.fixture
def project(shell: Shell) -> Shell:
    """A configuration with one model, and a keep set of two regions."""
    (shell.folder / "m.mge").write_bytes(b"model")
    (shell.folder / "megtrim.yaml").write_text(CONFIG, encoding="utf-8")
    keep = shell.folder / "megtrim" / "keepset.json"
    keep.parent.mkdir()
    keep.write_text(dump_keep_set(keep_set(1, 2)), encoding="utf-8")
    return shell


@pytest.mark.parametrize("thing", ["m", "m/s@any"])
def test_explain_tells_of_a_model_and_a_scenario(project: Shell, thing: str) -> None:
    """What it was traced with, and what is kept for it alone."""
    answer = project("explain", "--json", thing)

    assert answer.status == 0
    assert json.loads(answer.out) == {
        "m/s@any": {
            "arguments": "--cpu",
            "model": "sha256 " + "a" * 64,
            "trace": "sha256 " + "b" * 64,
            "regions": 2,
            "regions that no other scenario needs": ["kern<1>", "kern<2>"],
        }
    }


@pytest.mark.parametrize(("thing", "regions"), [("kern", [1, 2]), ("kern<2>", [2])])
def test_explain_tells_of_a_tag_and_a_region(
    project: Shell, thing: str, regions: list[int]
) -> None:
    """Who needs it."""
    answer = project("explain", "--json", thing)

    assert answer.status == 0
    found = json.loads(answer.out)
    assert list(found) == [f"kern<{number}>" for number in regions]
    assert all(facts["needed by"] == ["m/s@any"] for facts in found.values())


def test_explain_in_words(project: Shell) -> None:
    """Indented, with counts; nothing is said of what is empty."""
    answer = project("explain", "m")

    assert answer.out.splitlines() == [
        "m/s@any",
        "  arguments: --cpu",
        "  model: sha256 " + "a" * 64,
        "  trace: sha256 " + "b" * 64,
        "  regions: 2",
        "  regions that no other scenario needs: 2",
        "    kern<1>",
        "    kern<2>",
    ]


@pytest.mark.parametrize(
    "thing", ["megdnn_fallback_winograd", "megdnn_fallback_winograd<-1290123641, 0>", "ns::one()"]
)
def test_explain_knows_what_trapped(project: Shell, thing: str) -> None:
    """What the committed keep set lacks may be needed all the same: by whom, and the way out."""
    text = "it trapped: the function ns::one() is not kept, for the keep set does not list it"
    verdict = join(facts(scenarios=(replace(trapped(), text=text),)))

    def produce(folder: Path) -> VerdictResult:
        (folder / "verdict.json").write_text(to_json(verdict), encoding="utf-8")
        return VerdictResult(verdict=verdict.verdict)

    Store(project.folder / "megtrim-out").ensure("verdict", "verdict", {}, produce, VerdictResult)
    found = json.loads(project("explain", "--json", thing).out)

    assert list(found) == [thing]
    assert found[thing]["kept"] == f"no, and it is needed: {TUNED} trapped without it"
    assert found[thing]["what to do"] == next_step.for_keep_set(Invocation())


def test_explain_does_not_know_everything(project: Shell) -> None:
    """Each with what to do."""
    unknown = project("explain", "nothing")
    verdict = project("explain", "verdict")
    (project.folder / "megtrim" / "keepset.json").unlink()
    no_keep_set = project("explain", "m")

    assert [answer.status for answer in (unknown, verdict, no_keep_set)] == [2, 2, 2]
    assert "know no model, scenario, tag, region or function 'nothing'" in unknown.err
    assert "there is no verdict in megtrim-out yet" in verdict.err
    assert "megtrim trim --config megtrim.yaml\n" in verdict.err
    assert "there is no keep set at" in no_keep_set.err


def test_a_request_names_inputs_by_name(tmp_path: Path) -> None:
    """A file's name may hold the sign again."""
    request = probe.make_request("m.mge", ("data=a=b.npy", "x=y.npy"), ("--cpu",))

    assert request == probe.ProbeRequest(
        model="m.mge",
        inputs={"data": Path("a=b.npy"), "x": Path("y.npy")},
        arguments=("--cpu",),
    )


@pytest.mark.parametrize("text", ["data", "data=", "=a.npy", "", "="])
def test_an_input_without_name_or_file_is_refused(shell: Shell, text: str) -> None:
    """At once, before anything is built."""
    answer = shell("probe", "m.mge", "--input", text)

    assert answer.status == 2
    assert f"--input: found {text!r}, expected NAME=FILE" in answer.err


@pytest.fixture
def known(processes: ProcessRunner, tmp_path: Path) -> Session:
    """A session with the sample engine and the model ``m``."""
    return changed(
        open_session(tmp_path)[0], engine=SampleEngine(find_embedded_source(), processes)
    )


def test_a_probe_runs_a_configured_model_or_any_file(known: Session, tmp_path: Path) -> None:
    """By the model's name, or the file's."""
    other = tmp_path / "other.mge"
    other.write_bytes(b"x")

    by_name = probe._make_spec(probe.make_request("m", (), ("--cpu",)), known)
    by_file = probe._make_spec(probe.make_request(str(other), (f"data={other}",), ()), known)

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
    """To the committed file, where a pull request looks; no trap has nothing to keep."""
    asked = Invocation(config="a.yaml", committed=True)
    *_, line = probe._render_outcome(
        probe.make_request("m", (), ()), found, asked, as_json=False
    ).splitlines()

    assert line == (f"  what to do: {next_step.for_probe(asked)}" if keeps else "  arguments  ")
    assert ("megtrim trim --config a.yaml --accept" in line) is keeps


@pytest.mark.parametrize("model", ["m/s", "m/s@any"])
def test_a_traced_scenario_is_not_probed(known: Session, model: str) -> None:
    """Under its name only what it was traced with may run."""
    with pytest.raises(InputError) as caught:
        probe._make_spec(probe.make_request(model, (), ("--cpu",)), known)

    assert caught.value.message == (
        f"{model} is a traced scenario: it runs with what it was traced with"
    )
    assert caught.value.hint == "probe its model: megtrim probe m -- ARGUMENT..."


@pytest.mark.parametrize(
    ("model", "inputs", "arguments", "said"),
    [
        ("gone.mge", (), (), "there is no file gone.mge to probe"),
        ("m", ("data=gone.npy",), (), "there is no file gone.npy to probe"),
        ("m", (), ("stray",), "probe: found the argument 'stray'"),
        ("m", (), ("--fast-run",), "probe: the flag --fast_run is not allowed in args"),
    ],
)
def test_a_probe_that_cannot_work_is_refused_before_building(
    known: Session,
    model: str,
    inputs: tuple[str, ...],
    arguments: tuple[str, ...],
    said: str,
) -> None:
    """A missing file, a stray argument, a flag that megtrim sets itself."""
    with pytest.raises(InputError) as caught:
        probe._make_spec(probe.make_request(model, inputs, arguments), known)

    assert caught.value.message.startswith(said)
