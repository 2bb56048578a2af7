"""The script that puts an NDK into place while an image is made, run as the recipe runs it.

A small program plays unzip, which machines of tests may lack; the lane ``images`` has the real one.
"""

import hashlib
import os
import re
import sys
import zipfile
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from megtrim.libs.util.errors import InfrastructureFailure, InputError, MegtrimError
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.places.compile.images import docker as builds
from unit.places.compile.images.stub import ID, Stub

DIGEST = "sha256:" + "cd" * 32
NO_DAEMON = (
    "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. "
    "Is the docker daemon running?\n"
)
DENIED = (
    "permission denied while trying to connect to the Docker daemon socket at "
    "unix:///var/run/docker.sock: dial unix /var/run/docker.sock: connect: permission denied\n"
)
COMMAND = "The command '/bin/sh -c python3 /fetch_ndk.py' returned a non-zero code:"
BASE = f"ARG BASE=debian@sha256:{'cd' * 32}"
BUILDKIT = """\
#1 [internal] load build definition from Dockerfile
#5 [stage-0 1/3] FROM docker.io/library/debian@sha256:00
#6 [stage-0  2/3] RUN apt-get update
#7 [ 3/12] RUN python3 /fetch_ndk.py
#7 1.234 megtrim: URL: found sha256 a
#7 ERROR: process "/bin/sh -c python3 /fetch_ndk.py" did not complete successfully: exit code: 2
------
 > [stage-0 3/3] RUN python3 /fetch_ndk.py:
1.234 megtrim: URL: found sha256 a
------
ERROR: failed to solve: process "/bin/sh -c x" did not complete successfully: exit code: 2
"""
TAG = "megtrim/android-arm64"


@pytest.fixture
def stub(tmp_path: Path) -> Stub:
    return Stub.make(tmp_path / "bin")


def test_an_image_is_named_by_its_content(stub: Stub) -> None:
    """By the digest that it was asked for by, else by its ID; a tag may be another tomorrow."""
    docker = builds.DockerClient(stub.processes)
    by_tag = docker.image("team/android:r21")
    by_digest = docker.image(f"host.example:5000/team/android@{DIGEST}")

    assert (by_tag.id, by_tag.identity) == (ID, ID)
    assert (by_digest.id, by_digest.identity) == (ID, DIGEST)
    assert by_tag.env == {"PATH": "/opt/bin:/usr/bin", "ANDROID_NDK_ROOT": "/opt/ndk"}
    assert stub.calls("image")[0] == ["image", "inspect", "team/android:r21"]
    assert docker.pull(f"a@{DIGEST}").identity == DIGEST
    assert stub.calls("pull") == [["pull", "--quiet", f"a@{DIGEST}"]]
    stub.answer((["pull"], 1, "", "Error response from daemon: manifest unknown\n"))
    with pytest.raises(InfrastructureFailure, match=r"docker pull a:b: Error .* manifest unknown"):
        docker.pull("a:b")


def test_an_image_that_is_not_here(stub: Stub) -> None:
    stub.answer((["image", "inspect"], 1, "[]\n", "Error: No such image: a/b:c\n"))
    docker = builds.DockerClient(stub.processes)

    with pytest.raises(InputError) as refused:
        docker.image("a/b:c")
    assert refused.value.message == "there is no image a/b:c on this machine"
    assert "`docker build`" in refused.value.hint
    assert docker.find("a/b:c") is None
    assert stub.calls("pull") == []


def test_an_image_that_cannot_be_looked_for(stub: Stub) -> None:
    docker = builds.DockerClient(stub.processes)
    stub.answer((["image", "inspect"], 1, "[]\n", "Error response from daemon: layer lost\n"))
    for look in (docker.image, docker.find):
        with pytest.raises(InfrastructureFailure, match=r"image inspect a/b:c: .* layer lost$"):
            look("a/b:c")

    stub.answer((["image", "inspect"], 1, "[]\n", "Error: invalid reference format: lowercase\n"))
    with pytest.raises(InputError, match="there is no image A:b"):
        docker.image("A:b")


@pytest.mark.parametrize("reference", ["", "--rm", "a b", "a\nb", "a;b", "-", "x" * 600, "a$b"])
def test_what_is_no_name(stub: Stub, reference: str) -> None:
    with pytest.raises(InputError, match="expected the name, digest or ID of an image"):
        builds.DockerClient(stub.processes).image(reference)
    assert stub.calls() == []


@pytest.mark.parametrize(
    ("said", "text", "hint"),
    [
        (NO_DAEMON, "no Docker daemon answers", "systemctl start docker"),
        (DENIED, "this user may not use Docker's daemon", "join the group docker"),
        ("error during connect: docker: lookup x\n", "no Docker daemon", "is DOCKER_HOST right?"),
        ("docker: unexpected EOF.\n", "Docker's daemon stopped", "journalctl"),
    ],
)
def test_no_daemon(kit: Stub, said: str, text: str, hint: str) -> None:
    kit.answer((["version"], 1, "", said))

    with pytest.raises(InfrastructureFailure) as failed:
        builds.DockerClient(kit.processes).version()
    assert failed.value.message.startswith(text)
    assert hint in failed.value.hint
    assert "--no-docker" in failed.value.hint
    kit.answer((["build"], 1, "", said))
    with pytest.raises(InfrastructureFailure, match=text):
        build(kit)
    for other in ("cc1: error: /x/y: Permission denied\n", ""):
        builds.expect_daemon(other)


def test_no_docker(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="docker is not on the PATH") as refused:
        builds.DockerClient(ProcessRunner({"PATH": str(tmp_path)})).version()
    assert "apt-get install docker.io" in refused.value.hint


@pytest.mark.parametrize("shown", ["podman version 4.3.1\n", "nerdctl version 1.7.7\n"])
def test_another_program_by_its_name(stub: Stub, shown: str) -> None:
    """What it cannot do would end in the words of its templates, as a failure of Docker."""
    template = 'Error: template: version:1:9: executing "version": nil pointer evaluating'
    stub.answer((["--version"], 0, shown, "Emulate Docker CLI\n"), (["version"], 125, "", template))
    client = builds.DockerClient(stub.processes)

    other = shown.split(maxsplit=1)[0]
    for ask in (client.version, client.rootless, lambda: client.find("a:b")):
        with pytest.raises(InputError, match=rf"bin/docker is {other} .*, not Docker"):
            ask()
    with pytest.raises(InputError) as refused:
        client.program()
    assert "--no-docker" in refused.value.hint
    assert stub.calls() == [["--version"]] * 4


@pytest.mark.parametrize("answer", ["", "[]", "{}", "[{}]", "[1]", "null", "<html>"])
def test_answers_that_cannot_be_read(stub: Stub, answer: str) -> None:
    stub.answer((["image", "inspect"], 0, answer, ""))
    with pytest.raises(MegtrimError, match="docker image inspect: the answer cannot be read"):
        builds.DockerClient(stub.processes).image("a:b")


def test_other_failures(stub: Stub) -> None:
    stub.answer((["version"], 7, "", "docker: boom.\n\nRun 'docker version --help' for more\n"))
    with pytest.raises(InfrastructureFailure, match=r"^docker version exited with 7: boom\.$"):
        builds.DockerClient(stub.processes).version()
    assert builds.last_line(" \n") == "no message"
    assert not builds.DockerClient(stub.processes).rootless()
    stub.answer((["info"], 0, '["name=seccomp,profile=default","name=rootless"]\n', ""))
    assert builds.DockerClient(stub.processes).rootless()


@pytest.fixture
def kit(stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stub:
    write_recipe(tmp_path / "kit/linux-arm64", "# x", BASE)
    monkeypatch.setattr(builds, "recipes", lambda: tmp_path / "kit")
    return stub


def write_recipe(folder: Path, *lines: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Dockerfile").write_text("\n".join((*lines, "FROM ${BASE}\n")), encoding="utf-8")


def build(stub: Stub) -> tuple[builds.Image, list[tuple[int, int, str]]]:
    steps: list[tuple[int, int, str]] = []
    docker = builds.DockerClient(stub.processes)
    made = builds.build_image("linux-arm64", docker, lambda *step: steps.append(step))
    return made, steps


def test_a_recipe_is_built_by_plain_docker(kit: Stub, tmp_path: Path) -> None:
    kit.answer((["build"], 0, "Step 1/2 : ARG BASE\nhm\nStep 2/2 : FROM x\n", ""))
    made, steps = build(kit)

    assert kit.calls("build") == [
        ["build", "--force-rm", "--tag", "megtrim/linux-arm64", str(tmp_path / "kit/linux-arm64")]
    ]
    assert made.id == ID
    assert steps == [(1, 2, "ARG BASE"), (2, 2, "FROM x")]
    assert kit.env("build")["BUILDX_NO_DEFAULT_ATTESTATIONS"] == "1"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("ARG BASE",), "docker/linux-arm64/Dockerfile:1: ARG BASE must name its source: "),
        (
            ("", "ARG BASE=debian:12"),
            "Dockerfile:2: ARG BASE must name its source: found 'debian:12'",
        ),
        (
            (BASE, "ARG NDK_URL="),
            "Dockerfile:2: ARG NDK_URL must name its source: found '', expected a",
        ),
    ],
)
def test_a_recipe_that_does_not_say_what_it_is_built_from(
    kit: Stub, tmp_path: Path, lines: tuple[str, ...], message: str
) -> None:
    write_recipe(tmp_path / "kit/linux-arm64", *lines)
    with pytest.raises(InputError) as refused:
        build(kit)
    assert message in refused.value.message
    assert kit.calls("build") == []


@pytest.mark.parametrize("status", [3, 100])
def test_what_fails_around_it(kit: Stub, status: int) -> None:
    output = f"Step 1/1 : RUN x\n ---> abc\nmegtrim: URL: refused\n{COMMAND} "
    kit.answer((["build"], 1, "", f"{output}{status}\n"))
    with pytest.raises(InfrastructureFailure, match=r"cannot be built: URL: refused\n"):
        build(kit)
    # What was given wrongly.
    kit.answer((["build"], 1, "", f"{output}2\n"))
    with pytest.raises(InputError, match=r"^the image linux-arm64 cannot be built: URL: refused$"):
        build(kit)

    kit.answer((["build"], 1, "", f"Step 1/1 : RUN x\n ---> abc\nE: no mirror\n{COMMAND} 100\n"))
    with pytest.raises(InfrastructureFailure) as failed:
        build(kit)
    assert "E: no mirror" in failed.value.message
    assert "--->" not in failed.value.message


def test_the_words_of_buildkit(kit: Stub) -> None:
    steps: list[tuple[int, int, str]] = []
    kit.answer((["build"], 1, "", BUILDKIT))
    with pytest.raises(InputError) as refused:
        builds.build_image(
            "linux-arm64", builds.DockerClient(kit.processes), lambda *step: steps.append(step)
        )

    assert str(refused.value) == "the image linux-arm64 cannot be built: URL: found sha256 a"
    assert steps == [
        (1, 3, "FROM docker.io/library/debian@sha256:00"),
        (2, 3, "RUN apt-get update"),
        (3, 12, "RUN python3 /fetch_ndk.py"),
    ]
    kit.answer((["build"], 1, "", BUILDKIT.replace("exit code: 2", "exit code: 3")))
    with pytest.raises(InfrastructureFailure, match=r"cannot be built: URL: found sha256 a\n"):
        build(kit)


@pytest.mark.parametrize("name", builds.NAMES)
def test_recipes_name_no_digest(name: str) -> None:
    text = (builds.recipes() / name / "Dockerfile").read_text(encoding="utf-8")

    assert "\nARG BASE\nFROM ${BASE}" in text
    assert not re.search(r"sha256:[0-9a-f]|://", text)
    with pytest.raises(
        InputError,
        match=rf"docker/{name}/Dockerfile:\d+: ARG BASE must name its source: found ''",
    ):
        builds.expect_recipe(name)


@pytest.fixture
def archiver(stub: Stub) -> Stub:
    stub.answer((["load"], 0, "", ""), (["save"], 0, "", ""))
    return stub


def test_an_archive_is_loaded(archiver: Stub, tmp_path: Path) -> None:
    docker = builds.DockerClient(archiver.processes)
    assert builds.load(docker, tmp_path, TAG) is None
    assert archiver.calls() == []

    (tmp_path / builds.ARCHIVE).write_bytes(b"image")
    found = builds.load(docker, tmp_path, TAG)

    assert found is not None
    assert found.id == ID
    assert archiver.calls("load") == [
        ["load", "--quiet", "--input", str(tmp_path / builds.ARCHIVE)]
    ]
    archiver.answer((["load"], 1, "", "invalid tar header\n"))
    assert builds.load(docker, tmp_path, TAG) is None


def test_an_image_is_saved_over_the_last_one(archiver: Stub, tmp_path: Path) -> None:
    folder = tmp_path / "kept"

    assert builds.save(builds.DockerClient(archiver.processes), folder, TAG, pytest.fail)
    saved = [["save", "--output", str(folder / builds.ARCHIVE), TAG]]
    assert archiver.calls("save") == saved
    # A folder that cannot be made is a warning.
    warnings: list[str] = []
    below = folder / builds.ARCHIVE / "x"
    (folder / builds.ARCHIVE).write_bytes(b"")
    assert not builds.save(builds.DockerClient(archiver.processes), below, TAG, warnings.append)
    assert (len(warnings), archiver.calls("save")) == (1, saved)


def test_half_an_archive_is_not_left(archiver: Stub, tmp_path: Path) -> None:
    program = archiver.folder / "docker"
    full = "write image.tar: no space left on device"
    program.write_text(f'#!/bin/sh\necho half > "$3"\necho "{full}" >&2\nexit 1\n', "utf-8")
    (tmp_path / builds.ARCHIVE).write_bytes(b"old")
    warnings: list[str] = []

    assert not builds.save(builds.DockerClient(archiver.processes), tmp_path, TAG, warnings.append)
    assert not (tmp_path / builds.ARCHIVE).exists()
    (warning,) = warnings
    assert warning == (
        f"the image is not kept for later jobs: {tmp_path / builds.ARCHIVE} cannot be written: "
        "write image.tar: no space left on device"
    )


@pytest.mark.parametrize("name", [DIGEST, f"debian@{DIGEST}", f"ghcr.io/team/android:r21@{DIGEST}"])
def test_a_digest_and_an_id_are_fixed(name: str) -> None:
    assert builds.is_fixed(name)
    builds.expect_fixed(name, source="megtrim.yaml:7")


@pytest.mark.parametrize(
    "name", ["", "debian", "debian:12", "debian@sha256:0a", f"@{DIGEST}", f"debian@{DIGEST}0"]
)
def test_a_tag_is_refused_with_its_place(name: str) -> None:
    assert not builds.is_fixed(name)
    with pytest.raises(InputError) as caught:
        builds.expect_fixed(name, source="megtrim.yaml:7")
    assert caught.value.message.startswith(f"megtrim.yaml:7: found {name!r}, expected NAME@sha256")


SCRIPT = builds.recipes() / "android-arm64" / "fetch_ndk.py"


def make_ndk(folder: Path) -> Path:
    (folder / "build" / "cmake").mkdir(parents=True)
    (folder / "build" / "cmake" / "android.toolchain.cmake").touch()
    (folder / "source.properties").write_text("Pkg.Revision = 21.4.1\n", encoding="utf-8")
    (folder / "link").symlink_to("source.properties")
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "given").mkdir()
    (tmp_path / "got").mkdir()
    (tmp_path / "bin").mkdir()
    unzip = tmp_path / "bin" / "unzip"
    unzip.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m zipfile -e "$2" "$4"\n', encoding="utf-8"
    )
    unzip.chmod(0o755)
    return tmp_path


def run(place: Path, url: str = "", sha256: str = "") -> CompletedCommand:
    argv = (sys.executable, "-B", str(SCRIPT), str(place / "given"), str(place / "got" / "ndk"))
    env = {"PATH": f"{place / 'bin'}:{os.environ['PATH']}"}
    return ProcessRunner(os.environ).run(Command(argv=(*argv, url, sha256), env=env, timeout_s=60))


def zipped(ndk: Path, top: str) -> bytes:
    path = ndk.parent / "archive.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(ndk.rglob("*")):
            if file.is_file() and not file.is_symlink():
                archive.write(file, f"{top}{file.relative_to(ndk)}")
    return path.read_bytes()


def test_a_given_ndk_is_put_into_place(place: Path) -> None:
    make_ndk(place / "given")
    outcome = run(place)

    assert (outcome.rc, outcome.stdout) == (0, "")
    assert (place / "got" / "ndk" / "link").readlink() == Path("source.properties")


@pytest.mark.parametrize("top", ["android-ndk-r21e/", ""])
def test_an_archive_is_checked_and_unpacked(place: Path, httpserver: HTTPServer, top: str) -> None:
    data = zipped(make_ndk(place / "ndk"), top)
    httpserver.expect_request("/ndk.zip").respond_with_data(data)
    url = httpserver.url_for("/ndk.zip")
    sha256 = hashlib.sha256(data).hexdigest()
    outcome = run(place, url, sha256.upper())

    assert (outcome.rc, outcome.stdout) == (0, "")
    assert (place / "got" / "ndk" / "source.properties").is_file()
    assert not (place / "got" / "archive.zip").exists()


def test_another_checksum(place: Path, httpserver: HTTPServer) -> None:
    data = zipped(make_ndk(place / "ndk"), "a/")
    httpserver.expect_request("/ndk.zip").respond_with_data(data)
    outcome = run(place, httpserver.url_for("/ndk.zip"), "0" * 64)

    found = f"found sha256 {hashlib.sha256(data).hexdigest()} of {len(data)} bytes"
    assert outcome.rc == 2
    assert outcome.stdout == (
        f"megtrim: {httpserver.url_for('/ndk.zip')}: {found}, expected {'0' * 64}\n"
    )
    assert not any((place / "got" / "unpacked").iterdir())


def test_what_is_no_ndk(place: Path, httpserver: HTTPServer) -> None:
    nothing = run(place)
    (place / "given" / "readme").touch()
    folder = run(place)
    data = b"no archive"
    httpserver.expect_request("/x.zip").respond_with_data(data)
    archive = run(place, httpserver.url_for("/x.zip"), hashlib.sha256(data).hexdigest())

    said = "megtrim: no NDK was given: name a folder, or an archive and its sha256\n"
    assert (nothing.rc, nothing.stdout) == (2, said)
    said = "megtrim: the folder is no Android NDK: it has no source.properties\n"
    assert (folder.rc, folder.stdout) == (2, said)
    assert (archive.rc, "cannot be unpacked: unzip ended with" in archive.stdout) == (2, True)


@pytest.mark.parametrize(("status", "rc"), [(404, 2), (403, 2), (503, 3)])
def test_a_server_that_says_no(place: Path, httpserver: HTTPServer, status: int, rc: int) -> None:
    httpserver.expect_request("/ndk.zip").respond_with_data(b"", status=status)
    outcome = run(place, httpserver.url_for("/ndk.zip"), "0" * 64)
    assert (outcome.rc, f"the server answered {status}" in outcome.stdout) == (rc, True)


@pytest.mark.parametrize(
    ("url", "rc"),
    [
        ("http://127.0.0.1:1/x", 3),
        ("nonsense", 2),
        ("http:///x", 2),
        ("foo://h/x", 2),
        ("http://h:x/y", 2),
        ("file:///etc/passwd", 2),
        ("http://[x/y", 2),
        ("http://127.0.0.1:1/a b", 2),
    ],
)
def test_no_one_there(place: Path, url: str, rc: int) -> None:
    outcome = run(place, url, "0" * 64)
    assert outcome.rc == rc
    assert outcome.stdout.startswith(f"megtrim: {url}: ")
    assert outcome.stderr == ""
