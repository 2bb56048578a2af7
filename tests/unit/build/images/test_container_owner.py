from __future__ import annotations

import os
from pathlib import Path

import pytest

from megtrim.build.images import container_runner
from megtrim.build.images.docker import DockerClient
from megtrim.util.process import Command, ProcessRunner
from unit.build.images.stub import Stub


def dead() -> int:
    processes = ProcessRunner(os.environ)
    reported = processes.run(Command(argv=("sh", "-c", "echo $$"), timeout_s=60)).stdout
    return int(reported)


def test_only_the_abandoned_are_ended(tmp_path: Path) -> None:
    mine = container_runner.me()
    here, pid, started = mine.rsplit("/", 2)
    holders = {
        "alive": mine,
        "gone": f"{here}/{dead()}/123",
        "reused": f"{here}/{pid}/{int(started) - 1}",
        "elsewhere": f"other-boot/pid:[1]/{dead()}/123",
        "strange": "hello",
        "no-number": f"{here}/0/123",
        "no-digit": f"{here}/²/123",
        "too-large": f"{here}/{'9' * 30}/123",
        "empty": "",
    }
    stub = Stub.make(tmp_path)
    listed = "".join(f"{name} {value}\n" for name, value in holders.items())
    stub.answer((["ps"], 0, listed, ""))
    container_runner.end_abandoned(DockerClient(stub.processes))

    assert (pid, started.isdigit()) == (str(os.getpid()), True)
    assert stub.calls("rm") == [["rm", "--force", "--volumes", "gone", "reused"]]
    assert "label=megtrim.holder" in stub.calls("ps")[0]


def test_processes_that_are_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system shows nothing of another's process, the kernel still reports that it is."""
    here, pid, _ = container_runner.me().rsplit("/", 2)
    monkeypatch.setattr(container_runner, "_read_start_time", lambda _: None)
    stub = Stub.make(tmp_path)
    listed = f"mine {here}/{pid}/1\nroots {here}/1/1\ngone {here}/{dead()}/1\n"
    stub.answer((["ps"], 0, listed, ""))
    container_runner.end_abandoned(DockerClient(stub.processes))
    assert stub.calls("rm") == [["rm", "--force", "--volumes", "gone"]]


def test_a_process_of_someone_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = container_runner.me().rsplit("/", 2)[0]

    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(container_runner, "_read_start_time", lambda _: None)
    monkeypatch.setattr(os, "kill", refuse)
    stub = Stub.make(tmp_path)
    stub.answer((["ps"], 0, f"roots {here}/1/1\n", ""))
    container_runner.end_abandoned(DockerClient(stub.processes))
    assert stub.calls("rm") == []


def test_nothing_to_end(tmp_path: Path) -> None:
    stub = Stub.make(tmp_path)
    stub.answer((["ps"], 0, f"alive {container_runner.me()}\n", ""))
    container_runner.end_abandoned(DockerClient(stub.processes))
    assert stub.calls("rm") == []
