"""Commands as scenarios: what they rest on, and what of a run is compared."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from megtrim.core.chain.session import Session, scenario_inputs
from megtrim.core.config.load import load_config
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.trim.runs.execution import run_on
from megtrim.core.trim.runs.scenario_runs import bind, make_run_spec
from megtrim.libs.programs.app_outputs import PRINTED
from megtrim.libs.programs.application_arguments import STDIN_FILE
from megtrim.libs.programs.exit_status import RunOutcome, ending
from unit.core.trim.stages.fake_device import FakeDevice
from unit.core.trim.stages.support import changed, open_session

COMMAND = {
    "name": "s",
    "args": ["-x", "{input:a}", "{threads}"],
    "inputs": {"a": "a.txt"},
    "stdin": "in.txt",
    "environment": {"MODE": "fast"},
}
ELSEWHERE = ("name", "classes", "tolerance", "relative_tolerance", "toolchains")
"""Keys that name it, choose where it runs, or judge arrays: of what is verified."""
OTHERS: dict[str, Any] = {
    "program": "other",
    "args": ["-y", "{input:a}", "{threads}"],
    "inputs": {"a": "b.txt"},
    "stdin": "a.txt",
    "environment": {"MODE": "slow"},
    "status": 3,
    "stdout": "compared",
    "vary": ["[0-9]+"],
    "threads": 2,
    "stderr": "compared",
    "timeout": "3 s",
}


def open_command(folder: Path, **keys: Any) -> Session:
    session, _ = open_session(folder)
    for name in ("a.txt", "b.txt", "in.txt"):
        (folder / name).write_text(name, encoding="utf-8")
    (folder / "src").mkdir(exist_ok=True)
    config = {
        "version": 1,
        "engine": {"kind": "cmake", "source": "src", "target": "tool"},
        "applications": [{"name": "other"}],
        "scenarios": [COMMAND | keys],
    }
    (folder / "megtrim.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    loaded = load_config(folder / "megtrim.yaml")
    return changed(session, loaded=loaded, devices={"any": FakeDevice()})


def name_inputs(session: Session) -> dict[str, str]:
    (scenario,) = all_scenarios(session.config)
    return scenario_inputs(scenario, session)


def test_a_key_changes_with_each_thing_that_a_command_says(tmp_path: Path) -> None:
    before = name_inputs(open_command(tmp_path))

    assert "model" not in before
    for key, value in OTHERS.items():
        assert name_inputs(open_command(tmp_path, **{key: value})) != before, key
    (scenario,) = all_scenarios(open_command(tmp_path).request.config)
    assert {*scenario.settings.names_by_key()} == {*OTHERS, *ELSEWHERE}


def test_a_record_names_its_files_and_no_model(tmp_path: Path) -> None:
    session = open_command(tmp_path)
    (scenario,) = all_scenarios(session.config)
    record = bind(scenario, session.request.loaded, None)

    assert (record.id, record.model_sha256, record.graph_sha256) == ("s@any", "", None)
    assert [name for name, _ in record.inputs] == ["a", "standard input"]


def test_a_command_gets_its_files_and_its_standard_input(tmp_path: Path) -> None:
    session = open_command(tmp_path)
    (scenario,) = all_scenarios(session.config)
    program = tmp_path / "tool"
    program.write_text("print cat\n", encoding="utf-8")
    device = FakeDevice()
    seen = run_on(device, make_run_spec(scenario, session, program, cache=None))

    assert device.runs == [("tool", "-x", "input0.txt", "1")]
    assert device.put[0]["input0.txt"] == b"a.txt"
    assert device.put[0][STDIN_FILE] == b"in.txt"
    assert device.environments[0]["MODE"] == "fast"
    assert seen.outputs == {PRINTED: b"cat\n"}
    assert seen.run.stdout == "cat\n"


@pytest.mark.parametrize(
    ("writes", "printed", "says", "outputs"),
    [
        (False, None, "print cat\n", {PRINTED: b"cat\n"}),
        (False, None, "exit 0\n", {PRINTED: b""}),
        (True, None, "print cat\nwrite o tiger\n", {"o": b"tiger"}),
        (True, True, "print cat\nwrite o tiger\n", {"o": b"tiger", PRINTED: b"cat\n"}),
        (True, True, "write o tiger\n", {"o": b"tiger"}),
        (True, False, "print cat\n", {}),
    ],
)
def test_what_counts_is_what_it_writes_and_prints(
    tmp_path: Path, writes: bool, printed: bool | None, says: str, outputs: dict[str, bytes]
) -> None:
    session = open_command(tmp_path, args=["{outputs}"] if writes else [], inputs={})
    (scenario,) = all_scenarios(session.config)
    program = tmp_path / "tool"
    program.write_text(says, encoding="utf-8")
    spec = replace(make_run_spec(scenario, session, program, cache=None), printed=printed)

    assert run_on(FakeDevice(), spec).outputs == outputs


@pytest.mark.parametrize(
    ("rc", "expected", "outcome", "said"),
    [
        (0, 0, RunOutcome.PASSED, "0"),
        (1, 0, RunOutcome.FAILED, "1"),
        (3, 3, RunOutcome.PASSED, "3, expected 3"),
        (0, 3, RunOutcome.FAILED, "0, expected 3"),
        (133, 3, RunOutcome.TRAP, "133, expected 3"),
    ],
)
def test_an_exit_status_is_expected(
    tmp_path: Path, rc: int, expected: int, outcome: RunOutcome, said: str
) -> None:
    session = open_command(tmp_path, status=expected)
    (scenario,) = all_scenarios(session.config)
    program = tmp_path / "tool"
    program.write_text(f"print cat\nexit {rc}\n", encoding="utf-8")
    run = run_on(FakeDevice(), make_run_spec(scenario, session, program, cache=None)).run

    assert (ending(run), run.status) == (outcome, said)
