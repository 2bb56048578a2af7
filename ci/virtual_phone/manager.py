"""Starting a virtual phone from outside, and finding those that run."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import Background, Command, ProcessRunner
from virtual_phone.control import ControlClient
from virtual_phone.owned_dirs import LOCK, is_abandoned, remove
from virtual_phone.spec import LOG, READY, PhoneSpec

MACHINE = "aarch64"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,59}", re.ASCII)
_START_S = 30.0
_LOOK_S = 0.01
_MKDIR_ATTEMPTS = 5
_HINT_QEMU = "on Debian: apt-get install qemu-user-static"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneRequest:
    name: str
    cpu: str = "max"
    """As qemu names it."""
    host: str = "127.0.0.1"
    port: int = 0
    rooted: bool = False
    data_bytes: int = 1024 * 1024 * 1024
    boot_s: float = 2.0
    properties: Mapping[str, str] = field(default_factory=dict)
    android: Path | None = None
    """Folder with the ``system`` of an Android, whose loader and C library it shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningPhone:
    """A phone that runs. ``serial`` is what ``adb connect`` takes."""

    name: str
    pid: int
    port: int
    folder: Path

    def alive(self) -> bool:
        """Tell whether its supervisor runs; a phone that is dead by a fault has one."""
        return (self.folder / LOCK).is_file() and not is_abandoned(self.folder)

    @property
    def serial(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def control(self) -> ControlClient:
        return ControlClient(self.folder)


@contextmanager
def run_phone(
    processes: ProcessRunner, root: Path, request: PhoneRequest
) -> Iterator[RunningPhone]:
    """The phone can be connected to when this yields.

    Raises InputError where this machine cannot run one, InfrastructureFailure where it failed.
    """
    folder = _own_folder(processes, request.name)
    try:
        spec = PhoneSpec(
            name=request.name,
            folder=str(folder),
            root=str(root),
            emulator=emulator(processes),
            path=processes.env.get("PATH", os.defpath),
            cpu=request.cpu,
            host=request.host,
            port=request.port,
            rooted=request.rooted,
            data_bytes=request.data_bytes,
            boot_s=request.boot_s,
            properties=dict(request.properties),
            android=str(request.android.resolve()) if request.android else "",
        )
        log = folder / LOG
        command = Command(argv=spec.argv(), timeout_s=_START_S, log=log)
        with processes.background(command) as supervisor:
            yield _when_ready(folder, supervisor)
    finally:
        remove(folder)


def running(processes: ProcessRunner) -> tuple[RunningPhone, ...]:
    found = []
    for folder in sorted(_state(processes).glob("*")):
        if is_abandoned(folder):
            remove(folder)
        elif (phone := _read(folder)) is not None:
            found.append(phone)
    return tuple(found)


def find(processes: ProcessRunner, name: str) -> RunningPhone:
    phones = {phone.name: phone for phone in running(processes)}
    if name not in phones:
        msg = f"no virtual phone named {name!r} runs here"
        raise InputError(msg, hint=f"those that run: {', '.join(phones) or 'none'}")
    return phones[name]


def _own_folder(processes: ProcessRunner, name: str) -> Path:
    """Make the folder that is the phone's name, too: two of one name cannot be."""
    if not _NAME.fullmatch(name):
        msg = f"a virtual phone cannot be named {name[:60]!r}"
        raise InputError(msg, hint="at most 60 letters, digits, '.', '_' and '-'")
    running(processes)
    for _attempt in range(_MKDIR_ATTEMPTS):
        folder = _state(processes) / name
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            msg = f"a virtual phone named {name!r} runs already"
            raise InputError(msg, hint="choose another name, or use that one") from None
        except FileNotFoundError:
            continue  # the last phone of this user just ended, and took the folder with it
        return folder
    msg = f"the folder of virtual phone {name} cannot be made"
    raise InfrastructureFailure(msg)


def _state(processes: ProcessRunner) -> Path:
    """Return the folder of all phones of this user. Short: a socket's path is bounded."""
    base = processes.env.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    folder = Path(base) / f"megtrim-phones-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = folder.lstat()
    except OSError as error:
        msg = f"{folder} cannot be made: {error.strerror}"
        raise InfrastructureFailure(msg) from None
    if folder.is_symlink() or owner.st_uid != os.getuid():
        msg = f"{folder} belongs to someone else"
        raise InputError(msg, hint="set XDG_RUNTIME_DIR to a folder of your own")
    return folder


def emulator(processes: ProcessRunner, *, native: str | None = None) -> str:
    """Return what runs arm64 programs here; empty where the machine itself does.

    ``native`` is this machine's architecture unless a test sets it.
    """
    if (native or platform.machine()) == MACHINE:
        return ""
    path = processes.env.get("PATH")
    found = shutil.which(f"qemu-{MACHINE}-static", path=path)
    found = found or shutil.which(f"qemu-{MACHINE}", path=path)
    if found is None:
        msg = f"virtual phone: there is no qemu-{MACHINE} here, and the machine is no {MACHINE}"
        raise InputError(msg, hint=_HINT_QEMU)
    return str(Path(found).resolve())


def _when_ready(folder: Path, supervisor: Background) -> RunningPhone:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and supervisor.alive():
        phone = _read(folder)
        if phone is not None:
            return phone
        time.sleep(_LOOK_S)
    said = ""
    with suppress(OSError):
        said = (folder / LOG).read_text(encoding="utf-8", errors="replace").strip()[-500:]
    msg = f"virtual phone {folder.name} did not start: {said or 'no message'}"
    raise InfrastructureFailure(msg, hint=_hint(said))


def _hint(said: str) -> str:
    if "unshare" in said or "uid_map" in said or "Permission denied" in said:
        return (
            "it needs user namespaces: a container needs more rights for them, and some "
            "distributions allow them only to root (docs/how-to/rehearse-without-a-phone.md)"
        )
    return ""


def _read(folder: Path) -> RunningPhone | None:
    try:
        address = json.loads((folder / READY).read_text(encoding="utf-8"))
        return RunningPhone(**{key: address[key] for key in ("name", "pid", "port")}, folder=folder)
    except (OSError, ValueError, KeyError, TypeError):
        return None
