"""Whether a device's C library loads packed relocations: glibc does from 2.36 on.

Devices of this machine are asked before anything is built; of a board only its first run tells.
Android says it by its API level instead.
"""

from __future__ import annotations

from pathlib import Path

from megtrim.devices.device import DeviceSpec
from megtrim.errors import InputError
from megtrim.load_and_run.exit_status import ProgramRun, RunOutcome, ending
from megtrim.process import Command

_VERSION = "GLIBC_ABI_DT_RELR"
"""What a glibc defines that loads them, and what lld makes a packed program ask for."""
_REFUSED = f"{_VERSION}' not found"
_FOLDERS = ("lib", "lib64", "usr/lib", "usr/lib64")


class UnsupportedRelocations(InputError):
    """The device's C library is older than what the programs were linked for."""

    def __init__(self, device: str) -> None:
        super().__init__(
            f"device {device}: its C library is older than glibc 2.36, and cannot load packed "
            "relocations (trim.relocations: relr)",
            hint="say trim.relocations: none, or take a device with a newer glibc",
        )


def expect_loads(kind: str, spec: DeviceSpec) -> None:
    """Raise UnsupportedRelocations if every C library of a device of this machine is too old."""
    root = {"local": Path("/"), "qemu": spec.sysroot}.get(kind)
    if root is None:
        return
    paths = [
        str(root / folder / triplet / "libc.so.6")
        for folder in _FOLDERS
        for triplet in ("", f"{spec.machine}-linux-gnu")
    ]
    # Without -s, it would complain of those that are not there, which are most.
    argv = ("grep", "-s", "-H", "-c", "-F", "-e", _VERSION, "--", *paths)
    counts = spec.processes.run(Command(argv=argv, timeout_s=60)).stdout.splitlines()
    if counts and all(line.endswith(":0") for line in counts):
        raise UnsupportedRelocations(spec.name)


def expect_loaded(device: str, run: ProgramRun) -> None:
    """Raise UnsupportedRelocations if the loader there refused the program because of them."""
    if ending(run) is RunOutcome.FAILED and _REFUSED in run.stderr:
        raise UnsupportedRelocations(device)
