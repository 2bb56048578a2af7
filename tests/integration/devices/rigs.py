"""The kinds of devices, each set up for the contract suite in the same shape."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from megtrim import devices
from megtrim.config.device import DeviceSettings
from megtrim.devices import Device, DeviceSpec, RunDirectory
from megtrim.devices import adb as adb_kind
from megtrim.util.process import Command, CompletedCommand, ProcessRunner
from support import sshd
from virtual_phone import adb_server, manager
from virtual_phone.adb_server import AdbServer
from virtual_phone.manager import RunningPhone
from virtual_phone.spec import PhoneSpec

KINDS = ("local", "qemu", "ssh", "adb", "virtual-phone")
SYSROOT = Path("/usr/aarch64-linux-gnu")


@dataclass(slots=True, kw_only=True)
class Rig:
    """A device, programs for it, and a look at what is left on it."""

    kind: str
    device: Device
    program: Path
    dynamic: Path
    left: Callable[[], list[str]]
    said: list[str] = field(default_factory=list)

    @property
    def remote(self) -> bool:
        return self.kind not in {"local", "qemu"}

    @contextmanager
    def open(self) -> Iterator[RunDirectory]:
        with self.device.reserve() as lease, lease.open() as directory:
            directory.put(self.program, "deed")
            yield directory


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    deed: Path
    dynamic: Path


_DYNAMIC = """\
#include <iostream>
#include <string>
int main() { std::cout << std::string("dynamic") << std::endl; return 5; }
"""


def build(processes: ProcessRunner, folder: Path, prefix: str) -> Programs:
    source = Path(__file__).parents[2] / "support" / "signal_probe.c"
    made = Programs(deed=folder / f"{prefix}deed", dynamic=folder / f"{prefix}dynamic")
    (folder / "dynamic.cpp").write_text(_DYNAMIC, encoding="utf-8")
    processes.capture(f"{prefix}gcc", "-O1", "-static", str(source), "-o", str(made.deed))
    argv = (f"{prefix}g++", "-O1", str(folder / "dynamic.cpp"), "-o", str(made.dynamic))
    processes.capture(*argv)
    return made


class Maker:
    def __init__(
        self,
        request: pytest.FixtureRequest,
        programs: Callable[[str], Programs],
        folder: Path,
        stack: ExitStack,
    ) -> None:
        self._request = request
        self._programs = programs
        self._folder = folder
        self._stack = stack

    def make(self, kind: str) -> Rig:
        # A socket's path must be short: pytest's folders are not.
        state = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="mt"))
        env = {**os.environ, "MEGTRIM_STATE": state}
        env.pop("XDG_RUNTIME_DIR", None)
        match kind:
            case "local" | "qemu":
                return self._here(kind, env)
            case "ssh":
                return self._board(env)
            case "adb":
                return self._attached(env)
            case _:
                return self._played(env)

    def _make_spec(self, kind: str, env: dict[str, str], said: list[str]) -> DeviceSpec:
        arm = kind not in {"local", "ssh"}
        return DeviceSpec(
            name=f"the-{kind}",
            processes=ProcessRunner(env),
            scratch=self._folder / "scratch",
            machine="aarch64" if arm else os.uname().machine,
            qemu_cpu="max",
            sysroot=SYSROOT if arm else None,
            say=said.append,
        )

    def _rig(
        self, spec: DeviceSpec, kind: str, said: list[str], left: Callable[[], list[str]]
    ) -> Rig:
        programs = self._programs("aarch64-linux-gnu-" if spec.machine == "aarch64" else "")
        return Rig(
            kind=kind,
            device=devices.KINDS[kind](spec),
            program=programs.deed,
            dynamic=programs.dynamic,
            left=left,
            said=said,
        )

    def _here(self, kind: str, env: dict[str, str]) -> Rig:
        said = list[str]()
        spec = self._make_spec(kind, env, said)
        scratch = spec.scratch

        def left() -> list[str]:
            return sorted(path.name for path in scratch.iterdir()) if scratch.is_dir() else []

        return self._rig(spec, kind, said, left)

    def _board(self, env: dict[str, str]) -> Rig:
        said = list[str]()
        folder = self._folder / "board"
        folder.mkdir()
        board = self._stack.enter_context(sshd.running(ProcessRunner(env), folder))
        spec = replace(self._make_spec("ssh", env, said), settings=board.settings)
        return self._rig(spec, "ssh", said, board.run_directories)

    def _attached(self, env: dict[str, str]) -> Rig:
        said = list[str]()
        running: AdbServer = self._request.getfixturevalue("adb_server")
        root: Path = self._request.getfixturevalue("phone_root")
        places: dict[str, str] = self._request.getfixturevalue("phone_environment")
        processes = ProcessRunner({**places, **running.env})
        phone = self._stack.enter_context(
            manager.run_phone(processes, root, PhoneSpec(name="contract"))
        )
        adb_server.connect(processes, running, phone.serial)
        adb = (running.adb, "-s", phone.serial)
        self._stack.callback(_quietly, processes, (running.adb, "disconnect", phone.serial))

        def left() -> list[str]:
            return _quietly(processes, (*adb, "shell", f"ls {adb_kind.ROOT}/runs")).split()

        spec = self._make_spec("adb", {**processes.env, **_state(env)}, said)
        spec = replace(spec, settings=DeviceSettings(serial=phone.serial))
        return self._rig(spec, "adb", said, left)

    def _played(self, env: dict[str, str]) -> Rig:
        said = list[str]()
        places: dict[str, str] = self._request.getfixturevalue("phone_environment")
        self._request.getfixturevalue("phone_root")
        spec = self._make_spec("virtual-phone", {**places, **_state(env)}, said)
        # The phone goes with its lease, and all that is on it with the phone.
        return self._rig(spec, "virtual-phone", said, list)


def _state(env: dict[str, str]) -> dict[str, str]:
    return {"MEGTRIM_STATE": env["MEGTRIM_STATE"]}


def _quietly(processes: ProcessRunner, argv: tuple[str, ...]) -> str:
    return processes.run(Command(argv=argv, timeout_s=20)).stdout


CPU = "cortex-a76"
_NUMBERS = count()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectedPhone(RunningPhone):
    """``processes`` has an environment whose adb clients speak with the connected server."""

    server: AdbServer
    processes: ProcessRunner

    def adb(self, *words: str, timeout_s: float = 30.0) -> CompletedCommand:
        argv = (self.server.adb, "-s", self.serial, *words)
        return self.processes.run(Command(argv=argv, timeout_s=timeout_s))

    def shell(self, script: str, timeout_s: float = 30.0) -> CompletedCommand:
        return self.adb("shell", script, timeout_s=timeout_s)

    def connect(self) -> None:
        adb_server.connect(self.processes, self.server, self.serial)


StartPhone = Callable[..., ConnectedPhone]


@contextmanager
def phone_starter(root: Path, env: dict[str, str], adb: AdbServer) -> Iterator[StartPhone]:
    processes = ProcessRunner({**env, **adb.env})
    with ExitStack() as stack:

        def start(**wish: Any) -> ConnectedPhone:
            asked = PhoneSpec(**{"name": f"test-{next(_NUMBERS)}", "cpu": CPU, **wish})
            phone = stack.enter_context(manager.run_phone(processes, root, asked))
            adb_server.connect(processes, adb, phone.serial)
            stack.callback(_disconnect, processes, adb, phone.serial)
            return ConnectedPhone(
                name=phone.name,
                pid=phone.pid,
                port=phone.port,
                folder=phone.folder,
                server=adb,
                processes=processes,
            )

        yield start


def _disconnect(processes: ProcessRunner, adb: AdbServer, serial: str) -> None:
    processes.run(Command(argv=(adb.adb, "disconnect", serial), timeout_s=10))
