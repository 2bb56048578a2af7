"""What docker is asked to build, and what its failure means."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.errors import InfrastructureFailure, InputError
from megtrim.images import build as builds
from megtrim.images.build import ImageSpec, Ndk
from megtrim.images.docker import DockerClient, Image
from unit.images.stub import ID, Stub

DIGEST = "sha256:" + "cd" * 32
BASE = f"debian@{DIGEST}"
LINUX = ImageSpec(name="linux-arm64", base=BASE, tag="team/linux")
COMMAND = "The command '/bin/sh -c python3 /fetch_ndk.py' returned a non-zero code:"


@pytest.fixture
def stub(tmp_path: Path) -> Stub:
    return Stub.make(tmp_path / "bin")


def build(stub: Stub, spec: ImageSpec) -> tuple[Image, list[tuple[int, int, str]]]:
    steps: list[tuple[int, int, str]] = []
    made = builds.build(spec, DockerClient(stub.processes), lambda *step: steps.append(step))
    return made, steps


def test_everything_is_an_argument(stub: Stub) -> None:
    """The base's own identity is written on the image; the context is read from a pipe."""
    stub.answer((["build"], 0, "Step 1/2 : ARG BASE\nhm\nStep 2/2 : FROM x\n", ""))
    made, steps = build(stub, LINUX)

    assert stub.calls("build") == [
        [
            *("build", "--force-rm", "--tag", "team/linux", "--label", f"megtrim.base={DIGEST}"),
            *("--build-arg", f"BASE={BASE}", "-"),
        ]
    ]
    assert made.id == ID
    assert steps == [(1, 2, "ARG BASE"), (2, 2, "FROM x")]
    assert stub.env("build")["BUILDX_NO_DEFAULT_ATTESTATIONS"] == "1"


def test_an_archive_goes_with_its_checksum(stub: Stub) -> None:
    """Both are arguments of the build."""
    ndk = Ndk(url="https://host.example/ndk.zip", sha256="0" * 64)
    build(stub, ImageSpec(name="android-arm64", base=BASE, tag="t", ndk=ndk))

    argv = stub.calls("build")[0]
    given = {argv[at + 1] for at, word in enumerate(argv) if word == "--build-arg"}
    assert given == {
        *(f"BASE={BASE}", "NDK_URL=https://host.example/ndk.zip", f"NDK_SHA256={'0' * 64}")
    }


def test_a_base_that_is_not_here(stub: Stub) -> None:
    """By digest it is brought by the build; by a tag, no one knows which it will be."""
    stub.answer((["image", "inspect", BASE], 1, "[]", "No such image"))
    build(stub, LINUX)
    assert f"megtrim.base={DIGEST}" in stub.calls("build")[0]

    stub.answer((["image", "inspect", "debian:12"], 1, "[]", "No such image"))
    with pytest.raises(InputError, match=r"debian:12 is not on this machine, and a tag") as refused:
        build(stub, ImageSpec(name="linux-arm64", base="debian:12", tag="t"))
    assert "`megtrim images pin`" in refused.value.hint


def test_what_was_given_wrongly(stub: Stub) -> None:
    """The recipe's script says it in one line, and ends with 2."""
    output = f"Step 1/1 : RUN x\nmegtrim: URL: found sha256 a\n{COMMAND} 2\n"
    stub.answer((["build"], 1, "", output))
    with pytest.raises(InputError) as refused:
        build(stub, LINUX)
    assert str(refused.value) == "the image linux-arm64 cannot be built: URL: found sha256 a"


@pytest.mark.parametrize("status", [3, 100])
def test_what_fails_around_it(stub: Stub, status: int) -> None:
    """A server that does not answer, packages that cannot be had: not the input's fault."""
    output = f"Step 1/1 : RUN x\n ---> abc\nmegtrim: URL: refused\n{COMMAND} {status}\n"
    stub.answer((["build"], 1, "", output))
    with pytest.raises(InfrastructureFailure, match=r"cannot be built: URL: refused\n"):
        build(stub, LINUX)

    stub.answer((["build"], 1, "", f"Step 1/1 : RUN x\n ---> abc\nE: no mirror\n{COMMAND} 100\n"))
    with pytest.raises(InfrastructureFailure) as failed:
        build(stub, LINUX)
    assert "E: no mirror" in failed.value.message
    assert "--->" not in failed.value.message


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


def test_the_words_of_buildkit(stub: Stub) -> None:
    """It puts its own number of the step, and the seconds, before what a step prints."""
    steps: list[tuple[int, int, str]] = []
    stub.answer((["build"], 1, "", BUILDKIT))
    with pytest.raises(InputError) as refused:
        builds.build(LINUX, DockerClient(stub.processes), lambda *step: steps.append(step))

    assert str(refused.value) == "the image linux-arm64 cannot be built: URL: found sha256 a"
    assert steps == [
        (1, 3, "FROM docker.io/library/debian@sha256:00"),
        (2, 3, "RUN apt-get update"),
        (3, 12, "RUN python3 /fetch_ndk.py"),
    ]
    stub.answer((["build"], 1, "", BUILDKIT.replace("exit code: 2", "exit code: 3")))
    with pytest.raises(InfrastructureFailure, match=r"cannot be built: URL: found sha256 a\n"):
        build(stub, LINUX)


def test_no_daemon(stub: Stub) -> None:
    """Found before anything is built."""
    said = "Cannot connect to the Docker daemon at x. Is the docker daemon running?\n"
    stub.answer((["image"], 1, "", said))
    with pytest.raises(InfrastructureFailure, match="no Docker daemon answers"):
        build(stub, LINUX)
    assert stub.calls("build") == []


@pytest.mark.parametrize("name", builds.NAMES)
def test_recipes_have_no_pins_of_their_own(name: str) -> None:
    """What is not read from its source has to be given: no digest, version or address in them."""
    text = (builds.recipes() / name / "Dockerfile").read_text(encoding="utf-8")

    assert "\nARG BASE\nFROM ${BASE}" in text
    assert "sha256:" not in text
    assert "://" not in text
    for line in text.splitlines():
        if line.startswith("ARG "):
            assert line in ("ARG BASE", "ARG NDK_URL=", "ARG NDK_SHA256=")
