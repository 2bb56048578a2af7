"""The virtual phone as an image: built, run with the rights its README names, used, and ended."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from device_host.conftest import ROOT, debian_image
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from virtual_phone import adb_server as server
from virtual_phone.adb_server import AdbServer

FOLDER = ROOT / "docker" / "virtual-phone"
TAG = "megtrim-virtual-phone-test:trixie"
SOURCE = ROOT / "tests" / "integration" / "devices" / "arch.cpp"


def docker(processes: ProcessRunner, *words: str, timeout_s: float = 60) -> CompletedCommand:
    return processes.run(Command(argv=("docker", *words), timeout_s=timeout_s))


def reported(outcome: CompletedCommand) -> str:
    assert outcome.rc == 0, outcome.stdout[-2000:] + outcome.stderr[-2000:]
    return outcome.stdout.strip()


def rights(processes: ProcessRunner) -> tuple[str, ...]:
    """Return the options of the README's `docker run`, and that of its table for AppArmor."""
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    run = readme.partition("docker run ")[2].partition("```")[0]
    found = re.findall(r"--(?:security-opt|cap-add|privileged)[ =]?\S*", run)
    if "apparmor" in reported(docker(processes, "info", "--format", "{{.SecurityOptions}}")):
        found.append("--security-opt apparmor=unconfined")
    return tuple(word for option in found for word in option.split())


@pytest.fixture(scope="module")
def image(engine: ProcessRunner, tmp_path_factory: pytest.TempPathFactory) -> str:
    base = debian_image(engine, "trixie", tmp_path_factory.mktemp("base"))
    before = docker(engine, "image", "inspect", "--format", "{{.Id}}", TAG).stdout
    recipe = ("--file", str(FOLDER / "Dockerfile"), "--build-arg", f"BASE={base}", "--tag", TAG)
    reported(docker(engine, "build", *recipe, str(ROOT / "ci"), timeout_s=600))
    after = docker(engine, "image", "inspect", "--format", "{{.Id}}", TAG).stdout
    if before and before != after:
        docker(engine, "rmi", before.strip())
    return TAG


@pytest.fixture
def container(engine: ProcessRunner, image: str) -> Iterator[str]:
    name = f"megtrim-virtual-phone-{os.getpid()}"
    options = ("--detach", "--name", name, "--publish", "127.0.0.1::5555", *rights(engine))
    try:
        reported(docker(engine, "run", *options, image))
        yield name
    finally:
        docker(engine, "rm", "--force", name)


@pytest.fixture
def adb_server(engine: ProcessRunner, tmp_path: Path) -> Iterator[AdbServer]:
    with server.private_server(engine, parent=tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def program(processes: ProcessRunner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("arm64") / "arch"
    compiler = ("aarch64-linux-gnu-g++", "-static", str(SOURCE))
    processes.capture(*compiler, "-o", str(program))
    return program


def test_a_phone_in_a_container(
    engine: ProcessRunner, container: str, adb_server: AdbServer, program: Path
) -> None:
    serial = reported(docker(engine, "port", container, "5555/tcp")).splitlines()[0]
    server.connect(engine, adb_server, serial)

    def adb(*words: str) -> CompletedCommand:
        argv = ("adb", "-s", serial, *words)
        return engine.run(Command(argv=argv, env=adb_server.env, timeout_s=30))

    def fault(*words: str) -> None:
        reported(docker(engine, "exec", container, "virtual-phone", "fault", "phone", *words))

    reported(adb("push", str(program), "/data/local/tmp/arch"))
    ran = adb("shell", "/data/local/tmp/arch")
    assert (ran.stdout.partition(" part ")[0], ran.rc) == ("aarch64", 3)

    fault("battery", "12")
    assert "  level: 12\n" in adb("shell", "dumpsys battery").stdout

    fault("kill")
    assert adb("shell", "echo on").stdout == ""
    listed = docker(engine, "exec", container, "virtual-phone", "list")
    assert reported(listed).endswith("\tdead")
    fault("revive")
    server.connect(engine, adb_server, serial)
    assert adb("shell", "echo on").stdout == "on\n"

    wrong = docker(engine, "exec", container, "virtual-phone", "fault", "phone", "boom")
    assert (wrong.rc, "there is no fault 'boom'" in wrong.stderr) == (2, True)

    reported(docker(engine, "stop", container))
    state = docker(engine, "inspect", "--format", "{{.State.ExitCode}}", container)
    assert reported(state) == "0", docker(engine, "logs", container).stderr
