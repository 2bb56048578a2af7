"""The transport to a phone behind adb. Every call names its phone and has a timeout."""

from __future__ import annotations

import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path

from megtrim.devices.remote.transport import (
    expect_pushed,
    expect_transferred,
    frame,
    new_nonce,
    unframe_outcome,
)
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.util.value import Value

ADB_VARIABLE = "MEGTRIM_ADB"
PORT_VARIABLE = "ANDROID_ADB_SERVER_PORT"
HOST = "127.0.0.1"
"""adb starts a server only for "localhost", not for this address of the same machine."""

_DEFAULT_PORT = 5037
_ANSWER_S = 5.0
_VERSION_S = 10.0
_CLIENT = re.compile(r"^Android Debug Bridge version \d{1,4}\.\d{1,4}\.(\d{1,6})", re.MULTILINE)
SHARED_SERIAL = "several phones have this serial, and adb shows no USB port of theirs"
_TWIN = re.compile(r"^(\S+) +(\S+) (usb:\S+)", re.MULTILINE)
_MOST_BYTES = 0xFFFF
_VERSIONS: dict[tuple[str, int, int], int] = {}
_HINT = (
    "start one outside of jobs, such as `adb start-server` as the user of the jobs, or the "
    "service that scripts/device-host sets up"
)


class Adb(Value):
    program: str
    version: int
    """Version of the protocol between client and server."""
    port: int
    processes: ProcessRunner

    def argv(self, *args: str) -> tuple[str, ...]:
        return (self.program, "-H", HOST, "-P", str(self.port), *args)

    def require_server(self) -> None:
        found = ask(self.port, "host:version")
        try:
            version = int(found, 16)
        except ValueError:
            raise _make_protocol_error(self.port) from None
        if version != self.version:
            msg = (
                f"the adb server on port {self.port} is of version {version}, "
                f"{self.program} of {self.version}: using it would kill the server"
            )
            raise InfrastructureFailure(msg, hint=f"name the server's own adb in {ADB_VARIABLE}")

    def states(self) -> dict[str, str]:
        """By serial, as ``adb devices`` shows it."""
        self.require_server()
        lines = ask(self.port, "host:devices").splitlines()
        pairs = [(serial, state) for serial, _, state in (line.partition("\t") for line in lines)]
        serials = [serial for serial, state in pairs if serial and state]
        if twins := {serial for serial in serials if serials.count(serial) > 1}:
            pairs = [pair for pair in pairs if pair[0] not in twins] + self._list_twins(twins)
        return {serial: state for serial, state in pairs if serial and state}

    def _list_twins(self, serials: Collection[str]) -> list[tuple[str, str]]:
        answer = ask(self.port, "host:devices-l")
        found = [
            (port, state) for serial, state, port in _TWIN.findall(answer) if serial in serials
        ]
        return found or [(serial, SHARED_SERIAL) for serial in serials]


def find_adb(processes: ProcessRunner) -> Adb:
    env = processes.env
    wanted = env.get(ADB_VARIABLE) or "adb"
    program = shutil.which(wanted, path=env.get("PATH", ""))
    if program is None:
        msg = f"there is no program {wanted!r}"
        hint = f"on Debian: apt-get install adb; or name yours in {ADB_VARIABLE}"
        raise InputError(msg, hint=hint)
    program = str(Path(program).absolute())
    port = env.get(PORT_VARIABLE) or str(_DEFAULT_PORT)
    if not port.isdecimal() or not 0 < int(port) < 65536:
        msg = f"{PORT_VARIABLE} is {port!r}, expected a port"
        raise InputError(msg, hint=f"such as {_DEFAULT_PORT}, which is its default")
    version = _version(program, processes)
    return Adb(program=program, version=version, port=int(port), processes=processes)


def _version(program: str, processes: ProcessRunner) -> int:
    facts = Path(program).stat()
    key = (program, facts.st_mtime_ns, facts.st_size)
    if key not in _VERSIONS:
        outcome = processes.run(Command(argv=(program, "version"), timeout_s=_VERSION_S))
        found = _CLIENT.search(outcome.stdout)
        if found is None:
            msg = f"{program} does not print its version as adb does"
            raise InputError(msg, hint=f"name another adb in {ADB_VARIABLE}")
        _VERSIONS[key] = int(found[1])
    return _VERSIONS[key]


def ask(port: int, question: str) -> str:
    try:
        with socket.create_connection((HOST, port), timeout=_ANSWER_S) as connection:
            connection.sendall(f"{len(question):04x}{question}".encode())
            if _read(connection, 4) != b"OKAY":
                raise _make_protocol_error(port)
            size = int(_read(connection, 4), 16)
            return _read(connection, size).decode("utf-8", "replace")
    except ConnectionRefusedError:
        msg = f"no adb server listens on {HOST}:{port}"
        raise InfrastructureFailure(msg, hint=_HINT) from None
    except (OSError, ValueError) as error:
        msg = f"the adb server on port {port} does not answer: {error}"
        raise InfrastructureFailure(msg, hint=_HINT) from None


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    end = time.monotonic() + _ANSWER_S
    while len(data) < min(size, _MOST_BYTES):
        if time.monotonic() > end:
            msg = "its answer takes too long"
            raise ValueError(msg)
        part = connection.recv(size - len(data))
        if not part:
            msg = "it closed the connection"
            raise ValueError(msg)
        data += part
    return data


def _make_protocol_error(port: int) -> InfrastructureFailure:
    msg = f"what listens on {HOST}:{port} does not answer as an adb server"
    return InfrastructureFailure(msg, hint=_HINT)


class AdbTransport:
    def __init__(self, adb: Adb, serial: str, label: str) -> None:
        self.label = label
        self.adb = adb
        self.serial = serial

    def command(
        self,
        *args: str,
        timeout_s: float,
        on_line: Callable[[str], None] | None = None,
        abort: threading.Event | None = None,
    ) -> CompletedCommand:
        self.adb.require_server()
        argv = self.adb.argv("-s", self.serial, *args)
        return self.adb.processes.run(
            Command(argv=argv, timeout_s=timeout_s, on_line=on_line, abort=abort)
        )

    def shell(
        self,
        script: str,
        *args: str,
        timeout_s: float,
        on_line: Callable[[str], None] | None = None,
        abort: threading.Event | None = None,
    ) -> CompletedCommand:
        nonce = new_nonce()
        text = frame(script, args, nonce)
        outcome = self.command(
            "shell", "-n", text, timeout_s=timeout_s, on_line=on_line, abort=abort
        )
        return unframe_outcome(outcome, nonce, label=self.label, script=script)

    def push(
        self, source: Path, target: str, *, timeout_s: float, abort: threading.Event | None = None
    ) -> None:
        outcome = self.command("push", str(source), target, timeout_s=timeout_s, abort=abort)
        step = f"pushing {source.name}"
        expect_pushed(outcome, label=self.label, step=step, timeout_s=timeout_s)

    def pull(
        self, source: str, target: Path, *, timeout_s: float, abort: threading.Event | None = None
    ) -> None:
        outcome = self.command("pull", source, str(target), timeout_s=timeout_s, abort=abort)
        step = f"fetching {source.rpartition('/')[2]}"
        expect_transferred(outcome, label=self.label, step=step, timeout_s=timeout_s)
