import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from support.clock import until
from virtual_phone import adb_server, manager, owned_dirs, spec
from virtual_phone.adb_server import private_server
from virtual_phone.manager import RunningPhone
from virtual_phone.owned_dirs import GRACE_S, hold, is_abandoned
from virtual_phone.spec import SOCKET, PhoneSpec


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


REFUSED = r"^the virtual phone refused: no such request$"


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        (b'{"error": "no such request"}\n', InputError, REFUSED),
        (b'"no such request"\n', InputError, REFUSED),
        (b"", InfrastructureFailure, "does not answer"),
        (b"{\n", InfrastructureFailure, "does not answer"),
    ],
)
def test_a_refusal_is_an_input_error_and_half_an_answer_is_none(
    tmp_path: Path, answer: bytes, error: type[Exception], said: str
) -> None:
    with supervisor(tmp_path, answer), pytest.raises(error, match=said):
        phone(tmp_path).status()


def test_a_phone_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureFailure, match="does not answer") as caught:
        phone(tmp_path).status()
    assert str(tmp_path) in caught.value.message


def virtual_phone(folder: Path, *words: str) -> CompletedCommand:
    env = {"PATH": str(folder), "PYTHONPATH": SOURCES, "XDG_RUNTIME_DIR": str(folder)}
    argv = (sys.executable, "-m", "virtual_phone", *words)
    return ProcessRunner(env).run(Command(argv=argv, timeout_s=60))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fault", "mine", "boom"), "virtual-phone: there is no fault 'boom'\n  faults: kill, "),
        (("fault", "mine", "kill"), "virtual-phone: no virtual phone named 'mine' runs here"),
        (("start", "a/b", "--root", "/"), "virtual-phone: a virtual phone cannot be named 'a/b'"),
        (("fly",), "Usage: virtual-phone "),
    ],
)
def test_a_mistake_is_an_input_error(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    outcome = virtual_phone(tmp_path, *words)

    assert (outcome.rc, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(message)


def test_no_phone_runs(tmp_path: Path) -> None:
    outcome = virtual_phone(tmp_path, "list")

    assert (outcome.rc, outcome.stdout, outcome.stderr) == (0, "", "")


MODULE = "import sys\ndef main(): print(sys.flags.isolated, *sys.argv[1:], sep='|')\n"


def test_the_supervisor_gets_the_whole_spec() -> None:
    asked = PhoneSpec(
        name="a b",
        folder="/tmp/x",
        root="/root",
        emulator="",
        path="/bin",
        properties={"ro.product.model": "P'6\n"},
    )
    *_, module, argument = asked.argv()

    assert module == "virtual_phone.supervisor"
    assert PhoneSpec(**json.loads(argument)) == asked


def test_a_modules_main_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "tried.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "tried.py").write_text("raise SystemExit(9)", encoding="utf-8")
    monkeypatch.setattr(spec, "_SOURCES", str(tmp_path / "sources"))
    monkeypatch.chdir(tmp_path)
    argv = spec.own_program("tried", "a b", "")
    outcome = ProcessRunner({"PYTHONPATH": str(tmp_path)}).run(Command(argv=argv, timeout_s=60))

    assert (outcome.rc, outcome.stdout) == (0, "1|a b|\n"), outcome.stderr


def test_held_until_let_go(tmp_path: Path) -> None:
    """Looking does not take it; closing the descriptor, as the end of a process does, frees it."""
    lock = hold(tmp_path)

    assert (is_abandoned(tmp_path), is_abandoned(tmp_path)) == (False, False)
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]
    os.close(lock)
    assert is_abandoned(tmp_path)


@pytest.mark.parametrize(
    ("age_s", "dead"), [(0.0, False), (GRACE_S - 5, False), (GRACE_S + 5, True)]
)
def test_one_that_no_one_held_yet(tmp_path: Path, age_s: float, dead: bool) -> None:
    then = time.time() - age_s
    os.utime(tmp_path, (then, then))

    assert is_abandoned(tmp_path) is dead


def test_one_that_is_gone(tmp_path: Path) -> None:
    assert not is_abandoned(tmp_path / "gone")


def test_a_link_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    (tmp_path / "lock").symlink_to(tmp_path / "other")

    assert not is_abandoned(tmp_path)


SOURCES = str(Path(adb_server.__file__).parents[1])
LISTENS = f"""\
#!{sys.executable}
import socket, sys, time
assert sys.argv[3:] == ["nodaemon", "server"]
door = socket.create_server(("127.0.0.1", int(sys.argv[2])))
time.sleep(60)
"""
OWNER = """\
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from virtual_phone.adb_server import private_server
from megtrim.libs.util.process import ProcessRunner
with private_server(ProcessRunner({}), sys.argv[2], parent=Path(sys.argv[3])):
    time.sleep(60)
"""


@pytest.fixture
def adb(tmp_path: Path) -> str:
    """A program that listens as adb's server does."""
    program = tmp_path / "adb"
    program.write_text(LISTENS, encoding="utf-8")
    program.chmod(0o755)
    return str(program)


@pytest.fixture
def companion(tmp_path: Path) -> Path:
    folder = tmp_path / "companion"
    folder.mkdir()
    return folder


def test_its_folder_goes_with_it(adb: str, companion: Path) -> None:
    with private_server(ProcessRunner({}), adb, parent=companion) as running:
        (home,) = companion.iterdir()
        assert running.env["HOME"] == running.env["TMPDIR"] == str(home)
        assert running.env["ANDROID_ADB_SERVER_PORT"] == str(running.port)
        assert home.stat().st_mode & 0o777 == 0o700
    assert list(companion.iterdir()) == []


def test_what_a_killed_owner_left_is_removed(adb: str, companion: Path) -> None:
    processes = ProcessRunner({})
    argv = (sys.executable, "-c", OWNER, SOURCES, adb, str(companion))
    with (
        private_server(processes, adb, parent=companion) as living,
        processes.background(Command(argv=argv, timeout_s=30)) as owner,
    ):
        until(lambda: list(companion.glob("*/lock"))[1:], "the owner's folder")
        os.kill(owner.pid, signal.SIGKILL)
        until(lambda: not owner.alive(), "the owner's end")
        (left,) = {*companion.iterdir()} - {Path(living.env["HOME"])}
        # A child that was just forked has the lock, too, until it becomes another program.
        until(lambda: owned_dirs.is_abandoned(left), "an abandoned folder")

        with private_server(processes, adb, parent=companion) as next_one:
            homes = {str(path) for path in companion.iterdir()}
            assert homes == {living.env["HOME"], next_one.env["HOME"]}


def test_what_is_not_ours_stays(adb: str, companion: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = companion.parent / "outside"
    outside.mkdir()
    os.close(owned_dirs.hold(outside))
    (companion / "megtrim-adb-link").symlink_to(outside)
    (companion / "megtrim-adb-file").touch()
    (companion / "other").mkdir()
    with private_server(ProcessRunner({}), adb, parent=companion):
        pass
    (companion / "megtrim-adb-theirs").mkdir()
    os.close(owned_dirs.hold(companion / "megtrim-adb-theirs"))
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    with private_server(ProcessRunner({}), adb, parent=companion):
        pass

    names = ["megtrim-adb-file", "megtrim-adb-link", "megtrim-adb-theirs", "other"]
    assert sorted(path.name for path in companion.iterdir()) == names
    assert (outside / "lock").is_file()


def test_one_that_ends_at_once(companion: Path) -> None:
    with (
        pytest.raises(InfrastructureFailure, match="adb's server did not start on port "),
        private_server(ProcessRunner({}), "/bin/false", parent=companion),
    ):
        pass
    assert list(companion.iterdir()) == []


def test_a_place_that_is_none(adb: str, companion: Path) -> None:
    with (
        pytest.raises(InfrastructureFailure, match="a folder for adb's server cannot be made in "),
        private_server(ProcessRunner({}), adb, parent=companion / "gone"),
    ):
        pass
