"""Docker for tests: its daemon, started where it does not run, and images of Debian.

Images are made by mmdebstrap from the machine's own package sources, once; every lane that
needs one begins with the same.
"""

import fcntl
import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from filelock import FileLock

from megtrim.libs.util.process import Command, ProcessRunner
from support.clock import until

INCLUDED = (
    "adb",
    "ca-certificates",
    "git",
    "openssh-client",
    "passwd",
    "python3",
    "python3-venv",
    "systemd-sysv",
    "udev",
)
SUITES = {"bookworm": "libicu72", "trixie": "libicu76"}


@pytest.fixture(scope="session")
def engine(
    processes: ProcessRunner, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProcessRunner]:
    """Docker, started for these tests where it does not run.

    Whoever started it ends it, when no other worker uses it any more.
    """
    base = tmp_path_factory.getbasetemp()
    root = base.parent if base.name.startswith("popen-") else base
    with ExitStack() as stack:
        users = stack.enter_context((root / "docker.users").open("a"))
        with (root / "docker.start").open("a") as start:
            fcntl.flock(start, fcntl.LOCK_EX)
            info = Command(argv=("docker", "info"), timeout_s=60)
            if processes.run(info).rc != 0:
                log = tmp_path_factory.mktemp("docker") / "dockerd.log"
                daemon = Command(argv=("/usr/sbin/dockerd",), timeout_s=0, log=log)
                stack.enter_context(processes.background(daemon))
                until(lambda: processes.run(info).rc == 0, f"docker, which writes to {log}")
                stack.callback(fcntl.flock, users, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_SH)
        yield processes


def debian_image(processes: ProcessRunner, suite: str, folder: Path) -> str:
    packages = ",".join((*INCLUDED, SUITES[suite]))
    key = hashlib.sha256(packages.encode()).hexdigest()[:12]
    tag = f"megtrim-device-host-test:{suite}-{key}"
    # Workers that need the same one make it once.
    with FileLock(Path(tempfile.gettempdir()) / f"megtrim-image-{suite}.lock"):
        if processes.run(Command(argv=("docker", "image", "inspect", tag), timeout_s=60)).rc == 0:
            return tag
        archive = folder / "root.tar"
        make = ("mmdebstrap", "--variant=apt", f"--include={packages}", suite, str(archive))
        for argv in (make, ("docker", "import", str(archive), tag)):
            made = processes.run(Command(argv=argv, timeout_s=900))
            assert made.rc == 0, made.stderr[-2000:]
        archive.unlink()
    return tag
