from __future__ import annotations

import re
from pathlib import Path

import pytest

from megtrim.build.images import build as builds
from megtrim.build.images.docker import DockerClient, Image
from megtrim.util.errors import InfrastructureFailure, InputError
from unit.build.images.stub import ID, Stub

COMMAND = "The command '/bin/sh -c python3 /fetch_ndk.py' returned a non-zero code:"
BASE = f"ARG BASE=debian@sha256:{'cd' * 32}"


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stub:
    write_recipe(tmp_path / "kit/linux-arm64", "# x", BASE)
    monkeypatch.setattr(builds, "recipes", lambda: tmp_path / "kit")
    return Stub.make(tmp_path / "bin")


def write_recipe(folder: Path, *lines: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Dockerfile").write_text("\n".join((*lines, "FROM ${BASE}\n")), encoding="utf-8")


def build(stub: Stub) -> tuple[Image, list[tuple[int, int, str]]]:
    steps: list[tuple[int, int, str]] = []
    docker = DockerClient(stub.processes)
    made = builds.build("linux-arm64", docker, lambda *step: steps.append(step))
    return made, steps


def test_a_recipe_is_built_by_plain_docker(stub: Stub, tmp_path: Path) -> None:
    stub.answer((["build"], 0, "Step 1/2 : ARG BASE\nhm\nStep 2/2 : FROM x\n", ""))
    made, steps = build(stub)

    assert stub.calls("build") == [
        ["build", "--force-rm", "--tag", "megtrim/linux-arm64", str(tmp_path / "kit/linux-arm64")]
    ]
    assert made.id == ID
    assert steps == [(1, 2, "ARG BASE"), (2, 2, "FROM x")]
    assert stub.env("build")["BUILDX_NO_DEFAULT_ATTESTATIONS"] == "1"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("ARG BASE",), "docker/linux-arm64/Dockerfile:1: ARG BASE says what it is built from: "),
        (
            ("", "ARG BASE=debian:12"),
            "Dockerfile:2: ARG BASE says what it is built from: found 'debian:12'",
        ),
        (
            (BASE, "ARG NDK_URL="),
            "Dockerfile:2: ARG NDK_URL says what it is built from: found '', expected a",
        ),
    ],
)
def test_a_recipe_that_does_not_say_what_it_is_built_from(
    stub: Stub, tmp_path: Path, lines: tuple[str, ...], message: str
) -> None:
    write_recipe(tmp_path / "kit/linux-arm64", *lines)
    with pytest.raises(InputError) as refused:
        build(stub)
    assert message in refused.value.message
    assert stub.calls("build") == []


def test_what_was_given_wrongly(stub: Stub) -> None:
    output = f"Step 1/1 : RUN x\nmegtrim: URL: found sha256 a\n{COMMAND} 2\n"
    stub.answer((["build"], 1, "", output))
    with pytest.raises(InputError) as refused:
        build(stub)
    assert str(refused.value) == "the image linux-arm64 cannot be built: URL: found sha256 a"


@pytest.mark.parametrize("status", [3, 100])
def test_what_fails_around_it(stub: Stub, status: int) -> None:
    output = f"Step 1/1 : RUN x\n ---> abc\nmegtrim: URL: refused\n{COMMAND} {status}\n"
    stub.answer((["build"], 1, "", output))
    with pytest.raises(InfrastructureFailure, match=r"cannot be built: URL: refused\n"):
        build(stub)

    stub.answer((["build"], 1, "", f"Step 1/1 : RUN x\n ---> abc\nE: no mirror\n{COMMAND} 100\n"))
    with pytest.raises(InfrastructureFailure) as failed:
        build(stub)
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
    steps: list[tuple[int, int, str]] = []
    stub.answer((["build"], 1, "", BUILDKIT))
    with pytest.raises(InputError) as refused:
        builds.build("linux-arm64", DockerClient(stub.processes), lambda *step: steps.append(step))

    assert str(refused.value) == "the image linux-arm64 cannot be built: URL: found sha256 a"
    assert steps == [
        (1, 3, "FROM docker.io/library/debian@sha256:00"),
        (2, 3, "RUN apt-get update"),
        (3, 12, "RUN python3 /fetch_ndk.py"),
    ]
    stub.answer((["build"], 1, "", BUILDKIT.replace("exit code: 2", "exit code: 3")))
    with pytest.raises(InfrastructureFailure, match=r"cannot be built: URL: found sha256 a\n"):
        build(stub)


def test_no_daemon(stub: Stub) -> None:
    said = "Cannot connect to the Docker daemon at x. Is the docker daemon running?\n"
    stub.answer((["build"], 1, "", said))
    with pytest.raises(InfrastructureFailure, match="no Docker daemon answers"):
        build(stub)


@pytest.mark.parametrize("name", builds.NAMES)
def test_recipes_name_no_digest(name: str) -> None:
    text = (builds.recipes() / name / "Dockerfile").read_text(encoding="utf-8")

    assert "\nARG BASE\nFROM ${BASE}" in text
    assert not re.search(r"sha256:[0-9a-f]|://", text)
    with pytest.raises(
        InputError,
        match=rf"docker/{name}/Dockerfile:\d+: ARG BASE says what it is built from: found ''",
    ):
        builds.expect_recipe(name)
