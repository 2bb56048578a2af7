"""Virtual phones in lanes: two phones each, with an adb server, and nothing shared with others."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from faults.matrix import Fault
from megtrim import devices
from megtrim.config.device import DeviceSettings
from megtrim.devices import Device, DeviceSpec
from megtrim.devices.adb import KIND, ROOT
from megtrim.devices.device import Timeouts
from megtrim.devices.pool.device_pool import merge_devices
from megtrim.util.process import Command, ProcessRunner
from virtual_phone.adb_server import AdbServer, connect, private_server
from virtual_phone.manager import RunningPhone, run_phone
from virtual_phone.spec import PhoneSpec
from virtual_phone.system import rootfs

_CALL_S = 20.0
_MEND_S = 60.0
_LOOK_S = 0.05
_BOOT_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """Two phones; ``first`` is the one that things happen to."""

    first: RunningPhone
    second: RunningPhone
    server: AdbServer
    processes: ProcessRunner
    """Its environment leads to the lane's own server."""
    scratch: Path

    def device(self, state: Path, timeouts: Timeouts, *, spare: bool) -> Device:
        phones = (self.first, self.second) if spare else (self.first,)
        serials = {phone.name: phone.serial for phone in phones}
        processes = ProcessRunner({**self.processes.env, "MEGTRIM_STATE": str(state)})
        return pool_of(serials, processes, self.scratch, timeouts)

    def mend(self, timeouts: Timeouts, *, enter: bool) -> None:
        """Undo every fault, wait until the phones answer; let the next job enter if wished."""
        self.first.fault("reset")
        for phone in (self.first, self.second):
            self._await(phone)
        if enter:
            device = self.device(self.scratch / "mend-state", timeouts, spare=False)
            with device.reserve() as lease, lease.open():
                pass

    def left(self) -> tuple[str, ...]:
        """Return the run directories on both phones, looked for without the product."""
        found = []
        for phone in (self.first, self.second):
            listing = self.shell(phone, f"ls -A {ROOT}/runs 2>/dev/null")
            found += [f"{phone.name}:{name}" for name in listing.split()]
        return tuple(found)

    def shell(self, phone: RunningPhone, text: str) -> str:
        return self.processes.run(
            Command(argv=self.adb(phone, "shell", "-n", text), timeout_s=_CALL_S)
        ).stdout

    def adb(self, phone: RunningPhone, *words: str) -> tuple[str, ...]:
        return (self.server.adb, "-s", phone.serial, *words)

    def _await(self, phone: RunningPhone) -> None:
        deadline = time.monotonic() + _MEND_S
        while time.monotonic() < deadline:
            if self.shell(phone, "getprop sys.boot_completed").strip() == "1":
                return
            for verb in ("disconnect", "connect"):
                argv = (self.server.adb, verb, phone.serial)
                self.processes.run(Command(argv=argv, timeout_s=_CALL_S))
            time.sleep(_LOOK_S)
        msg = f"{phone.name} did not come back: {phone.status()}"
        raise AssertionError(msg)


def pool_of(
    serials: Mapping[str, str], processes: ProcessRunner, scratch: Path, timeouts: Timeouts
) -> Device:
    specs = (
        DeviceSpec(
            name=name,
            processes=processes,
            scratch=scratch,
            machine="aarch64",
            qemu_cpu="max",
            sysroot=None,
            cpu_class="any",
            settings=DeviceSettings(serial=serial),
            timeouts=timeouts,
        )
        for name, serial in serials.items()
    )
    return merge_devices([devices.make(KIND, spec, native="x86_64") for spec in specs])


def happened(phone: RunningPhone, fault: Fault) -> bool:
    return any(each.split(" ")[0] == fault for each in phone.status()["happened"])


class Clock:
    """Notes when something first became so; it may pass again."""

    def __init__(self, happened: Callable[[], bool]) -> None:
        self._happened = happened
        self._at_s: float | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(_LOOK_S):
            if self._happened():
                self._at_s = time.monotonic()
                return

    def stopped(self) -> float | None:
        self._stop.set()
        self._thread.join()
        if self._at_s is None and self._happened():
            self._at_s = time.monotonic()
        return self._at_s


@contextmanager
def lane(processes: ProcessRunner, number: int, scratch: Path) -> Iterator[Lane]:
    folder = scratch / f"lane-{number}"
    folder.mkdir(parents=True)
    files = rootfs.provide(processes)
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(
                run_phone(processes, files, PhoneSpec(name=f"{word}-{number}", boot_s=_BOOT_S))
            )
            for word in ("first", "second")
        )
        server = stack.enter_context(private_server(processes))
        for phone in (first, second):
            connect(processes, server, phone.serial)
        env = {**processes.env, **server.env, "MEGTRIM_ADB": server.adb}
        yield Lane(
            first=first, second=second, server=server, processes=ProcessRunner(env), scratch=folder
        )
