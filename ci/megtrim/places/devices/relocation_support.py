"""Whether a device's C library loads packed relocations: glibc does from 2.36 on."""

from pathlib import Path

from megtrim.libs.programs.exit_status import ProgramRun, RunOutcome, ending
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import Command
from megtrim.places.devices.device import DeviceSpec

_VERSION = "GLIBC_ABI_DT_RELR"
"""The symbol version that such a glibc defines, and that lld makes packed programs require."""
_REFUSED = f"{_VERSION}' not found"
_FOLDERS = ("lib", "lib64", "usr/lib", "usr/lib64")


class UnsupportedRelocations(InputError):
    def __init__(self, device: str) -> None:
        super().__init__(
            f"device {device}: its C library is older than glibc 2.36, and cannot load packed "
            "relocations (trim.relocations: relr)",
            hint="set trim.relocations: none, or use a device with a newer glibc",
        )


def expect_loads(kind: str, spec: DeviceSpec) -> None:
    root = {"local": Path("/"), "qemu": spec.sysroot}.get(kind)
    if root is None:
        return
    paths = [
        str(root / folder / triplet / "libc.so.6")
        for folder in _FOLDERS
        for triplet in ("", f"{spec.machine}-linux-gnu")
    ]
    # -s: most of these files do not exist, and grep would complain about each.
    argv = ("grep", "-s", "-H", "-c", "-F", "-e", _VERSION, "--", *paths)
    counts = spec.processes.run(Command(argv=argv, timeout_s=60)).stdout.splitlines()
    if counts and all(line.endswith(":0") for line in counts):
        raise UnsupportedRelocations(spec.name)


def expect_loaded(device: str, run: ProgramRun) -> None:
    if ending(run) is RunOutcome.FAILED and _REFUSED in run.stderr:
        raise UnsupportedRelocations(device)
