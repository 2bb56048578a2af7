"""``megtrim plan``: what would run, without running anything."""

import json
from pathlib import Path

import pytest

from unit.cli.support import SAMPLE_MODEL, Shell
from unit.trim.stages.support import CONFIG


@pytest.fixture
def team(shell: Shell) -> Shell:
    (shell.folder / "m.mge").write_bytes(SAMPLE_MODEL)
    (shell.folder / "megtrim.yaml").write_text(
        CONFIG + "toolchain: {kind: host}\ndevices: [{name: here, kind: local, class: any}]\n",
        encoding="utf-8",
    )
    return shell


def test_a_plan_lists_every_task_and_counts_them(
    team: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    answer = team("plan", "--quiet").expect(0)
    lines = answer.out.splitlines()
    assert lines[-1] == f"{len(lines) - 1} of {len(lines) - 1} tasks to do"
    assert any(line.endswith("build/plain") for line in lines)
    assert not (team.folder / "megtrim-out").exists()


def test_why_adds_a_reason_to_each(team: Shell) -> None:
    plain, why = team("plan"), team("plan", "--why")

    pairs = list(zip(plain.out.splitlines(), why.out.splitlines(), strict=True))[:-1]
    assert all(long.startswith(short) and len(long) > len(short) + 2 for short, long in pairs)


def test_a_plan_is_data_too(team: Shell) -> None:
    steps = json.loads(team("plan", "--json").out)
    lines = team("plan").out.splitlines()[:-1]

    assert [step["task"] for step in steps] == [line.split()[1] for line in lines]
    assert {step["state"] for step in steps} == {line.split()[0] for line in lines}
    assert {*steps[0]} == {"task", "stage", "name", "state", "why", "folder"}
