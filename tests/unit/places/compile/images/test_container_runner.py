import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.places.compile.images import container_runner
from megtrim.places.compile.images.container_runner import ContainerRunner, Mounts
from megtrim.places.compile.images.docker import DockerClient
from unit.places.compile.images.stub import ID, Stub

SECRET = "redis://user:password@cache.example"


@pytest.fixture
def stub(tmp_path: Path) -> Stub:
    return Stub.make(tmp_path / "bin", GITHUB_TOKEN="token", HOME="/home/me")


@pytest.fixture
def inside(stub: Stub, tmp_path: Path) -> ContainerRunner:
    return opened(stub, tmp_path)


def opened(stub: Stub, folder: Path) -> ContainerRunner:
    docker = DockerClient(stub.processes)
    (folder / "given").mkdir(exist_ok=True)
    seen = Mounts(
        writable=(folder / "out",), readable=(folder / "given",), env={"CCACHE_DIR": "/cache"}
    )
    return ContainerRunner(docker, docker.image("team/android:r21"), seen)


def ran(stub: Stub) -> list[str]:
    return stub.calls("run")[-1]


def test_the_command_line(stub: Stub, inside: ContainerRunner, tmp_path: Path) -> None:
    assert inside.env == {"PATH": "/opt/bin:/usr/bin", "ANDROID_NDK_ROOT": "/opt/ndk"}
    assert inside.where == "image team/android:r21"
    out = tmp_path / "out"
    command = Command(argv=("cmake", "-G", "Ninja"), cwd=out, env={"A": "b c"}, timeout_s=60)
    inside.run(command)

    argv = ran(stub)
    name = argv[argv.index("--name") + 1]
    label = argv[argv.index("--label") + 1]
    assert re.fullmatch(rf"megtrim-{os.getpid()}-\d+-[0-9a-f]{{8}}", name)
    assert label.startswith("megtrim.holder=")
    assert argv == [
        "run",
        "--rm",
        "--init",
        "--pull",
        "never",
        "--log-driver",
        "none",
        "--name",
        name,
        "--label",
        label,
        "--network",
        "none",
        "--user",
        f"{os.getuid()}:{os.getgid()}",
        "--cap-drop",
        "ALL",
        "--security-opt",
        "no-new-privileges",
        "--entrypoint",
        "",
        "--workdir",
        str(out),
        "--mount",
        f"type=bind,source={out},target={out}",
        "--mount",
        f"type=bind,source={tmp_path}/given,target={tmp_path}/given,readonly",
        "--env",
        "A",
        "--env",
        "CCACHE_DIR",
        "--env",
        "HOME=/tmp",
        ID,
        "cmake",
        "-G",
        "Ninja",
    ]
    env = stub.env("run")
    assert (env["A"], env["CCACHE_DIR"], env["HOME"]) == ("b c", "/cache", "/home/me")
    # Two containers have two names, also of two processes of one number; input is passed on.
    (tmp_path / "in").touch()
    inside.run(replace(command, stdin=tmp_path / "in"))
    other = ran(stub)
    assert "--interactive" in other
    assert "--interactive" not in argv
    assert other[other.index("--name") + 1].rpartition("-")[2] != name.rpartition("-")[2]
    stub.answer((["info"], 0, '["name=rootless"]\n', ""))
    opened(stub, tmp_path).run(Command(argv=("true",), timeout_s=60))
    assert ran(stub)[ran(stub).index("--user") + 1] == "0:0"


def test_a_password_is_in_no_list_of_processes(stub: Stub, inside: ContainerRunner) -> None:
    """Its value is docker's own variable; with a storage on the network there is a network."""
    inside.run(Command(argv=("ninja",), env={"CCACHE_REMOTE_STORAGE": SECRET}, timeout_s=60))

    argv = ran(stub)
    assert SECRET not in " ".join(argv)
    assert stub.env("run")["CCACHE_REMOTE_STORAGE"] == SECRET
    assert argv[argv.index("--network") + 1] == "host"

    inside.run(Command(argv=("ninja",), env={"CCACHE_REMOTE_STORAGE": ""}, timeout_s=60))
    assert ran(stub)[ran(stub).index("--network") + 1] == "none"


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "DOCKER_HOST", "LD_LIBRARY_PATH", "HTTPS_PROXY", "no_proxy"]
)
def test_what_docker_itself_obeys(stub: Stub, inside: ContainerRunner, name: str) -> None:
    before = stub.processes.env.get(name)
    inside.run(Command(argv=("true",), env={name: "/inside"}, timeout_s=60))

    assert f"{name}=/inside" in ran(stub)
    assert stub.env("run").get(name) == before


def test_a_folder_with_a_comma(stub: Stub, tmp_path: Path) -> None:
    folder = tmp_path / 'a,"b'
    folder.mkdir()
    opened(stub, folder).run(Command(argv=("true",), timeout_s=60))

    out = str(folder / "out").replace('"', '""')
    assert f'type=bind,"source={out}","target={out}"' in ran(stub)


def test_a_folder_that_it_does_not_see(inside: ContainerRunner, stub: Stub, tmp_path: Path) -> None:
    for cwd in (tmp_path, tmp_path / "out" / "none"):
        with pytest.raises(InfrastructureFailure, match=f"there is no folder {cwd} in image"):
            inside.run(Command(argv=("true",), cwd=cwd, timeout_s=60))
    assert stub.calls("run") == []


@pytest.mark.parametrize("merged", [False, True])
def test_docker_that_failed_is_not_the_program(
    stub: Stub, inside: ContainerRunner, merged: bool
) -> None:
    """Docker ends with 125, a missing program with 127; a program may end with them too."""
    command = Command(argv=("ninja",), merge_stderr=merged, timeout_s=60)
    said = "docker: Error response from daemon: no space left on device.\n\nRun 'docker run"
    stub.answer((["run"], 125, "", f"{said} --help'\n"))
    with pytest.raises(InfrastructureFailure, match=r"could not run ninja in image .* no space"):
        inside.run(command)

    stub.answer((["run"], 125, "", "the program says so\n"))
    assert inside.run(command).rc == 125

    tini = "[FATAL tini (7)] exec ninja failed:"
    stub.answer((["run"], 127, "", f"{tini} No such file or directory\n"))
    with pytest.raises(InputError, match=r"^image team/android:r21 has no program 'ninja'"):
        inside.run(command)
    stub.answer((["run"], 1, "", f"{tini} Exec format error\n"))
    with pytest.raises(InfrastructureFailure, match=r"ninja cannot be started .* Exec format"):
        inside.run(command)
    assert stub.calls("rm") == []


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (2, "[FATAL tini (7)] exec ninja failed: No such file or directory\n"),
        (0, "[FATAL tini (7)] exec ninja failed: No such file or directory\n"),
        (127, "[FATAL tini (7)] exec ninja failed: No such file or directory\nand so on\n"),
        (127, "log: [FATAL tini (7)] exec ninja failed: No such file or directory\n"),
    ],
)
def test_a_program_that_only_prints_such_words(
    stub: Stub, inside: ContainerRunner, status: int, said: str
) -> None:
    stub.answer((["run"], status, "", said))
    assert inside.run(Command(argv=("ninja",), timeout_s=60)).rc == status


def test_what_is_ended_is_removed(stub: Stub, inside: ContainerRunner) -> None:
    (stub.folder / "docker").write_text(
        '#!/bin/sh\necho "$1 $4" >> "$(dirname "$0")/order"\n'
        'if [ "$1" = run ]; then trap "" INT TERM; exec sleep 60; fi\nexit 1\n',
        encoding="utf-8",
    )
    outcome = inside.run(Command(argv=("ninja",), timeout_s=0.5))

    assert outcome.timed_out
    assert outcome.argv == ("ninja",)
    spec = (stub.folder / "order").read_text(encoding="utf-8").splitlines()
    assert [line.split()[0] for line in spec] == ["run", "rm"]
    assert spec[1].split()[1].startswith(f"megtrim-{os.getpid()}-")


def test_programs_are_found_in_the_order_of_the_path(stub: Stub, inside: ContainerRunner) -> None:
    stub.answer((["run"], 1, "/usr/bin/cmake\n/opt/bin/cmake\n/usr/bin/ninja\n", "no /opt/x\n"))

    assert inside.which("cmake") == "/opt/bin/cmake"
    assert inside.which("ninja") == inside.build_tool("ninja") == "/usr/bin/ninja"
    assert inside.which("zig") is None
    looked = stub.calls("run")
    assert len(looked) == 1
    assert looked[0][looked[0].index(ID) + 1 :] == [
        "find",
        "-L",
        "/opt/bin",
        "/usr/bin",
        "-maxdepth",
        "1",
        "-type",
        "f",
        "-perm",
        "/111",
    ]
    with pytest.raises(InputError, match=r"^image team/android:r21 has no zig\n  build an image"):
        inside.build_tool("zig")


def test_a_path_of_odd_folders(stub: Stub, tmp_path: Path) -> None:
    """A folder is the same by any spelling; half of a name with a line's end is no program."""
    found = "/usr/bin/cmake\n/usr/bin/odd\nninja\n/opt/bin/cmake\n"

    def look(path: str) -> ContainerRunner:
        described = json.dumps([{"Id": ID, "Config": {"Env": [f"PATH={path}"]}}])
        stub.answer((["run"], 0, found, ""), (["image", "inspect"], 0, described, ""))
        return opened(stub, tmp_path)

    assert look("bin").which("cmake") is None
    assert stub.calls("run") == []
    inside = look("/opt/bin/:/usr//bin:bin::/usr/bin")
    assert inside.which("cmake") == "/opt/bin/cmake"
    assert inside.which("ninja") is None
    assert ran(stub)[ran(stub).index("find") + 2 :][:3] == ["/opt/bin", "/usr/bin", "-maxdepth"]


def test_a_program_that_is_named_by_its_path(stub: Stub, inside: ContainerRunner) -> None:
    stub.answer((["run"], 1, "", "find: '/opt/x': No such file or directory\n"))
    assert inside.which("/opt/x") is None
    stub.answer((["run"], 0, "/opt/x\n", ""))
    assert inside.which("/opt/x") == "/opt/x"


def test_a_look_that_fails_or_does_not_end(
    stub: Stub, inside: ContainerRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.answer((["run"], 137, "/usr/bin/cmake\n", "Killed\n"))
    expected = r"^find stopped: something outside killed a program of it, .*:\nKilled\n"
    for name in ("cmake", "/usr/bin/cmake"):
        with pytest.raises(InfrastructureFailure, match=expected):
            inside.which(name)
    monkeypatch.setattr(container_runner, "_LOOK_TIMEOUT_S", 0.3)
    (stub.folder / "docker").write_text(
        '#!/bin/sh\nif [ "$1" = run ]; then exec sleep 60; fi\n', encoding="utf-8"
    )
    with pytest.raises(InfrastructureFailure, match="find timed out"):
        inside.which("cmake")


def test_where_it_is(tmp_path: Path) -> None:
    other = tmp_path / "results"
    home = {"HOME": str(tmp_path)}

    assert container_runner.folder({"CCACHE_DIR": "/c", **home}, otherwise=other) == Path("/c")
    assert container_runner.folder({"CCACHE_DIR": "c"}, otherwise=other) == Path.cwd() / "c"
    assert container_runner.folder(home, otherwise=other) == tmp_path / ".cache" / "ccache"
    named = {"XDG_CACHE_HOME": "/x", **home}
    assert container_runner.folder(named, otherwise=other) == Path("/x/ccache")
    assert container_runner.folder({}, otherwise=other) == other
    (tmp_path / ".ccache").mkdir()
    assert container_runner.folder(named, otherwise=other) == tmp_path / ".ccache"


def dead() -> int:
    processes = ProcessRunner(os.environ)
    reported = processes.run(Command(argv=("sh", "-c", "echo $$"), timeout_s=60)).stdout
    return int(reported)


def test_only_the_abandoned_are_ended(tmp_path: Path) -> None:
    mine = container_runner.me()
    here, pid, started = mine.rsplit("/", 2)
    holders = {
        "alive": mine,
        "gone": f"{here}/{dead()}/123",
        "reused": f"{here}/{pid}/{int(started) - 1}",
        "elsewhere": f"other-boot/pid:[1]/{dead()}/123",
        "strange": "hello",
        "no-number": f"{here}/0/123",
        "no-digit": f"{here}/²/123",
        "too-large": f"{here}/{'9' * 30}/123",
        "empty": "",
    }
    stub = Stub.make(tmp_path)
    listed = "".join(f"{name} {value}\n" for name, value in holders.items())
    stub.answer((["ps"], 0, listed, ""))
    container_runner.end_abandoned(DockerClient(stub.processes))

    assert (pid, started.isdigit()) == (str(os.getpid()), True)
    assert stub.calls("rm") == [["rm", "--force", "--volumes", "gone", "reused"]]
    assert "label=megtrim.holder" in stub.calls("ps")[0]


def test_processes_that_are_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system shows nothing of another's process, the kernel still reports that it is."""
    here, pid, _ = container_runner.me().rsplit("/", 2)
    monkeypatch.setattr(container_runner, "_read_start_time", lambda _: None)
    stub = Stub.make(tmp_path)
    listed = f"mine {here}/{pid}/1\nroots {here}/1/1\ngone {here}/{dead()}/1\n"
    stub.answer((["ps"], 0, listed, ""))
    container_runner.end_abandoned(DockerClient(stub.processes))
    assert stub.calls("rm") == [["rm", "--force", "--volumes", "gone"]]

    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError

    # A process of someone else; then there is nothing to end.
    monkeypatch.setattr(os, "kill", refuse)
    stub.answer((["ps"], 0, f"roots {here}/1/1\n", ""))
    container_runner.end_abandoned(DockerClient(stub.processes))
    assert len(stub.calls("rm")) == 1
