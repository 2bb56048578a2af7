"""Virtual phones in lanes, two each with an adb server, and the arm64 programs of a case.

Programs are compiled once; a case's roles are written into the file.
"""

import random
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from faults.matrix import Fault, Plant
from megtrim.core.build_spec import Variant
from megtrim.core.config.device import DeviceSettings
from megtrim.core.keep.keepset import KeepSet, build_keep_set
from megtrim.core.keep.region import Region
from megtrim.engines.midout.trace import MAGIC, parse_trace
from megtrim.lab.pool.device_pool import merge_devices
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.places.devices import kinds as device_kinds
from megtrim.places.devices.adb import KIND, ROOT
from megtrim.places.devices.device import Device, Timeouts
from support.scenario_records import make_record
from unit.places.devices.machines import spec_of
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
        argv = (self.server.adb, "-s", phone.serial, "shell", "-n", text)
        return self.processes.run(Command(argv=argv, timeout_s=_CALL_S)).stdout

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
        spec_of(
            processes,
            scratch,
            name=name,
            cpu_class="any",
            settings=DeviceSettings(serial=serial),
            timeouts=timeouts,
        )
        for name, serial in serials.items()
    )
    return merge_devices([device_kinds.make(KIND, spec, native="x86_64") for spec in specs])


def happened(phone: RunningPhone, fault: Fault) -> bool:
    return any(each.split(" ")[0] == fault for each in phone.status()["happened"])


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


SOURCE = Path(__file__).with_name("program.cpp")
COMPILER = "aarch64-linux-gnu-g++"
REGIONS = 60
MISSING = 41
"""The region that a planted trap needs, and that is missing in its keep set."""

_ROLE = b"megtrim-role:plain:sound:------------------"


def compile_program(processes: ProcessRunner, folder: Path) -> Path:
    """Compile it, static: a phone has no C library of ours."""
    target = folder / "program"
    flags = ("-std=c++17", "-O1", "-static", "-s")
    command = Command(argv=(COMPILER, *flags, str(SOURCE), "-o", str(target)), timeout_s=120)
    done = processes.run(command)
    if not done.ok:
        raise AssertionError(done.stderr)
    return target


def with_role(compiled: bytes, variant: Variant, plant: Plant, seed: int) -> bytes:
    role = f"megtrim-role:{variant}:{plant}:".encode()
    if compiled.count(_ROLE) != 1:
        msg = f"{SOURCE} holds no role of the expected spelling"
        raise AssertionError(msg)
    return compiled.replace(_ROLE, role.ljust(len(_ROLE), b"-")) + struct.pack("<Q", seed)


def model(seed: int, *, tenths: int, size_bytes: int) -> bytes:
    body, state = _body(tenths, size_bytes)
    number = struct.pack("<Q", seed)
    return body + number + struct.pack("<Q", _digest(number, state))


@lru_cache
def _body(tenths: int, size_bytes: int) -> tuple[bytes, int]:
    # Cases are repeatable; nothing here is a secret.
    body = bytes((tenths,)) + random.Random(0).randbytes(size_bytes - 17)
    return body, _digest(body, 1469598103934665603)


def _digest(data: bytes, value: int) -> int:
    for byte in data:
        value = ((value ^ byte) * 1099511628211) & 0xFFFFFFFFFFFFFFFF
    return value


def trace_bytes() -> bytes:
    names = (
        f"N6midout6RegionIJNS_4tags11fault_suiteESt17integral_constantIiLi{number}EEEEE"
        for number in range(REGIONS)
    )
    return "".join(f"{line}\n" for line in (MAGIC, *names)).encode()


@lru_cache
def keep_set(plant: Plant) -> KeepSet:
    """Return a keep set of all regions, or without the one that a planted trap needs."""
    trace = parse_trace(trace_bytes(), source="expected trace")
    lost = {Region("fault_suite", (MISSING,))} if plant is Plant.TRAP else set()
    regions = (region for region in trace.regions if region not in lost)
    record = make_record(regions, trace_sha256=trace.sha256)
    return build_keep_set(20220507, [record], None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    plain: Path
    profile: Path
    reduced: Path
    model: Path


def write_files(
    folder: Path, compiled: bytes, plant: Plant, seed: int, *, tenths: int, size_bytes: int
) -> Files:
    paths = {}
    for variant in (Variant.PLAIN, Variant.PROFILE, Variant.REDUCED):
        path = folder / variant / "load_and_run"
        path.parent.mkdir(parents=True)
        path.write_bytes(with_role(compiled, variant, plant, seed))
        paths[variant] = path
    target = folder / "model"
    target.write_bytes(model(seed, tenths=tenths, size_bytes=size_bytes))
    return Files(
        plain=paths[Variant.PLAIN],
        profile=paths[Variant.PROFILE],
        reduced=paths[Variant.REDUCED],
        model=target,
    )
