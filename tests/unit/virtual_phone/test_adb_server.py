import os
import signal
import sys
import time
from pathlib import Path

import pytest

from megtrim.util.errors import InfrastructureFailure
from megtrim.util.process import Command, ProcessRunner
from virtual_phone import adb_server, owned_dirs
from virtual_phone.adb_server import private_server

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
from megtrim.util.process import ProcessRunner
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
        deadline = time.monotonic() + 20
        while not list(companion.glob("*/lock"))[1:]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.kill(owner.pid, signal.SIGKILL)
        while owner.alive():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        (left,) = {*companion.iterdir()} - {Path(living.env["HOME"])}
        # A child that was just forked has the lock, too, until it becomes another program.
        while not owned_dirs.is_abandoned(left):
            assert time.monotonic() < deadline
            time.sleep(0.01)

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
