import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from images.conftest import opened
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.places.compile.images import container_runner
from megtrim.places.compile.images.container_runner import ContainerRunner
from megtrim.places.compile.images.docker import DockerClient
from megtrim.places.compile.projects.cmake import compiler_cache
from megtrim.places.compile.projects.cmake.compiler_cache import VARIABLE, CompilerCache
from support.clock import until
from support.storages import free_port, redis_server

ROOT = Path(__file__).parents[2]
STUBBORN = "trap '' INT TERM; echo up; while :; do sleep 0.1; done"


def shell(
    inside: ContainerRunner,
    script: str,
    *,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
) -> CompletedCommand:
    return inside.run(Command(argv=("sh", "-c", script), env=env or {}, cwd=cwd, timeout_s=60))


def test_nothing_of_this_machine_enters(inside: ContainerRunner, tmp_path: Path) -> None:
    script = "ls /sys/class/net; grep CapEff /proc/self/status; env | sort; pwd"
    outcome = shell(inside, script, env={"GIVEN": "a b", "PATH": "/usr/bin"}, cwd=tmp_path / "out")

    lines = outcome.stdout.splitlines()
    assert lines[0] == "lo"
    assert lines[1].split() == ["CapEff:", "0000000000000000"]
    names = {line.partition("=")[0] for line in lines[2:-1]}
    assert names - {"PWD", "OLDPWD", "SHLVL", "_"} == {"GIVEN", "HOME", "HOSTNAME", "PATH"}
    assert {"GIVEN=a b", "HOME=/tmp", "PATH=/usr/bin"} <= set(lines)
    assert lines[-1] == str(tmp_path / "out")


def test_files_are_the_callers(
    docker: DockerClient, linux_image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "source").write_text("as it was", encoding="utf-8")
    script = "echo new > made; echo other > ../given/source; echo $?; id -u"
    shell(opened(docker, linux_image, tmp_path), script, cwd=tmp_path / "out")
    assert (tmp_path / "out" / "made").stat().st_uid == os.getuid()

    monkeypatch.setattr(os, "getuid", lambda: 4321)
    monkeypatch.setattr(os, "getgid", lambda: 4322)
    (tmp_path / "out").chmod(0o777)
    inside = opened(docker, linux_image, tmp_path)
    outcome = shell(inside, "echo new > by-other; id -u; id -g; cat ../given/source")
    refused = shell(inside, script.replace("made", "more"), cwd=tmp_path / "out")
    written = shell(inside, "echo new > by-other; id -u; id -g", cwd=tmp_path / "out")

    assert outcome.rc != 0
    assert refused.stdout.split() == ["2", "4321"]
    assert written.stdout.split() == ["4321", "4322"]
    status = (tmp_path / "out" / "by-other").stat()
    assert (status.st_uid, status.st_gid) == (4321, 4322)
    assert (tmp_path / "given" / "source").read_text(encoding="utf-8") == "as it was"


def test_streams_are_those_of_the_program(inside: ContainerRunner, tmp_path: Path) -> None:
    given = tmp_path / "in"
    taken = tmp_path / "taken"
    given.write_bytes(bytes(range(256)) * 1000)
    lines: list[str] = []
    command = Command(
        argv=("sh", "-c", "cat; echo one >&2; echo two >&2; exit 3"),
        stdin=given,
        stdout_to=taken,
        on_line=lines.append,
        log=tmp_path / "log",
        timeout_s=60,
    )
    outcome = inside.run(command)

    assert outcome.rc == 3
    assert outcome.argv == command.argv
    assert taken.read_bytes() == given.read_bytes()
    assert lines == ["one", "two"]
    assert (tmp_path / "log").read_text(encoding="utf-8") == outcome.stderr == "one\ntwo\n"


@pytest.mark.parametrize("rc", [1, 125, 126, 127])
def test_a_programs_own_exit_status_stays(inside: ContainerRunner, rc: int) -> None:
    assert shell(inside, f"exit {rc}").rc == rc


def test_a_signal_is_reported_as_a_shell_does(inside: ContainerRunner) -> None:
    assert shell(inside, "kill -TRAP $$").rc == 128 + signal.SIGTRAP


def test_what_cannot_run(inside: ContainerRunner, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^image \S+ has no program 'no-such-tool'\n.*recipe"):
        inside.run(Command(argv=("no-such-tool",), timeout_s=60))
    with pytest.raises(InfrastructureFailure, match=r"/etc cannot be started in image"):
        inside.run(Command(argv=("/etc",), timeout_s=60))
    with pytest.raises(InfrastructureFailure, match=r"there is no folder /usr in image"):
        shell(inside, "true", cwd=Path("/usr"))
    inside._docker.processes.env["DOCKER_HOST"] = f"unix://{tmp_path}/none"
    try:
        with pytest.raises(InfrastructureFailure, match=r"no Docker daemon answers"):
            shell(inside, "true")
    finally:
        del inside._docker.processes.env["DOCKER_HOST"]


def test_looking_into_the_image(inside: ContainerRunner, tmp_path: Path) -> None:
    assert inside.which("clang++-14") == "/usr/bin/clang++-14"
    assert inside.which("/usr/bin/clang++-14") == "/usr/bin/clang++-14"
    assert inside.which("/etc/debian_version") is None
    assert inside.which("megtrim") is None
    assert inside.build_tool("ninja") == "/usr/bin/ninja"
    with pytest.raises(InputError, match=r"^image \S+ has no zig"):
        inside.build_tool("zig")

    assert (inside.read(Path("/etc/debian_version")) or b"").startswith(b"12.")
    assert (inside.read(Path("/usr/bin/true")) or b"").startswith(b"\x7fELF\x02\x01\x01\x00")
    assert inside.read(Path("/no/such/file")) is None
    assert inside.read(Path("/etc")) is None
    with pytest.raises(InputError, match=r"found more than 1,048,576 bytes"):
        inside.read(Path("/usr/bin/qemu-aarch64-static"))


def test_a_folder_can_be_brought_out(inside: ContainerRunner, tmp_path: Path) -> None:
    inside.bring_out(Path("/usr/aarch64-linux-gnu"), tmp_path / "sysroot")

    assert (tmp_path / "sysroot" / "lib" / "ld-linux-aarch64.so.1").is_file()
    with pytest.raises(InfrastructureFailure, match=r"/no/such of image \S+ cannot be copied"):
        inside.bring_out(Path("/no/such"), tmp_path / "other")


def test_nothing_is_left_of_a_run_that_is_ended(
    inside: ContainerRunner, ours: Callable[[int], list[str]]
) -> None:
    """Too long, or aborted: a program that obeys no signal goes with its container."""
    late = inside.run(Command(argv=("sh", "-c", STUBBORN), timeout_s=1.5))
    abort = threading.Event()
    command = Command(
        argv=("sh", "-c", STUBBORN), timeout_s=60, abort=abort, on_line=lambda _: abort.set()
    )
    aborted = inside.run(command)

    assert (late.timed_out, aborted.aborted) == (True, True)
    assert ours(os.getpid()) == []


HOLDER = """
import os, sys
from pathlib import Path
from images.conftest import opened
from megtrim.places.compile.images.docker import DockerClient
from megtrim.libs.util.process import Command, ProcessRunner
inside = opened(DockerClient(ProcessRunner(os.environ)), sys.argv[1], Path(sys.argv[2]))
command = Command(argv=("sh", "-c", sys.argv[3]), timeout_s=600, on_line=lambda _: print("up"))
print(inside.run(command), flush=True)
"""


@pytest.mark.parametrize("script", ["echo up; exec sleep 600", STUBBORN], ids=["obeys", "stubborn"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill -9"])
def test_nothing_is_left_of_a_megtrim_that_is_ended(
    docker: DockerClient,
    linux_image: str,
    tmp_path: Path,
    ours: Callable[[int], list[str]],
    script: str,
    number: signal.Signals,
) -> None:
    """Killed, it can end nothing itself: the client does it, or whoever comes next."""
    argv = (sys.executable, "-u", "-c", HOLDER, linux_image, str(tmp_path), script)
    log = tmp_path / "log"
    env = {"PYTHONPATH": f"{ROOT / 'ci'}:{ROOT / 'tests'}"}
    with ProcessRunner(os.environ).background(
        Command(argv=argv, timeout_s=0, log=log, env=env)
    ) as run:
        until(
            lambda: log.exists() and "up" in log.read_text(encoding="utf-8"),
            "the program",
            within_s=60,
        )
        assert len(ours(run.pid)) == 1
        os.kill(run.pid, number)
        until(lambda: not run.alive(), "its end", 60)
        if number == signal.SIGKILL and script == STUBBORN:
            container_runner.end_abandoned(docker)
        until(lambda: ours(run.pid) == [], "the container", 60)


def test_what_others_hold_is_left_alone(docker: DockerClient, inside: ContainerRunner) -> None:
    name = "megtrim-test-of-another-machine"
    label = f"{container_runner.LABEL}=another-boot/pid:[1]/1/1"
    docker.check_output("create", "--name", name, "--label", label, inside.image.id, "true")
    try:
        done = threading.Event()

        def while_running(_line: str) -> None:
            container_runner.end_abandoned(docker)
            done.set()

        command = Command(
            argv=("sh", "-c", "echo up; sleep 2; exit 7"), timeout_s=60, on_line=while_running
        )
        assert inside.run(command).rc == 7
        assert done.is_set()
        assert name in docker.check_output("ps", "--all", "--format", "{{.Names}}").split()
    finally:
        docker.remove(name)


def test_nothing_runs_next_to_megtrim(inside: ContainerRunner) -> None:
    with pytest.raises(InputError, match=r"^adb cannot run in the background"):
        inside.background(Command(argv=("adb",), timeout_s=0))


CLANG = ("/usr/bin/clang++-14",)


def variables(
    inside: ContainerRunner, url: str, folder: Path, warnings: list[str]
) -> dict[str, str]:
    storages = compiler_cache.parse_storages(url, source=VARIABLE)
    cache = CompilerCache(storages, writes=True, passed={}, warn=warnings.append)
    return dict(cache.variables(inside, CLANG, folder))


def compiled(inside: ContainerRunner, reported: dict[str, str], folder: Path) -> Counter[str]:
    folder.mkdir()
    (folder / "a.cpp").write_text("int a() { return 1; }\n", encoding="utf-8")
    env = {
        **reported,
        "CCACHE_DIR": str(folder / "local"),
        "CCACHE_STATSLOG": str(folder / "counted"),
        "CCACHE_BASEDIR": str(folder),
        "CCACHE_NOHASHDIR": "1",
    }
    argv = ("/usr/bin/ccache", *CLANG, "-c", "a.cpp", "-o", "a.o")
    outcome = inside.run(Command(argv=argv, cwd=folder, env=env, timeout_s=120))
    assert outcome.ok, outcome.stderr
    assert (folder / "a.o").stat().st_size > 0
    return Counter((folder / "counted").read_text(encoding="utf-8").split("\n"))


def test_a_storage_is_asked_and_used(
    inside: ContainerRunner, processes: ProcessRunner, tmp_path: Path
) -> None:
    warnings: list[str] = []
    out = tmp_path / "out"

    with redis_server(processes, tmp_path) as redis:
        reported = variables(inside, redis.url(), out / "asked", warnings)
        first = compiled(inside, reported, out / "first")
        second = compiled(inside, reported, out / "second")
        alone = compiled(inside, {}, out / "third")

    assert warnings == []
    assert (first["cache_miss"], first["remote_storage_write"]) == (1, 2)
    assert (second["cache_miss"], second["remote_storage_hit"]) == (0, 1)
    assert alone["cache_miss"] == 1
    assert alone["remote_storage_miss"] == 0


def test_a_dead_storage_is_left_out(inside: ContainerRunner, tmp_path: Path) -> None:
    warnings: list[str] = []
    url = f"redis://127.0.0.1:{free_port()}"

    reported = variables(inside, url, tmp_path / "out", warnings)

    assert reported == {VARIABLE: ""}
    assert warnings == [f"the remote compiler cache {url} does not answer: built without it"]
    listed = inside.run(Command(argv=("ls", "/sys/class/net"), env=reported, timeout_s=60))
    assert listed.stdout.split() == ["lo"]
