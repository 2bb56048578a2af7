import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import ProcessRunner
from virtual_phone import manager
from virtual_phone.manager import RunningPhone
from virtual_phone.spec import SOCKET


def test_what_runs_arm64_programs(tmp_path: Path) -> None:
    """The emulator by its real path, for it is opened where links lead elsewhere."""
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "qemu-aarch64-static"
    real.touch()
    real.chmod(0o755)
    (tmp_path / "qemu-aarch64").symlink_to(real)
    processes = ProcessRunner({"PATH": str(tmp_path)})

    assert manager.emulator(processes, native="x86_64") == str(real)
    assert manager.emulator(processes, native="aarch64") == ""


def test_without_an_emulator(tmp_path: Path) -> None:
    with pytest.raises(InputError) as failure:
        manager.emulator(ProcessRunner({"PATH": str(tmp_path)}), native="x86_64")

    assert failure.value.message == (
        "virtual phone: there is no qemu-aarch64 here, and the machine is no aarch64"
    )
    assert failure.value.hint == "on Debian: apt-get install qemu-user-static"


def phone(folder: Path) -> RunningPhone:
    return RunningPhone(name="mine", pid=1, port=1, folder=folder)


@contextmanager
def supervisor(folder: Path, answer: bytes) -> Iterator[list[Any]]:
    came: list[Any] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(str(folder / SOCKET))
        door.listen()
        door.settimeout(10)

        def serve() -> None:
            connection, _ = door.accept()
            with connection, connection.makefile("rb") as reader:
                came.append(json.loads(reader.readline()))
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield came
        thread.join(10)


@pytest.mark.parametrize(
    ("call", "sent"),
    [
        (lambda c: c.status(), {"do": "status"}),
        (lambda c: c.log("a"), {"do": "log", "text": "a"}),
        (lambda c: c.set_properties({"a": "b"}), {"do": "properties", "values": {"a": "b"}}),
    ],
)
def test_one_line_goes_out(
    tmp_path: Path, call: Callable[[RunningPhone], Any], sent: dict[str, Any]
) -> None:
    with supervisor(tmp_path, b'{"state": "running"}\n') as came:
        assert call(phone(tmp_path)) in (None, {"state": "running"})
    assert came == [sent]


def test_a_fault_goes_out_with_its_defaults(tmp_path: Path) -> None:
    with supervisor(tmp_path, b"{}\n") as came:
        phone(tmp_path).fault("vanish")
    assert came[0]["do"] == "fault"
    assert (came[0]["request"]["moment"], came[0]["request"]["after_bytes"]) == ("push", 65536)


@pytest.mark.parametrize("answer", [b'{"error": "no such request"}\n', b'"no such request"\n'])
def test_a_refusal_is_an_input_error(tmp_path: Path, answer: bytes) -> None:
    with (
        supervisor(tmp_path, answer),
        pytest.raises(InputError, match=r"^the virtual phone refused: no such request$"),
    ):
        phone(tmp_path).status()


@pytest.mark.parametrize("answer", [b"", b"{\n"])
def test_half_an_answer_is_none(tmp_path: Path, answer: bytes) -> None:
    with (
        supervisor(tmp_path, answer),
        pytest.raises(InfrastructureFailure, match="does not answer"),
    ):
        phone(tmp_path).status()


def test_a_phone_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureFailure, match="does not answer") as caught:
        phone(tmp_path).status()
    assert str(tmp_path) in caught.value.message
