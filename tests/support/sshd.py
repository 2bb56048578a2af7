"""A real sshd on this machine: own port, own host key, one user key, and a home of its own.

It plays a board. A session's home is a folder of the test, so that nothing is left in that of
whoever runs the tests.
"""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from megtrim.core.config.device import DeviceSettings
from megtrim.libs.util.process import Background, Command, ProcessRunner
from support.storages import free_port, wait_for_port

_ROOTS_FOLDER = Path("/run/sshd")
"""Without it sshd refuses to start as root."""


@dataclass(slots=True)
class Sshd:
    folder: Path
    port: int
    listener: Background
    processes: ProcessRunner

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def settings(self) -> DeviceSettings:
        return DeviceSettings(
            host="127.0.0.1",
            port=self.port,
            key=self.folder / "user key",
            known_hosts=self.folder / "known hosts",
        )

    def run_directories(self) -> list[str]:
        runs = self.home / ".cache" / "megtrim-device" / "runs"
        return sorted(path.name for path in runs.iterdir()) if runs.is_dir() else []

    def sessions(self) -> list[int]:
        return [pid for pid in _below(self.listener.pid) if _name(pid).startswith("sshd")]

    def signal(self, number: signal.Signals) -> None:
        for pid in self.sessions():
            os.kill(pid, number)

    def new_key(self, name: str) -> Path:
        return new_key(self.processes, self.folder / name)

    def knows(self, key: Path) -> Path:
        words = key.with_suffix(".pub").read_text(encoding="utf-8").split()[:2]
        path = key.with_suffix(".known")
        path.write_text(f"[127.0.0.1]:{self.port} {' '.join(words)}\n", encoding="utf-8")
        return path


def new_key(processes: ProcessRunner, path: Path) -> Path:
    processes.capture("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path))
    return path


@contextmanager
def running(processes: ProcessRunner, folder: Path, *, greeting: str = "") -> Iterator[Sshd]:
    """Run sshd until the block is left; ``greeting`` is what sessions print first."""
    host, user = (new_key(processes, folder / name) for name in ("host key", "user key"))
    (folder / "home").mkdir()
    port = free_port()
    config = folder / "config"
    config.write_text(_config(folder, port, host, user, greeting), encoding="utf-8")
    if os.getuid() == 0:
        _ROOTS_FOLDER.mkdir(mode=0o755, exist_ok=True)
    program = shutil.which("sshd", path=f"{processes.env['PATH']}:/usr/sbin:/sbin")
    argv = (program or "sshd", "-D", "-e", "-f", str(config))
    command = Command(argv=argv, timeout_s=0, log=folder / "log")
    with processes.background(command) as listener:
        sshd = Sshd(folder=folder, port=port, listener=listener, processes=processes)
        shutil.move(sshd.knows(host), folder / "known hosts")
        wait_for_port(port, listener, folder / "log")
        try:
            yield sshd
        finally:
            for pid in sshd.sessions():
                os.kill(pid, signal.SIGKILL)


def _config(folder: Path, port: int, host: Path, user: Path, greeting: str) -> str:
    shutil.copy(user.with_suffix(".pub"), folder / "authorized")
    home = folder / "home"
    greet = f"echo {greeting} && " if greeting else ""
    begin = f"{greet}cd '{home}' && HOME='{home}' && export HOME"
    return f"""\
Port {port}
ListenAddress 127.0.0.1
HostKey "{host}"
AuthorizedKeysFile "{folder / "authorized"}"
StrictModes no
UsePAM no
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
MaxStartups 100
ForceCommand {begin} && exec sh -c "$SSH_ORIGINAL_COMMAND"
"""


def _below(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        parent = int(fields.rpartition(")")[2].split()[1])
        parents.setdefault(parent, []).append(int(folder.name))
    found = list[int]()
    waiting = [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
