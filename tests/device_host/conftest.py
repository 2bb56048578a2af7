"""A machine to set up: a container with Debian's own systemd, no network, and two stand-ins.

A small server plays GitHub's API, and a script plays the runner and its job.
"""

import hashlib
import io
import json
import os
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from support.docker_engine import debian_image, engine

__all__ = ["ROOT", "debian_image", "engine"]

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
TOKEN = "/etc/megtrim-host/github-token"
API_PORT = 8080


@dataclass(frozen=True, slots=True)
class Host:
    """One container. ``order`` are the arguments that a technician would choose."""

    name: str
    processes: ProcessRunner
    order: tuple[str, ...]

    def run(self, *argv: str, timeout_s: float = 120) -> CompletedCommand:
        command = ("docker", "exec", self.name, *argv)
        return self.processes.run(Command(argv=command, timeout_s=timeout_s))

    def text(self, *argv: str) -> str:
        outcome = self.run(*argv)
        assert outcome.rc == 0, outcome.stdout + outcome.stderr
        return outcome.stdout

    def set_up(self, *options: str) -> CompletedCommand:
        script = "/opt/megtrim/scripts/device-host/set_up.py"
        return self.run("python3", script, *self.order, *options)

    def give_token(self) -> None:
        paste = f"install -D -m 0600 /dev/null {TOKEN} && echo secret-of-the-host > {TOKEN}"
        self.text("sh", "-c", paste)

    def wait_for(self, file: str, *, lines: int) -> list[str]:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            found = self.run("cat", file).stdout.splitlines()
            if len(found) >= lines:
                return found
            time.sleep(0.5)
        journal = self.run("journalctl", "-u", "megtrim*", "--no-pager", "-o", "cat").stdout
        pytest.fail(f"{file} has not {lines} lines; the journal says:\n{journal[-3000:]}")


def _runner(path: Path) -> str:
    job = (HERE / "job").read_bytes()
    entry = tarfile.TarInfo("./run.sh")
    entry.mode = 0o755
    entry.size = len(job)
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(entry, io.BytesIO(job))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _checkout(folder: Path) -> None:
    """Lay out what a set-up needs of this kit; its megtrim is a stand-in that writes down."""
    scripts = folder / "scripts"
    scripts.mkdir(parents=True)
    for argv in (
        ("cp", "-r", str(ROOT / "scripts" / "device-host"), str(scripts)),
        ("install", "-D", "-m", "0755", str(HERE / "megtrim"), str(folder / ".venv/bin/megtrim")),
    ):
        assert ProcessRunner(os.environ).run(Command(argv=argv, timeout_s=60)).rc == 0


def _start(processes: ProcessRunner, suite: str, folder: Path, *options: str) -> Host:
    digest = _runner(folder / "runner.tar.gz")
    _checkout(folder / "megtrim")
    name = f"megtrim-device-host-{suite}-{os.getpid()}"
    image = debian_image(processes, suite, folder)
    order = ("--user", "megtrim", "--class", "armv82", "--repository", "team/models")
    archive = ("--runner-archive", "/root/runner.tar.gz", "--runner-sha256", digest)
    api = ("--api-url", f"http://127.0.0.1:{API_PORT}")
    command = (*options[:-1], image, "sh", "-c", options[-1])
    host = Host(name, processes, (*order, *archive, *api))
    for argv in (
        ("docker", "run", "--detach", "--name", name, "--network=none", *command),
        ("docker", "cp", str(folder / "megtrim"), f"{name}:/opt/megtrim"),
        ("docker", "cp", str(folder / "runner.tar.gz"), f"{name}:/root/"),
        ("docker", "cp", str(HERE / "github.py"), f"{name}:/root/"),
        ("docker", "exec", name, "chown", "-R", "root:root", "/opt/megtrim"),
        ("docker", "exec", "--detach", name, "python3", "/root/github.py", str(API_PORT)),
    ):
        made = processes.run(Command(argv=argv, timeout_s=120))
        assert made.rc == 0, f"{argv}: {made.stderr}"
    return host


def _remove(host: Host) -> None:
    host.processes.run(Command(argv=("docker", "rm", "--force", host.name), timeout_s=60))


@pytest.fixture(scope="module")
def booted(engine: ProcessRunner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    # Credentials reach a unit by a mount that has to spread; containers begin without that.
    start = "mount --make-rshared / && exec /sbin/init"
    free = ("seccomp=unconfined", "apparmor=unconfined")
    options = (
        "--cap-add=SYS_ADMIN",
        "--cgroupns=private",
        "--env=container=docker",
        *(f"--security-opt={option}" for option in free),
        "--tmpfs=/run",
        "--tmpfs=/run/lock",
        "--tmpfs=/tmp:exec",
    )
    host = _start(engine, "bookworm", tmp_path_factory.mktemp("host"), *options, start)
    try:
        for _ in range(60):
            state = host.run("systemctl", "is-system-running").stdout.strip()
            if state in ("running", "degraded"):
                break
            time.sleep(0.5)
        yield host
    finally:
        _remove(host)


@pytest.fixture(scope="module")
def image(engine: ProcessRunner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    host = _start(engine, "trixie", tmp_path_factory.mktemp("image"), "--init", "sleep 3600")
    try:
        yield host
    finally:
        _remove(host)


def calls(host: Host) -> list[dict[str, object]]:
    return [json.loads(line) for line in host.text("cat", "/var/log/github").splitlines()]
