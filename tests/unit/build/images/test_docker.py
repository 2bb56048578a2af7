from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build.images.docker import DockerClient, expect_daemon, last_line
from megtrim.util.errors import InfrastructureFailure, InputError, MegtrimError
from megtrim.util.process import ProcessRunner
from unit.build.images.stub import ID, Stub

DIGEST = "sha256:" + "cd" * 32
NO_DAEMON = (
    "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. "
    "Is the docker daemon running?\n"
)
DENIED = (
    "permission denied while trying to connect to the Docker daemon socket at "
    "unix:///var/run/docker.sock: dial unix /var/run/docker.sock: connect: permission denied\n"
)


@pytest.fixture
def stub(tmp_path: Path) -> Stub:
    return Stub.make(tmp_path / "bin")


def test_an_image_is_named_by_its_content(stub: Stub) -> None:
    """By the digest that it was asked for by, else by its ID; a tag may be another tomorrow."""
    docker = DockerClient(stub.processes)
    by_tag = docker.image("team/android:r21")
    by_digest = docker.image(f"host.example:5000/team/android@{DIGEST}")

    assert (by_tag.id, by_tag.identity) == (ID, ID)
    assert (by_digest.id, by_digest.identity) == (ID, DIGEST)
    assert by_tag.env == {"PATH": "/opt/bin:/usr/bin", "ANDROID_NDK_ROOT": "/opt/ndk"}
    assert stub.calls("image")[0] == ["image", "inspect", "team/android:r21"]


def test_an_image_that_is_not_here(stub: Stub) -> None:
    stub.answer((["image", "inspect"], 1, "[]\n", "Error: No such image: a/b:c\n"))
    docker = DockerClient(stub.processes)

    with pytest.raises(InputError) as refused:
        docker.image("a/b:c")
    assert refused.value.message == "there is no image a/b:c on this machine"
    assert "`docker build`" in refused.value.hint
    assert docker.find("a/b:c") is None
    assert stub.calls("pull") == []


def test_an_image_that_cannot_be_looked_for(stub: Stub) -> None:
    docker = DockerClient(stub.processes)
    stub.answer((["image", "inspect"], 1, "[]\n", "Error response from daemon: layer lost\n"))
    for look in (docker.image, docker.find):
        with pytest.raises(InfrastructureFailure, match=r"image inspect a/b:c: .* layer lost$"):
            look("a/b:c")

    stub.answer((["image", "inspect"], 1, "[]\n", "Error: invalid reference format: lowercase\n"))
    with pytest.raises(InputError, match="there is no image A:b"):
        docker.image("A:b")


def test_an_image_that_is_pulled(stub: Stub) -> None:
    docker = DockerClient(stub.processes)
    assert docker.pull(f"a@{DIGEST}").identity == DIGEST
    assert stub.calls("pull") == [["pull", "--quiet", f"a@{DIGEST}"]]

    stub.answer((["pull"], 1, "", "Error response from daemon: manifest unknown\n"))
    with pytest.raises(InfrastructureFailure, match=r"docker pull a:b: Error .* manifest unknown"):
        docker.pull("a:b")


@pytest.mark.parametrize("reference", ["", "--rm", "a b", "a\nb", "a;b", "-", "x" * 600, "a$b"])
def test_what_is_no_name(stub: Stub, reference: str) -> None:
    with pytest.raises(InputError, match="expected the name, digest or ID of an image"):
        DockerClient(stub.processes).image(reference)
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
def test_no_daemon(stub: Stub, said: str, text: str, hint: str) -> None:
    stub.answer((["version"], 1, "", said))

    with pytest.raises(InfrastructureFailure) as failed:
        DockerClient(stub.processes).version()
    assert failed.value.message.startswith(text)
    assert hint in failed.value.hint
    assert "--no-docker" in failed.value.hint


def test_words_that_are_not_about_the_daemon() -> None:
    """A build that says `permission denied` of a file has a daemon."""
    expect_daemon("cc1: error: /x/y: Permission denied\n")
    expect_daemon("")


def test_no_docker(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="docker is not on the PATH") as refused:
        DockerClient(ProcessRunner({"PATH": str(tmp_path)})).version()
    assert "apt-get install docker.io" in refused.value.hint


@pytest.mark.parametrize("answer", ["", "[]", "{}", "[{}]", "[1]", "null", "<html>"])
def test_answers_that_cannot_be_read(stub: Stub, answer: str) -> None:
    stub.answer((["image", "inspect"], 0, answer, ""))
    with pytest.raises(MegtrimError, match="docker image inspect: the answer cannot be read"):
        DockerClient(stub.processes).image("a:b")


def test_other_failures(stub: Stub) -> None:
    stub.answer((["version"], 7, "", "docker: boom.\n\nRun 'docker version --help' for more\n"))
    with pytest.raises(InfrastructureFailure, match=r"^docker version exited with 7: boom\.$"):
        DockerClient(stub.processes).version()
    assert last_line(" \n") == "no message"


def test_a_users_own_daemon(stub: Stub) -> None:
    assert not DockerClient(stub.processes).rootless()
    stub.answer((["info"], 0, '["name=seccomp,profile=default","name=rootless"]\n', ""))
    assert DockerClient(stub.processes).rootless()
