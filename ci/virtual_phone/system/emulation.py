"""Letting the kernel run arm64 programs through qemu-user, for this phone alone.

Kernels from 6.7 on keep such registrations per user namespace. Where the kernel is older, one
that the whole machine has will do, if its emulator was opened when it was registered.
"""

from __future__ import annotations

from pathlib import Path

from megtrim.util.errors import InputError
from virtual_phone.system import kernel

TABLE = Path("/proc/sys/fs/binfmt_misc")
_NAME = "qemu-aarch64"
_MAGIC = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
_MASK = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
_FLAGS = "PF"
"""Keep the program's own name; open the emulator now, for it is not among the phone's files."""


def ensure(emulator: Path) -> None:
    try:
        kernel.mount("binfmt_misc", TABLE)
        line = f":{_NAME}:M::{_MAGIC}:{_MASK}:{emulator}:{_FLAGS}"
        (TABLE / "register").write_text(line, encoding="ascii")
    except OSError as error:
        if not _machine_wide():
            msg = f"virtual phone: this kernel lets only root register qemu: {error.strerror}"
            hint = (
                "kernels from 6.7 on do; else, as root: apt-get install qemu-user-static "
                "binfmt-support"
            )
            raise InputError(msg, hint=hint) from None


def _machine_wide() -> bool:
    try:
        text = (TABLE / _NAME).read_text(encoding="ascii")
    except OSError:
        return False
    lines = text.splitlines()
    return "enabled" in lines and any(line.startswith("flags:") and "F" in line for line in lines)
