"""Starting a virtual phone from outside, finding those that run, and speaking with them."""

import json
import os
import platform
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import Background, Command, ProcessRunner
from virtual_phone.faults.request import FaultRequest, make_request
from virtual_phone.owned_dirs import LOCK, is_abandoned, remove
from virtual_phone.spec import LOG, READY, SOCKET, PhoneSpec

MACHINE = "aarch64"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,59}", re.ASCII)
_START_S = 30.0
_LOOK_S = 0.01
_MKDIR_ATTEMPTS = 5
_ANSWER_BYTES = 1024 * 1024
_ANSWER_S = 20.0
_DENIED = ("unshare", "uid_map", "Permission denied")
_HINT_NAMESPACES = (
    "it needs user namespaces: a container needs more rights for them, and some "
    "distributions allow them only to root (docs/how-to/use-devices.md)"
)
_HINT_QEMU = "on Debian: apt-get install qemu-user-static"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningPhone:
    """``serial`` is what ``adb connect`` takes. Its socket takes a line of JSON and answers one."""

    name: str
    pid: int
    port: int
    folder: Path

    def alive(self) -> bool:
        return (self.folder / LOCK).is_file() and not is_abandoned(self.folder)

    @property
    def serial(self) -> str:
        return f"127.0.0.1:{self.port}"

    def status(self) -> dict[str, Any]:
        """``state``: running, frozen or dead; ``waiting``, ``happened``: faults, in order."""
        return self._ask({"do": "status"})

    def fault(self, fault: str, value: float | None = None, **more: Any) -> None:
        self.give(make_request(fault, value=value, **more))

    def give(self, request: FaultRequest) -> None:
        self._ask({"do": "fault", "request": asdict(request)})

    def set_properties(self, values: Mapping[str, str]) -> None:
        self._ask({"do": "properties", "values": dict(values)})

    def log(self, text: str) -> None:
        self._ask({"do": "log", "text": text})

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
                door.settimeout(_ANSWER_S)
                door.connect(str(self.folder / SOCKET))
                door.sendall(json.dumps(request).encode() + b"\n")
                with door.makefile("rb") as reader:
                    answer = json.loads(reader.readline(_ANSWER_BYTES))
        except (OSError, ValueError) as error:
            msg = f"the virtual phone at {self.folder} does not answer: {error}"
            raise InfrastructureFailure(msg, hint="does it still run?") from None
        if not isinstance(answer, dict) or "error" in answer:
            reason = answer.get("error") if isinstance(answer, dict) else answer
            msg = f"the virtual phone refused: {reason}"
            raise InputError(msg)
        return answer


@contextmanager
def run_phone(processes: ProcessRunner, root: Path, spec: PhoneSpec) -> Iterator[RunningPhone]:
    """The phone can be connected to when this yields.

    Raises InputError where this machine cannot run one, InfrastructureFailure where it failed.
    """
    folder = _own_folder(processes, spec.name)
    try:
        spec = replace(
            spec,
            folder=str(folder),
            root=str(root),
            emulator=emulator(processes),
            path=processes.env.get("PATH", os.defpath),
        )
        command = Command(argv=spec.argv(), timeout_s=_START_S, log=folder / LOG)
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
    """Return what runs arm64 programs here; empty where the machine itself does."""
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
    needs_namespaces = any(word in said for word in _DENIED)
    raise InfrastructureFailure(msg, hint=_HINT_NAMESPACES if needs_namespaces else "")


def _read(folder: Path) -> RunningPhone | None:
    try:
        address = json.loads((folder / READY).read_text(encoding="utf-8"))
        return RunningPhone(**{key: address[key] for key in ("name", "pid", "port")}, folder=folder)
    except (OSError, ValueError, KeyError, TypeError):
        return None
