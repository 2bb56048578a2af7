"""``qemu``: programs of another architecture under qemu-user, with the CPU of the class.

Without that CPU, a trace would choose the kernels of one that no one ships.
"""

import hashlib
from pathlib import Path

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.places.devices.device import DeviceSpec
from megtrim.places.devices.local import Local, read_host_facts

_HINT = "on Debian: apt-get install qemu-user-static"
_SYSTEM_FILES = (
    "lib/ld-linux-aarch64.so.1",
    "lib/ld-linux-armhf.so.3",
    "lib/libc.so.6",
    "system/bin/linker64",
    "system/bin/linker",
    *(f"system/{folder}/lib{name}.so" for folder in ("lib64", "lib") for name in ("c", "m", "dl")),
)


_NAMES = {"armv7l": "arm", "armv8l": "arm", "i686": "i386"}
"""Of machines that qemu calls otherwise than ``uname -m``."""


class Qemu(Local):
    kind = "qemu"

    def __init__(
        self,
        name: str,
        processes: ProcessRunner,
        scratch: Path,
        *,
        launcher: tuple[str, ...],
        cpu: str,
        version: str,
        system: str = "",
        hosted: bool = False,
    ) -> None:
        super().__init__(name, processes, scratch, launcher=launcher, hosted=hosted)
        self._cpu = cpu
        self._version = version
        self._system = {"system": system} if system else {}

    def identity(self) -> dict[str, str]:
        return {"kind": self.kind, "cpu": self._cpu, "qemu": self._version, **self._system}

    def facts(self) -> dict[str, str]:
        host = read_host_facts(hosted=self._hosted)
        return {"cpu": self._cpu, "emulator": self._version, **host}


def name_machine(machine: str) -> str:
    return _NAMES.get(machine, machine)


def program(processes: ProcessRunner, machine: str = "aarch64") -> str | None:
    name = name_machine(machine)
    names = (f"qemu-{name}-static", f"qemu-{name}")
    return next((found for name in names if (found := processes.which(name))), None)


def find(spec: DeviceSpec, emulator: str | None = None) -> Qemu:
    """``emulator``: another than the one on the path."""
    processes = spec.processes.for_builds()
    machine = spec.machine
    cpu = spec.qemu_cpu
    emulator = emulator or program(processes, machine)
    if emulator is None:
        name = name_machine(machine)
        msg = f"qemu-{name} is not on the path, and this machine runs no {machine} programs"
        raise InputError(msg, hint=_HINT)
    # Some versions list their CPUs and still exit with 1.
    listing = processes.run(Command(argv=(emulator, "-cpu", "help"), timeout_s=60))
    if cpu.partition(",")[0] not in listing.stdout.split():
        msg = f"device {spec.name}: this qemu does not know the CPU {cpu!r}"
        raise InputError(msg, hint=f"`{emulator} -cpu help` lists those it knows")
    launcher: tuple[str, ...] = (emulator, "-cpu", cpu)
    if spec.sysroot:
        launcher = (*launcher, "-L", str(spec.sysroot))
    version = processes.capture(emulator, "--version").splitlines()[0].strip()
    return Qemu(
        spec.name,
        processes,
        spec.scratch,
        launcher=launcher,
        cpu=cpu,
        version=version,
        system=system_of(processes, spec.sysroot) if spec.sysroot else "",
        hosted=spec.hosted,
    )


def system_of(processes: ProcessRunner, sysroot: Path) -> str:
    """Return a digest of the loader and the C library that programs find in a sysroot.

    A run under one Android proves nothing about another. Empty if the sysroot has neither.
    """
    paths = [str(sysroot / file) for file in _SYSTEM_FILES]
    # Most of these files do not exist: a sysroot belongs to one system.
    output = processes.run(Command(argv=("sha256sum", "--", *paths), timeout_s=60)).stdout
    known = sorted(line.replace(f"{sysroot}/", "") for line in output.splitlines())
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:16] if known else ""
