from __future__ import annotations

import os
from pathlib import Path

import pytest

from megtrim.config.device import DeviceSettings, PowerPort
from megtrim.devices import DeviceSpec, ssh
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import ProcessRunner
from unit.devices.recorder import Recorder

SETTINGS = DeviceSettings(host="rock.lan", port=2222, user="tester")


def make_spec(processes: ProcessRunner, tmp_path: Path, settings: DeviceSettings) -> DeviceSpec:
    return DeviceSpec(
        name="rock",
        processes=processes,
        scratch=tmp_path,
        machine="aarch64",
        qemu_cpu="",
        sysroot=None,
        settings=settings,
    )


def test_what_an_entry_must_name(tmp_path: Path) -> None:
    processes = Recorder({"MEGTRIM_STATE": str(tmp_path)})
    with pytest.raises(InputError, match="device rock: kind ssh needs the host"):
        ssh.find(make_spec(processes, tmp_path, DeviceSettings()))
    for label in ("key", "known_hosts"):
        settings = DeviceSettings(host="h", **{label: tmp_path / "none"})
        with pytest.raises(InputError, match=f"device rock: {label}: there is no file .*/none"):
            ssh.find(make_spec(processes, tmp_path, settings))
    assert processes.commands == []


def test_a_board_is_one_machine_whatever_its_user(tmp_path: Path) -> None:
    processes = Recorder({"MEGTRIM_STATE": str(tmp_path)})
    power = PowerPort(hub="1-1", port=2)
    settings = DeviceSettings(host="Rock.LAN", port=2222, user="me", power=power)
    (board,) = ssh.find(make_spec(processes, tmp_path, settings))

    assert (board.name, board.kind, board.key) == ("rock", "ssh", "ssh:rock.lan:2222")
    assert board.power == power


def test_a_board_that_does_not_answer_is_not_asked_to_reboot(tmp_path: Path) -> None:
    """No one would hear it, and waiting for it to boot would take minutes."""
    env = {"MEGTRIM_STATE": str(tmp_path)}
    broken = Recorder(env, stderr="Connection refused", rc=255)
    with pytest.raises(InfrastructureFailure, match="cannot be asked to reboot"):
        ssh.find(make_spec(broken, tmp_path, SETTINGS))[0].reboot()
    assert not any("reboot" in command.argv[-1] for command in broken.commands)


def test_a_connection_that_breaks_is_a_reboot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Recorder({"MEGTRIM_STATE": str(tmp_path)}, stderr="Connection reset by peer", rc=255)
    (board,) = ssh.find(make_spec(broken, tmp_path, SETTINGS))
    monkeypatch.setattr(board, "alive", lambda: True)
    board.reboot()
    assert "reboot" in broken.commands[0].argv[-1]


def test_what_this_machine_has(tmp_path: Path) -> None:
    assert "apt-get install openssh-client" in ssh.missing(ProcessRunner({"PATH": str(tmp_path)}))
    assert ssh.missing(ProcessRunner(os.environ)) == ""
    assert ssh.describe_tools(ProcessRunner(os.environ)).startswith("OpenSSH_")
