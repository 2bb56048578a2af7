"""A machine to set up: a container with Debian's own systemd, no network, and two stand-ins.

A small server plays GitHub's API, and a script plays the runner and its job. Images are made by
mmdebstrap from the machine's own package sources, once.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import tarfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from megtrim.process import Command, Outcome, Processes

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
INCLUDED = (
    *("adb", "ca-certificates", "git", "passwd", "python3", "python3-venv"),
    *("systemd-sysv", "udev"),
)
SUITES = {"bookworm": "libicu72", "trixie": "libicu76"}
TOKEN = "/etc/megtrim-host/github-token"
API_PORT = 8080


@dataclass(frozen=True, slots=True)
class Host:
    """One container. ``order`` are the arguments that a technician would choose."""

    name: str
    processes: Processes
    order: tuple[str, ...]

    def run(self, *argv: str, timeout_s: float = 120) -> Outcome:
        """Run a program in it, as root."""
        command = ("docker", "exec", self.name, *argv)
        return self.processes.run(Command(argv=command, timeout_s=timeout_s))

    def text(self, *argv: str) -> str:
        """Return what a program prints; it must go well."""
        outcome = self.run(*argv)
        assert outcome.rc == 0, outcome.stdout + outcome.stderr
        return outcome.stdout

    def set_up(self, *options: str) -> Outcome:
        """Run the one command."""
        script = "/opt/megtrim/scripts/device-host/set_up.py"
        return self.run("python3", script, *self.order, *options)

    def give_token(self) -> None:
        """Do what the page asks of a person."""
        paste = f"install -D -m 0600 /dev/null {TOKEN} && echo secret-of-the-host > {TOKEN}"
        self.text("sh", "-c", paste)

    def wait_for(self, file: str, *, lines: int, within_s: float = 60) -> list[str]:
        """Return a file's lines once it has so many."""
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            found = self.run("cat", file).stdout.splitlines()
            if len(found) >= lines:
                return found
            time.sleep(0.5)
        journal = self.run("journalctl", "-u", "megtrim*", "--no-pager", "-o", "cat").stdout
        pytest.fail(f"{file} has not {lines} lines; the journal says:\n{journal[-3000:]}")


@pytest.fixture(scope="session")
def engine(processes: Processes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """Docker, started for these tests where it does not run.

    Whoever started it ends it, when no other worker uses it any more.
    """
    base = tmp_path_factory.getbasetemp()
    root = base.parent if base.name.startswith("popen-") else base
    with ExitStack() as stack:
        users = stack.enter_context((root / "docker.users").open("a"))
        with (root / "docker.start").open("a") as start:
            fcntl.flock(start, fcntl.LOCK_EX)
            if processes.run(Command(argv=("docker", "info"), timeout_s=60)).rc != 0:
                log = tmp_path_factory.mktemp("docker") / "dockerd.log"
                daemon = Command(argv=("/usr/sbin/dockerd",), timeout_s=0, log=log)
                stack.enter_context(processes.background(daemon))
                _wait_for_engine(processes, log)
                stack.callback(fcntl.flock, users, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_SH)
        yield processes


def _wait_for_engine(processes: Processes, log: Path) -> None:
    for _ in range(60):
        if processes.run(Command(argv=("docker", "info"), timeout_s=60)).rc == 0:
            return
        time.sleep(0.5)
    pytest.fail(f"docker does not start here: {log.read_text(encoding='utf-8')[-2000:]}")


def debian_image(processes: Processes, suite: str, folder: Path) -> str:
    """Return an image of Debian with a host's packages, made now if there is none."""
    packages = ",".join((*INCLUDED, SUITES[suite]))
    key = hashlib.sha256(packages.encode()).hexdigest()[:12]
    tag = f"megtrim-device-host-test:{suite}-{key}"
    if processes.run(Command(argv=("docker", "image", "inspect", tag), timeout_s=60)).rc == 0:
        return tag
    archive = folder / "root.tar"
    make = ("mmdebstrap", "--variant=apt", f"--include={packages}", suite, str(archive))
    for argv in (make, ("docker", "import", str(archive), tag)):
        made = processes.run(Command(argv=argv, timeout_s=900))
        assert made.rc == 0, made.stderr[-2000:]
    archive.unlink()
    return tag


def _runner(path: Path) -> str:
    """Make an archive that unpacks like GitHub's runner; return its digest."""
    job = (HERE / "job").read_bytes()
    entry = tarfile.TarInfo("./run.sh")
    entry.mode, entry.size = 0o755, len(job)
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
        assert Processes(os.environ).run(Command(argv=argv, timeout_s=60)).rc == 0


def _start(processes: Processes, suite: str, folder: Path, *options: str) -> Host:
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
def booted(engine: Processes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """Debian 12 with systemd as its first process."""
    # Credentials reach a unit by a mount that has to spread; containers begin without that.
    start = "mount --make-rshared / && exec /sbin/init"
    free = ("seccomp=unconfined", "apparmor=unconfined")
    options = (
        *("--cap-add=SYS_ADMIN", "--cgroupns=private", "--env=container=docker"),
        *(f"--security-opt={option}" for option in free),
        *("--tmpfs=/run", "--tmpfs=/run/lock", "--tmpfs=/tmp:exec"),
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
def image(engine: Processes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """Debian 13 where no systemd runs, as while an image is made."""
    host = _start(engine, "trixie", tmp_path_factory.mktemp("image"), "--init", "sleep 3600")
    try:
        yield host
    finally:
        _remove(host)


def calls(host: Host) -> list[dict[str, object]]:
    """Return the registrations that the stand-in for GitHub was asked for."""
    return [json.loads(line) for line in host.text("cat", "/var/log/github").splitlines()]
