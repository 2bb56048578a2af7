"""An adb server of our own: on its own port, with its own keys, gone when we leave."""

import os
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.libs.util.process import Background, Command, ProcessRunner
from virtual_phone.owned_dirs import hold, is_abandoned

PORT_VARIABLE = "ANDROID_ADB_SERVER_PORT"
_PREFIX = "megtrim-adb-"
_START_S = 20.0
_CALL_S = 20.0
_LOOK_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class AdbServer:
    """A server that runs. ``env`` leads adb's clients to it."""

    adb: str
    port: int
    env: Mapping[str, str]


@contextmanager
def private_server(
    processes: ProcessRunner, adb: str = "adb", *, parent: Path | None = None
) -> Iterator[AdbServer]:
    """Its keys and its log are below ``parent``, by default the folder for temporary files."""
    with _home(parent or Path(tempfile.gettempdir())) as home:
        with socket.create_server(("127.0.0.1", 0)) as door:
            port = int(door.getsockname()[1])
        env = {
            PORT_VARIABLE: str(port),
            "HOME": str(home),
            "TMPDIR": str(home),
            # Else it looks for emulators and finds those of other people.
            "ADB_LOCAL_TRANSPORT_MAX_PORT": "5554",
            "ADB_MDNS": "0",
            "ADB_MDNS_AUTO_CONNECT": "0",
        }
        argv = (adb, "-P", str(port), "nodaemon", "server")
        command = Command(argv=argv, env=env, timeout_s=_START_S, log=home / "server.log")
        with processes.background(command) as server:
            _await_port(port, server)
            yield AdbServer(adb=adb, port=port, env=env)


def connect(processes: ProcessRunner, server: AdbServer, serial: str) -> None:
    deadline = time.monotonic() + _CALL_S
    while True:
        said = _call(processes, server, "connect", serial)
        if _call(processes, server, "-s", serial, "get-state").strip() == "device":
            return
        if time.monotonic() > deadline:
            break
        time.sleep(_LOOK_S)
    msg = f"adb cannot connect to {serial}: {said.strip()}"
    raise InfrastructureFailure(msg)


@contextmanager
def _home(parent: Path) -> Iterator[Path]:
    """A folder that goes with the block; those that dead owners left are removed."""
    for folder in sorted(parent.glob(f"{_PREFIX}*")):
        if _is_ours(folder) and is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)
    try:
        home = Path(tempfile.mkdtemp(dir=parent, prefix=_PREFIX))
        lock = hold(home)
    except OSError as error:
        msg = f"a folder for adb's server cannot be made in {parent}: {error.strerror}"
        raise InfrastructureFailure(msg) from None
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)
        os.close(lock)


def _is_ours(folder: Path) -> bool:
    with suppress(OSError):
        found = folder.lstat()
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return False


def _call(processes: ProcessRunner, server: AdbServer, *words: str) -> str:
    # Under this name of the machine a client never starts a server where it finds none.
    argv = (server.adb, "-H", "127.0.0.1", "-P", str(server.port), *words)
    return processes.run(Command(argv=argv, env=server.env, timeout_s=_CALL_S)).stdout


def _await_port(port: int, server: Background) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and server.alive():
        try:
            with socket.create_connection(("127.0.0.1", port), 1.0):
                return
        except OSError:
            time.sleep(_LOOK_S)
    msg = f"adb's server did not start on port {port}"
    raise InfrastructureFailure(msg)
