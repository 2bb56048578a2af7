"""A virtual phone leaves nothing behind, however it ends, and runs however it is started."""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from integration.devices.rigs import ConnectedPhone, StartPhone
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import Command, ProcessRunner
from virtual_phone import manager
from virtual_phone.spec import PhoneSpec

_SOURCES = str(Path(manager.__file__).parents[1])
_PROGRAM = (sys.executable, "-m", "virtual_phone")


def inhabitants(root: Path) -> set[int]:
    """Return the processes of this machine that have to do with phones of that root."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if b"virtual_phone." in line and str(root).encode() in line:
            found.add(int(entry.name))
    return found


def wait_gone(pids: set[int], within_s: float = 5.0) -> None:
    deadline = time.monotonic() + within_s
    while alive := {pid for pid in pids if _runs(pid)}:
        assert time.monotonic() < deadline, f"{alive} still run"
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False


@pytest.fixture
def places(tmp_path: Path, phone_environment: dict[str, str]) -> dict[str, str]:
    folder = Path(phone_environment["XDG_RUNTIME_DIR"]) / tmp_path.name[-12:]
    folder.mkdir()
    return {**phone_environment, "XDG_RUNTIME_DIR": str(folder), "PYTHONPATH": _SOURCES}


@pytest.fixture
def own_root(tmp_path: Path, phone_root: Path) -> Path:
    alias = tmp_path / "root"
    alias.symlink_to(phone_root)
    return alias


@contextmanager
def by_hand(
    env: dict[str, str], root: Path
) -> Iterator[tuple[int, manager.RunningPhone, set[int]]]:
    processes = ProcessRunner(env)
    argv = (*_PROGRAM, "start", "mine", "--root", str(root))
    with processes.background(Command(argv=argv, timeout_s=30)) as command:
        deadline = time.monotonic() + 20
        while not (found := manager.running(processes)):
            assert command.alive(), "it ended"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield command.pid, found[0], inhabitants(root)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_command_ends(places: dict[str, str], own_root: Path, number: signal.Signals) -> None:
    with by_hand(places, own_root) as (pid, phone, alive):
        assert len(alive) >= 3  # the supervisor, the boot, and the first process of the phone
        os.kill(pid, number)
        wait_gone({pid, phone.pid, *alive})
    assert list(Path(places["XDG_RUNTIME_DIR"]).rglob("*")) == []


@pytest.mark.parametrize("frozen", [False, True])
def test_the_supervisor_is_killed(places: dict[str, str], own_root: Path, frozen: bool) -> None:
    with by_hand(places, own_root) as (pid, phone, alive):
        if frozen:
            phone.fault("freeze")
        os.kill(phone.pid, signal.SIGKILL)
        wait_gone({pid, *alive})
    assert list(Path(places["XDG_RUNTIME_DIR"]).rglob("*")) == []


def test_what_dead_ones_left_is_removed(places: dict[str, str], own_root: Path) -> None:
    with by_hand(places, own_root) as (pid, phone, alive):
        os.kill(pid, signal.SIGSTOP)
        os.kill(phone.pid, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        wait_gone({pid, *alive})
    assert phone.folder.is_dir()
    assert manager.running(ProcessRunner(places)) == ()
    assert list(Path(places["XDG_RUNTIME_DIR"]).rglob("*")) == []


def test_commands_of_a_person(places: dict[str, str], own_root: Path) -> None:
    processes = ProcessRunner(places)
    with by_hand(places, own_root) as (_pid, phone, _alive):
        listed = processes.capture(*_PROGRAM, "list")
        assert listed == f"mine\t{phone.serial}\trunning\n"
        processes.capture(*_PROGRAM, "fault", "mine", "kill", "--when", "push", "--after", "9")
        assert processes.capture(*_PROGRAM, "list").endswith("\trunning\tkill at push\n")
        processes.capture(*_PROGRAM, "fault", "mine", "battery", "12")
        assert phone.status()["battery"] == 12
        for words, message in (
            (("mine", "boom"), "there is no fault 'boom'"),
            (("other", "kill"), "no virtual phone named 'other' runs here"),
        ):
            outcome = processes.run(Command(argv=(*_PROGRAM, "fault", *words), timeout_s=20))
            assert outcome.rc == 2
            assert message in outcome.stderr


def test_two_of_one_name(start_phone: StartPhone) -> None:
    first = start_phone(name="twin")
    with pytest.raises(InputError, match="a virtual phone named 'twin' runs already"):
        start_phone(name="twin")
    assert first.shell("echo on").stdout == "on\n"


def test_two_phones_share_nothing(start_phone: StartPhone) -> None:
    first, second = start_phone(), start_phone()
    first.shell("echo mine > /data/local/tmp/file")
    assert second.shell("ls /data/local/tmp").stdout == ""
    first.fault("freeze")
    assert second.shell("echo on").stdout == "on\n"
    first.fault("thaw")


def test_a_root_that_is_none(places: dict[str, str], tmp_path: Path) -> None:
    with (
        pytest.raises(InfrastructureFailure, match="virtual phone odd did not start: "),
        manager.run_phone(ProcessRunner(places), tmp_path, PhoneSpec(name="odd")),
    ):
        pass
    assert list(Path(places["XDG_RUNTIME_DIR"]).rglob("*")) == []


@pytest.mark.parametrize("name", ["", "../up", "a b", "-x", "x" * 61])
def test_names(places: dict[str, str], tmp_path: Path, name: str) -> None:
    with (
        pytest.raises(InputError),
        manager.run_phone(ProcessRunner(places), tmp_path, PhoneSpec(name=name)),
    ):
        pass


def test_odd_requests_are_refused(phone: ConnectedPhone) -> None:
    import socket

    for line in (b"\n", b"{}\n", b"[]\n", b'{"do": "dance"}\n', b'{"do": "fault", "request": 3}\n'):
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(10)
            door.connect(str(phone.folder / "control"))
            door.sendall(line)
            assert "error" in json.loads(door.makefile("rb").readline())
    assert phone.shell("echo on").stdout == "on\n"
