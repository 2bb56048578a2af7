"""An emulator that counts: qemu-user with a plugin of ours, which this machine compiles.

Only a dynamically linked qemu-user loads plugins: Debian's package qemu-user, not -static.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files as package_files
from pathlib import Path

from megtrim.devices.device import DeviceSpec
from megtrim.devices.local import open_scratch
from megtrim.devices.qemu import Qemu, system_of
from megtrim.util.errors import InputError
from megtrim.util.process import Command, ProcessRunner
from megtrim.util.value import Value

COUNTS_FILE = "counts.txt"
PLUGIN = package_files("megtrim.devices").joinpath("counting_plugin.c").read_bytes()
HINT = "on Debian 12 and Ubuntu: apt-get install qemu-user"
_COMPILE = (
    *("-O2", "-fPIC", "-shared", "-fvisibility=hidden"),
    # It declares all that it needs, so no library and no header of this machine has a part in it.
    *("-ffreestanding", "-nostdlib"),
)
_SEED = ("-seed", "1")
"""Guests get random bytes that are the same each time."""


def find_counter(name: str, processes: ProcessRunner) -> str | None:
    """Return the path of an emulator that takes plugins. Debian 13's qemu-user is static."""
    found = processes.which(name)
    return found if found and "-plugin" in processes.capture(found, "--help") else None


class CountingEmulator(Value):
    spec: DeviceSpec
    compilers: tuple[tuple[str, ...], ...]

    def identity(self) -> dict[str, str]:
        """Return what counts depend on besides the program. Raises InputError: there are none."""
        processes, sysroot = self.spec.processes, self.spec.sysroot
        version = processes.capture(self._program(), "--version").partition("\n")[0].strip()
        return {
            "emulator": version,
            "cpu": self.spec.qemu_cpu,
            "system": system_of(processes, sysroot) if sysroot else "",
            "plugin": hashlib.sha256(PLUGIN).hexdigest(),
        }

    def _program(self) -> str:
        name = f"qemu-{self.spec.machine}"
        found = find_counter(name, self.spec.processes)
        if found is None:
            msg = f"{name}, which takes plugins, is not on the path"
            raise InputError(msg, hint=HINT)
        return found

    @contextmanager
    def open(self) -> Iterator[Qemu]:
        """Give out a device whose runs leave :data:`COUNTS_FILE`. Raises InputError."""
        spec = self.spec
        with open_scratch(spec.scratch) as folder:
            launcher = (
                *(self._program(), "-cpu", spec.qemu_cpu, *_SEED),
                *("-plugin", f"{self._compile(folder)},out={COUNTS_FILE}"),
                *(("-L", str(spec.sysroot)) if spec.sysroot else ()),
            )
            yield Qemu(
                *(spec.name, spec.processes, spec.scratch),
                launcher=launcher,
                cpu=spec.qemu_cpu,
                version="",
            )

    def _compile(self, folder: Path) -> Path:
        source, plugin = folder / "plugin.c", folder / "plugin.so"
        source.write_bytes(PLUGIN)
        processes = self.spec.processes
        for compiler in (each for each in self.compilers if processes.which(each[0])):
            for linker in ((), ("-fuse-ld=lld",)):
                argv = (*compiler, *_COMPILE, *linker, "-o", str(plugin), str(source))
                if processes.run(Command(argv=argv, timeout_s=120)).ok:
                    return plugin
        msg = "this machine has no C compiler for its own programs"
        raise InputError(msg, hint="on Debian: apt-get install gcc")
