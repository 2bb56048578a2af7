"""The files of one phone: memory of its own over the shared root, seen by its processes alone."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from megtrim.libs.util.errors import InputError
from virtual_phone.system import kernel
from virtual_phone.system import sensors as say
from virtual_phone.system.sensors import Sensors

MOUNT_POINT = "phone"
"""An empty folder in the root, on which each phone makes its own files in its own namespace."""

SHIMS = Path(__file__).parent / "shims"
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_NOT_FROM_TOYBOX = frozenset({"[", "reboot", "sh"})
_FROM_COREUTILS = ("sha1sum", "sha256sum")
"""Android's toybox has quick ones; those of Debian's toybox take five times as long."""
_OF_ANDROID = ("bin/linker64", "bin/linker", "lib64", "lib")
_LOG_BYTES = 16 * 1024 * 1024
TABLE = Path("/proc/sys/fs/binfmt_misc")
_QEMU = "qemu-aarch64"
_MAGIC = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
_MASK = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
_FLAGS = "PF"
"""Keep the program's own name; open the emulator now, for it is not among the phone's files."""


class MountTree:
    def __init__(
        self, root: Path, *, cpuinfo: str, rooted: bool, cpus: int, android: Path | None = None
    ) -> None:
        self.top = root / MOUNT_POINT
        self.data = self.top / "data"
        self.own = self.top / "phone"
        self._root = root
        self._cpuinfo = cpuinfo
        self._rooted = rooted
        self._cpus = cpus
        self._android = android

    def make(self, applets: Sequence[str], data_bytes: int) -> None:
        kernel.mount("tmpfs", self.top, f"mode=0755,size={_LOG_BYTES}")
        kernel.bind(self._root / "usr", self.top / "usr")
        for name in ("lib", "lib64"):
            if (self._root / name).exists():
                (self.top / name).symlink_to(f"usr/{name}")
        self._make_system(applets)
        self._show_android()
        self._make_devices()
        self._make_sys()
        kernel.mount("tmpfs", self.data, f"mode=0771,size={data_bytes}")
        (self.data / "local" / "tmp").mkdir(parents=True)
        self.write(self.own / "logcat", "--------- beginning of main\n")
        self.write(self.own / "cpuinfo", self._cpuinfo)
        os.mkfifo(self.own / "requests")
        (self.top / "proc").mkdir()

    def show(self, body: Sensors) -> None:
        for name, text in say.changing_files(body, self._cpus).items():
            self._write_sys(name, text)
        self.write(self.own / "battery", say.battery_text(body))
        self.write(self.own / "thermalservice", say.thermal_text(body))

    def set_properties(self, values: Mapping[str, str]) -> None:
        self.write(self.own / "properties", say.properties_text(values))

    def write(self, path: Path, text: str) -> None:
        """Replace a file at once: a reader sees the old or the new."""
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.new")
        new.write_text(text, encoding="utf-8")
        new.rename(path)

    def _make_system(self, applets: Sequence[str]) -> None:
        tools = self.top / "system" / "bin"
        tools.mkdir(parents=True)
        (self.top / "bin").symlink_to("system/bin")
        (tools / "sh").symlink_to("/usr/bin/mksh")
        (tools / "toybox").symlink_to("/usr/bin/toybox")
        for shim in sorted(SHIMS.iterdir()):
            target = tools / shim.name
            target.write_bytes(shim.read_bytes())
            target.chmod(0o755)
        for name in _FROM_COREUTILS:
            (tools / name).symlink_to(f"/usr/bin/{name}")
        for name in applets:
            if name not in _NOT_FROM_TOYBOX and not (tools / name).exists():
                (tools / name).symlink_to("/usr/bin/toybox")
        self.write(
            self.top / "etc" / "passwd",
            "root:x:0:0::/:/system/bin/sh\nshell:x:2000:2000::/data:/system/bin/sh\n",
        )
        self.write(self.top / "etc" / "group", "root:x:0:\nshell:x:2000:\n")
        self.write(self.top / "etc" / "hosts", "127.0.0.1 localhost\n")

    def _show_android(self) -> None:
        for name in _OF_ANDROID if self._android else ():
            file = Path(f"{self._android}/system/{name}")
            if file.exists():
                kernel.bind(file, self.top / "system" / name)

    def _make_devices(self) -> None:
        for name in _DEVICES:
            kernel.bind(Path("/dev") / name, self.top / "dev" / name)
        kernel.mount("devpts", self.top / "dev" / "pts", "newinstance,ptmxmode=0666,mode=0620")
        (self.top / "dev" / "ptmx").symlink_to("pts/ptmx")
        kernel.mount("tmpfs", self.top / "dev" / "shm", f"size={_LOG_BYTES}")
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            (self.top / "dev" / name).symlink_to(f"/proc/self/fd/{number}")
        (self.top / "dev" / "fd").symlink_to("/proc/self/fd")

    def _make_sys(self) -> None:
        for name, text in say.still_files(self._cpus).items():
            self._write_sys(name, text)
        cores = self.top / "sys" / "devices" / "system" / "cpu"
        for first, numbers in say.clusters(self._cpus):
            for number in numbers:
                (cores / f"cpu{number}").mkdir()
                (cores / f"cpu{number}" / "cpufreq").symlink_to(f"../cpufreq/policy{first}")

    def _write_sys(self, name: str, text: str) -> None:
        path = self.top / "sys" / name
        self.write(path, text)
        # The user of a phone that is not rooted reads these; the supervisor replaces them.
        path.chmod(0o644 if self._rooted else 0o444)


def register_emulator(emulator: Path) -> None:
    """Let the kernel run arm64 programs through qemu-user, for this phone alone.

    Kernels from 6.7 on keep such registrations per user namespace. Where the kernel is older, one
    that the whole machine has will do, if its emulator was opened when it was registered.
    """
    try:
        kernel.mount("binfmt_misc", TABLE)
        line = f":{_QEMU}:M::{_MAGIC}:{_MASK}:{emulator}:{_FLAGS}"
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
        text = (TABLE / _QEMU).read_text(encoding="ascii")
    except OSError:
        return False
    lines = text.splitlines()
    return "enabled" in lines and any(line.startswith("flags:") and "F" in line for line in lines)
