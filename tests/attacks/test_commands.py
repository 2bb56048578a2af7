"""Attempts by commands of a configuration, and by what the programs that they run leave."""

import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from megtrim.core.cli.session.preflight import expect_usable_files
from megtrim.core.config.load import LoadedConfig, load_config
from megtrim.core.config.problems import ConfigError
from megtrim.core.config.scenarios import Judgement, all_scenarios
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.keepset_files import dump_folder
from megtrim.core.keep.region import Region
from megtrim.core.proof.verification import FileJudge, OutputComparison, compare_outputs
from megtrim.core.trim.runs.execution import RunResult, RunSpec, run_on
from megtrim.lab.evidence.bundle import BundleScenario
from megtrim.libs.programs import varying
from megtrim.libs.programs.app_outputs import PRINTED
from megtrim.libs.programs.parity import EXACT
from megtrim.libs.util.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices import local
from megtrim.places.devices.local import Local
from megtrim.places.devices.written import Entry, WrittenKind, list_files
from support.scenario_records import make_record

PROJECT = {"kind": "cmake", "source": "src", "target": "tool"}
SECRET = "a secret of this machine"
LONGEST_S = 20.0


def load(folder: Path, command: Mapping[str, Any], **more: Any) -> LoadedConfig:
    (folder / "src").mkdir(exist_ok=True)
    config = {"version": 1, "engine": PROJECT, "scenarios": [{"name": "s", **command}]}
    text = yaml.safe_dump(config | more)
    (folder / "megtrim.yaml").write_text(text, encoding="utf-8")
    return load_config(folder / "megtrim.yaml")


def refused(folder: Path, command: Mapping[str, Any], key: str, **more: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        load(folder, command, **more)
    assert re.search(rf"megtrim\.yaml:\d+: {re.escape(key)}", str(caught.value)), caught.value


Run = Callable[..., RunResult]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    device = Local("here", ProcessRunner(os.environ), tmp_path / "runs")

    def run(script: str, *arguments: str, **changes: Any) -> RunResult:
        program = tmp_path / "tool"
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        spec = RunSpec(
            program=program,
            model=None,
            arguments=arguments,
            inputs={},
            threads=1,
            timeout_s=60.0,
            application=True,
            **changes,
        )
        return run_on(device, spec)

    return run


def compare(seen: RunResult, *vary: str) -> OutputComparison:
    return compare_outputs(seen.outputs, seen.outputs, EXACT, FileJudge(vary))


def test_a_file_of_a_command_is_a_device(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/zero")
    for file in ("/dev/zero", "src", "link"):
        for key in ({"stdin": file}, {"inputs": {"x": file}, "args": ["{input:x}"]}):
            with pytest.raises(InputError, match=r"megtrim\.yaml:\d+: "):
                expect_usable_files(load(tmp_path, key))


def test_a_file_of_a_command_has_no_end(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as stream:
        stream.truncate(2**40)
    loaded = load(tmp_path, {"stdin": "sparse"})

    with pytest.raises(InputError, match=r"megtrim\.yaml:\d+: sparse: found 1,099,511,627,776 byt"):
        expect_usable_files(loaded)


def test_a_variable_loads_code_into_the_program(tmp_path: Path) -> None:
    for name in ("LD_PRELOAD", "PATH", "MEGTRIM_RECORD", "MIDOUT_OUTPUT", "QEMU_LD_PREFIX"):
        refused(tmp_path, {"environment": {name: "x"}}, f"scenarios[0].environment.{name}")


def test_a_name_of_a_command_is_a_path(tmp_path: Path) -> None:
    for name in ("../x", "m/s", "s@any", ".hidden", "/x", "s\n"):
        refused(tmp_path, {"name": name}, "scenarios[0].name")


def test_a_command_takes_the_name_of_a_scenario(tmp_path: Path) -> None:
    (tmp_path / "m.mge").write_bytes(b"m")
    models = [{"name": "m", "file": "m.mge", "scenarios": [{"name": "s"}]}]
    trim = {"level": "function", "base": "plain"}
    loaded = load(tmp_path, {}, models=models, trim=trim, engine={"kind": "sample"})
    ids = [scenario.id for scenario in all_scenarios(loaded.config)]

    assert ids == ["m/s@any", "s@any"]
    records = tuple(make_record([Region("kern", (1,))], scenario=each) for each in ids)
    keep = KeepSet(generation=20220507, scenarios=records, operators=None)
    assert sorted(dump_folder(keep)) == ["m/s@any.json", "s@any.json"]
    refused(tmp_path, {}, "scenarios[1].name", scenarios=[{"name": "s"}, {"name": "s"}])


def test_an_argument_runs_a_shell(tmp_path: Path, run: Run) -> None:
    words = ("$(touch pwned)", "; touch pwned", "| touch pwned", "`touch pwned`", "a  b'\"")
    seen = run('printf "%s\\n" "$@"; ls', *words)

    assert seen.outputs[PRINTED].decode().splitlines()[: len(words)] == [*words]
    assert b"\npwned" not in seen.outputs[PRINTED]
    refused(tmp_path, {"args": ["a\nb"]}, "scenarios[0].args[0]")


def test_an_output_is_a_link(tmp_path: Path, run: Run) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET, encoding="utf-8")
    for script, name in (
        (f'ln -s "{secret}" "$1/o"', "o"),
        (f'echo good >"$1/o"; mkdir "$1/d"; ln -s "{secret}" "$1/d/o"', "d/o"),
        (f'echo good >"$1/o"; ln -s "{tmp_path}" "$1/d"', "d"),
        ('echo good >"$1/o"; ln -s nowhere "$1/d"', "d"),
    ):
        message = rf"left a symbolic link among its outputs: dump/{name}\n"
        with pytest.raises(ProductFailure, match=message):
            run(script, "{outputs}")
    printed = run(f'rm standard-output; ln -s "{secret}" standard-output')

    assert printed.outputs == {PRINTED: b""}
    assert "is empty: that proves nothing" in compare(printed).text


def test_an_output_never_answers(run: Run) -> None:
    began = time.monotonic()
    for name in ("o", "d/o"):
        message = rf"left a pipe, socket or device among its outputs: dump/{name}\n"
        with pytest.raises(ProductFailure, match=message):
            run(f'mkdir "$1/d"; mkfifo "$1/{name}"', "{outputs}")

    assert time.monotonic() - began < LONGEST_S


def test_an_output_hides_in_a_folder(run: Run) -> None:
    script = 'echo good 1 >"$1/flat"; mkdir -p "$1/a/b"; echo %s >"$1/a/b/deep"'
    right = run(script % "right 2", "{outputs}")
    wrong = run(script % "wrong 2", "{outputs}")
    compared = compare_outputs(right.outputs, wrong.outputs, EXACT, FileJudge())

    assert sorted(right.outputs) == ["a/b/deep", "flat"]
    assert compare(right).text == "outputs equal to the last bit (2 outputs, 15 bytes)"
    assert compared.text == "output a/b/deep: differs from byte 1 on (8 against 8 bytes)"


def test_an_output_is_hidden_by_its_name(run: Run) -> None:
    for name in (r"a\nb", r"a\033[31m", r"a\377"):
        for script in (': >"$1/$(printf "%s")x"', 'mkdir "$1/$(printf "%s")x"'):
            with pytest.raises(ProductFailure, match="in dump whose name is not text: 'a"):
                run(script % name, "{outputs}")
    seen = run('mkdir "$1/..a"; echo 1 2 >"$1/..a/..."; echo 1 2 >"$1/-rf"', "{outputs}")

    assert sorted(seen.outputs) == ["-rf", "..a/..."]


def test_an_output_has_no_rights(run: Run) -> None:
    seen = run('mkdir -p "$1/a/b"; echo good 1 >"$1/a/b/c"; chmod 0 "$1/a/b" "$1/a"', "{outputs}")

    assert seen.outputs == {"a/b/c": b"good 1\n"}


DEEP = f"""{sys.executable} -c '
import os
for _ in range(1200):
    os.mkdir("a")
    os.chdir("a")'"""


def test_outputs_without_end(tmp_path: Path, run: Run) -> None:
    for script, message in (
        ('cd "$1"; seq 1001 | xargs touch', "left more than 1,000 files and folders in dump"),
        (
            f'echo good >"$1/o"; cd "$1"; {DEEP}',
            "left 'a' in dump, with more than 8 folders in each other",
        ),
    ):
        with pytest.raises(ProductFailure, match=message):
            run(script, "{outputs}")
    seen = run(f'echo good >"$1/o"; {DEEP}', "{outputs}")

    assert seen.outputs == {"o": b"good\n"}
    assert list((tmp_path / "runs").glob("*run-*")) == []


def test_a_device_lists_a_path_that_climbs() -> None:
    for path in ("../x", "a/../../x", "a//b", "./x", "/etc/x", "a/.", "..", "a/b"):
        listed = [Entry(path=path, kind=WrittenKind.FILE), Entry(path="a", kind=WrittenKind.FILE)]
        with pytest.raises(InfrastructureFailure, match="which cannot be a file there"):
            list_files("dump", listed)


def test_an_output_is_huge(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "LARGEST_FETCHED_BYTES", 1000)

    with pytest.raises(ProductFailure, match="left standard-output with 2,000 bytes"):
        run("head -c 2000 /dev/zero")
    with pytest.raises(ProductFailure, match="left standard-error with 2,000 bytes"):
        run("head -c 2000 /dev/zero >&2; echo good", said=True)


def test_an_output_takes_the_name_of_another(run: Run) -> None:
    with pytest.raises(ProductFailure, match="found 'standard output' among the files"):
        run('echo good >"$1/standard output"; echo bad', "{outputs}", printed=True)
    with pytest.raises(ProductFailure, match="found 'standard output' among the files"):
        run('mkdir "$1/standard output"; echo good >"$1/standard output/o"', "{outputs}")
    with pytest.raises(ProductFailure, match="found 'standard error' among the files"):
        run('echo good >"$1/standard error"; echo bad >&2', "{outputs}", said=True)


def test_a_pattern_hides_all_that_differs(run: Run) -> None:
    seen = run("echo it took 5 ms")

    assert compare(seen, "[0-9]+ ms").text == "outputs equal to the last bit (1 output, 10 bytes)"
    assert "is empty: that proves nothing" in compare(seen, ".+").text


def test_a_pattern_never_ends(tmp_path: Path) -> None:
    for pattern in ("(a+)+b", "a++", "a{1}{2}", "(?=a)", r"\1", "a|b", "[z-a]", "a*", "^a", "[a"):
        refused(tmp_path, {"vary": [pattern]}, "scenarios[0].vary[0]")
    text = b"".join(b"a" * 4095 + b"\n" for _ in range(20))
    began = time.monotonic()
    masked = varying.mask(text, ["[a-z]+[a-z]+[a-z]+[a-z]+!", ".{0,999}.{0,999}.{0,999}!"])

    assert masked == text
    assert time.monotonic() - began < LONGEST_S


def test_an_exit_status_hides_a_trap(tmp_path: Path) -> None:
    for status in (132, 133, 139, -5, 256):
        refused(tmp_path, {"status": status}, "scenarios[0].status")
        with pytest.raises(ValueError, match="expected an exit status up to 125"):
            BundleScenario(
                id="s@any",
                cpu_class="any",
                model=None,
                arguments=(),
                inputs=(),
                threads=1,
                tolerance=EXACT,
                timeout_s=1.0,
                cache=None,
                search=False,
                binding="0" * 64,
                judgement=Judgement(status=status),
            )


def test_a_project_leads_out_of_its_folder(tmp_path: Path) -> None:
    for folder in ("/etc", "..", "a/../../b"):
        refused(tmp_path, {}, "engine.folder", engine={**PROJECT, "folder": folder})
        refused(tmp_path, {}, "engine.include", engine={**PROJECT, "include": folder})
