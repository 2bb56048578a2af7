"""Both images, made by the command line over the Debian that the device host's tests use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from megtrim.images.container_runner import ContainerRunner, Mounts
from megtrim.images.docker import DockerClient
from megtrim.process import ProcessRunner
from support.docker_engine import debian_image, engine
from support.fork_server import run_megtrim
from support.standin_ndk import make_standin_ndk

__all__ = ["engine"]

# The daemon is everybody's: another worker must not move a tag while a trim here uses its image.
_NAME = f"megtrim-images-test-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
LINUX = f"{_NAME}:linux-arm64"
ANDROID = f"{_NAME}:android-arm64"


def built(*words: str) -> str:
    """Build an image, and return the ID that is printed."""
    outcome = run_megtrim("images", "build", *words, timeout_s=900)
    assert outcome.rc == 0, outcome.stderr[-3000:]
    return outcome.stdout.split()[-1]


@pytest.fixture(scope="session")
def docker(engine: ProcessRunner) -> DockerClient:
    """The client, with a daemon that answers."""
    return DockerClient(engine)


@pytest.fixture(scope="session")
def base(engine: ProcessRunner, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Debian without any tool of a build."""
    return debian_image(engine, "bookworm", tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="session")
def linux_image(base: str) -> str:
    """The image for Linux on arm64."""
    return _kept("linux-arm64", "--base", base, "--tag", LINUX)


@pytest.fixture(scope="session")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stand-in for the NDK: its layout around Debian's clang."""
    return make_standin_ndk(tmp_path_factory.mktemp("ndk") / "ndk")


@pytest.fixture(scope="session")
def android_image(linux_image: str, standin: Path) -> str:
    """The image for Android; its base has the clang that the stand-in leads to."""
    return _kept("android-arm64", "--base", LINUX, "--ndk", str(standin), "--tag", ANDROID)


def _kept(*words: str) -> str:
    built(*words)
    return words[-1]


@pytest.fixture
def inside(docker: DockerClient, linux_image: str, tmp_path: Path) -> Iterator[ContainerRunner]:
    """Runs programs in the image; ``tmp_path / "out"`` is all that they may write to."""
    yield opened(docker, linux_image, tmp_path)


def opened(docker: DockerClient, image: str, folder: Path) -> ContainerRunner:
    """Return what runs programs in an image, with a folder to write to and one to read."""
    (folder / "given").mkdir(exist_ok=True)
    seen = Mounts(writable=(folder / "out",), readable=(folder / "given",))
    return ContainerRunner(docker, docker.image(image), seen)


@pytest.fixture
def ours(docker: DockerClient) -> Callable[[int], list[str]]:
    """List the containers that a megtrim of that process number has not removed."""

    def containers(pid: int) -> list[str]:
        label = ("--filter", "label=megtrim.holder", "--format", "{{.Names}}")
        names = docker.check_output("ps", "--all", *label).split()
        return [name for name in names if name.startswith(f"megtrim-{pid}-")]

    return containers
