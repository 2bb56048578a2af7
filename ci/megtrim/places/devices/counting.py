"""An emulator that counts: qemu-user with a plugin of ours, which this machine compiles.

Only a dynamically linked qemu-user loads plugins: Debian's package qemu-user, not -static.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files as package_files
from pathlib import Path
from typing import NamedTuple

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.libs.util.value import Value
from megtrim.places.devices import qemu
from megtrim.places.devices.device import DeviceSpec
from megtrim.places.devices.local import MeasuringFile, open_measuring_file, open_scratch

_PLUGIN = package_files("megtrim.places.devices").joinpath("counting_plugin.c").read_bytes()
HINT = "on Debian 12 and Ubuntu: apt-get install qemu-user"
# It declares all that it needs, so no library and no header of this machine has a part in it.
_COMPILE = ("-O2", "-fPIC", "-shared", "-ffreestanding", "-nostdlib")
_SEED = ("-seed", "1")
"""Guests get random bytes that are the same each time."""


def find_counter(name: str, processes: ProcessRunner) -> str | None:
    """Return the path of an emulator that takes plugins. Debian 13's qemu-user is static."""
    found = processes.which(name)
    return found if found and "-plugin" in processes.capture(found, "--help") else None


class Counting(NamedTuple):
    device: qemu.Qemu
    counts: MeasuringFile
    """What the plugin saw of the last run, in the format of counts/use.py."""


class CountingEmulator(Value):
    spec: DeviceSpec
    compilers: tuple[tuple[str, ...], ...]

    def identity(self) -> dict[str, str]:
        """Return what counts depend on besides the program. Raises InputError: there are none."""
        return self._find().identity() | {"plugin": hashlib.sha256(_PLUGIN).hexdigest()}

    def _find(self) -> qemu.Qemu:
        name = f"qemu-{qemu.name_machine(self.spec.machine)}"
        emulator = find_counter(name, self.spec.processes)
        if emulator is None:
            msg = f"{name}, which takes plugins, is not on the path"
            raise InputError(msg, hint=HINT)
        return qemu.find(self.spec, emulator)

    @contextmanager
    def open(self) -> Iterator[Counting]:
        """Give out a device whose runs are counted. Raises InputError."""
        found = self._find()
        with open_scratch(self.spec.scratch) as folder, open_measuring_file(folder) as counts:
            # qemu reads a comma in an option's value as its end, and two as one.
            plugin, out = (
                str(path).replace(",", ",,") for path in (self._compile(folder), counts.path)
            )
            device = found.start_by(options=(*_SEED, "-plugin", f"{plugin},out={out}"))
            yield Counting(device=device, counts=counts)

    def _compile(self, folder: Path) -> Path:
        source = folder / "plugin.c"
        plugin = folder / "plugin.so"
        source.write_bytes(_PLUGIN)
        processes = self.spec.processes
        for compiler in (each for each in self.compilers if processes.which(each[0])):
            for linker in ((), ("-fuse-ld=lld",)):
                argv = (*compiler, *_COMPILE, *linker, "-o", str(plugin), str(source))
                if processes.run(Command(argv=argv, timeout_s=120)).ok:
                    return plugin
        msg = "this machine has no C compiler for its own programs"
        raise InputError(msg, hint="on Debian: apt-get install gcc")
