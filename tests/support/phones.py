"""Virtual phones for tests, each with an adb server of the tests' own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from megtrim.util.process import Command, CompletedCommand, ProcessRunner
from virtual_phone import adb_server, manager
from virtual_phone.adb_server import AdbServer
from virtual_phone.control import ControlClient
from virtual_phone.manager import PhoneRequest

CPU = "cortex-a76"
_NUMBERS = count()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectedPhone:
    """A phone that runs, and a server that is connected to it.

    ``processes`` has an environment whose adb clients speak with that server.
    """

    name: str
    serial: str
    control: ControlClient
    server: AdbServer
    processes: ProcessRunner
    pid: int
    folder: Path

    def adb(self, *words: str, timeout_s: float = 30.0) -> CompletedCommand:
        argv = (self.server.adb, "-s", self.serial, *words)
        return self.processes.run(Command(argv=argv, timeout_s=timeout_s))

    def shell(self, script: str, timeout_s: float = 30.0) -> CompletedCommand:
        return self.adb("shell", script, timeout_s=timeout_s)

    def connect(self) -> None:
        adb_server.connect(self.processes, self.server, self.serial)


StartPhone = Callable[..., ConnectedPhone]
"""Takes what a Wish takes, all of it optional."""


@contextmanager
def phone_starter(root: Path, env: dict[str, str], adb: AdbServer) -> Iterator[StartPhone]:
    processes = ProcessRunner({**env, **adb.env})
    with ExitStack() as stack:

        def start(**wish: Any) -> ConnectedPhone:
            asked = PhoneRequest(**{"name": f"test-{next(_NUMBERS)}", "cpu": CPU, **wish})
            phone = stack.enter_context(manager.run_phone(processes, root, asked))
            adb_server.connect(processes, adb, phone.serial)
            stack.callback(_disconnect, processes, adb, phone.serial)
            return ConnectedPhone(
                name=phone.name,
                serial=phone.serial,
                control=phone.control,
                server=adb,
                processes=processes,
                pid=phone.pid,
                folder=phone.folder,
            )

        yield start


def _disconnect(processes: ProcessRunner, adb: AdbServer, serial: str) -> None:
    processes.run(Command(argv=(adb.adb, "disconnect", serial), timeout_s=10))
