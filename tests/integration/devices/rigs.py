"""The kinds of devices, each set up for the contract suite in the same shape."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from megtrim.core.config.device import DeviceSettings
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.places.devices import adb as adb_kind
from megtrim.places.devices import kinds as device_kinds
from megtrim.places.devices.device import Device, DeviceSpec, Lease, RunDirectory
from support import sshd
from unit.places.devices.machines import spec_of
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
    lease: Lease | None = None
    """One for all jobs, where each lease would start a machine of its own."""

    @property
    def remote(self) -> bool:
        return self.kind not in {"local", "qemu"}

    def reserve(self) -> AbstractContextManager[Lease]:
        return nullcontext(self.lease) if self.lease else self.device.reserve()

    @contextmanager
    def open(self) -> Iterator[RunDirectory]:
        with self.reserve() as lease, lease.open() as directory:
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


@dataclass(frozen=True, slots=True)
class Maker:
    _request: pytest.FixtureRequest
    _programs: Callable[[str], Programs]
    _folder: Path
    _stack: ExitStack

    def make(self, kind: str) -> Rig:
        # A socket's path must be short: pytest's folders are not.
        state = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="mt"))
        env = {**os.environ, "MEGTRIM_STATE": state}
        env.pop("XDG_RUNTIME_DIR", None)
        arm = kind not in {"local", "ssh"}
        said = list[str]()
        spec = spec_of(
            ProcessRunner(env),
            self._folder / "scratch",
            name=f"the-{kind}",
            machine="aarch64" if arm else os.uname().machine,
            sysroot=SYSROOT if arm else None,
            say=said.append,
        )
        left: Callable[[], list[str]] = list
        match kind:
            case "local" | "qemu":
                left = partial(_names, spec.scratch)
            case "ssh":
                spec, left = self._board(spec)
            case "adb":
                spec, left = self._attached(spec)
            case _:
                places: dict[str, str] = self._request.getfixturevalue("phone_environment")
                self._request.getfixturevalue("phone_root")
                spec = replace(spec, processes=ProcessRunner({**places, "MEGTRIM_STATE": state}))
                # Its phone goes with its lease, and all that is on it with the phone.
        programs = self._programs("aarch64-linux-gnu-" if arm else "")
        device = device_kinds.KINDS[kind](spec)
        own = kind == "virtual-phone"
        return Rig(
            kind=kind,
            device=device,
            lease=self._stack.enter_context(device.reserve()) if own else None,
            program=programs.deed,
            dynamic=programs.dynamic,
            left=left,
            said=said,
        )

    def _board(self, spec: DeviceSpec) -> tuple[DeviceSpec, Callable[[], list[str]]]:
        folder = self._folder / "board"
        folder.mkdir()
        board = self._stack.enter_context(sshd.running(spec.processes, folder))
        return replace(spec, settings=board.settings), board.run_directories

    def _attached(self, spec: DeviceSpec) -> tuple[DeviceSpec, Callable[[], list[str]]]:
        running: AdbServer = self._request.getfixturevalue("adb_server")
        root: Path = self._request.getfixturevalue("phone_root")
        places: dict[str, str] = self._request.getfixturevalue("phone_environment")
        state = {"MEGTRIM_STATE": spec.processes.env["MEGTRIM_STATE"]}
        processes = ProcessRunner({**places, **running.env, **state})
        phone = self._stack.enter_context(
            manager.run_phone(processes, root, PhoneSpec(name="contract"))
        )
        adb_server.connect(processes, running, phone.serial)
        adb = (running.adb, "-s", phone.serial)
        self._stack.callback(_quietly, processes, (running.adb, "disconnect", phone.serial))

        def left() -> list[str]:
            return _quietly(processes, (*adb, "shell", f"ls {adb_kind.ROOT}/runs")).split()

        settings = DeviceSettings(serial=phone.serial)
        return replace(spec, processes=processes, settings=settings), left


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def find_processes(*words: str) -> set[int]:
    """Return the processes of this machine whose command lines hold all of the words."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            line = (entry / "cmdline").read_bytes()
            if all(word.encode() in line for word in words):
                found.add(int(entry.name))
    return found


def _quietly(processes: ProcessRunner, argv: tuple[str, ...]) -> str:
    return processes.run(Command(argv=argv, timeout_s=20)).stdout


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectedPhone(RunningPhone):
    """``processes`` has an environment whose adb clients speak with the connected server."""

    server: AdbServer
    processes: ProcessRunner

    def adb(self, *words: str, timeout_s: float = 30.0) -> CompletedCommand:
        argv = (self.server.adb, "-s", self.serial, *words)
        return self.processes.run(Command(argv=argv, timeout_s=timeout_s, tested=True))

    def shell(self, script: str, timeout_s: float = 30.0) -> CompletedCommand:
        return self.adb("shell", script, timeout_s=timeout_s)

    def connect(self) -> None:
        adb_server.connect(self.processes, self.server, self.serial)


StartPhone = Callable[..., ConnectedPhone]
