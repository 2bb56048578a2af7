import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.places.compile.images.container_runner import ContainerRunner, Mounts
from megtrim.places.compile.images.docker import DockerClient, recipes
from support.docker_engine import debian_image, engine
from support.standin_ndk import make_standin_ndk

__all__ = ["engine"]

# The daemon is everybody's: another worker must not move a tag while a trim here uses its image.
_NAME = f"megtrim-images-test-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
LINUX = f"{_NAME}:linux-arm64"
ANDROID = f"{_NAME}:android-arm64"


def built(recipe: Path, tag: str, *arguments: str, fails: bool = False) -> str:
    given = (word for each in arguments for word in ("--build-arg", each))
    argv = ("docker", "build", "--tag", tag, *given, str(recipe))
    processes = ProcessRunner(os.environ)
    outcome = processes.run(Command(argv=argv, timeout_s=900, merge_stderr=True))
    assert outcome.ok is not fails, outcome.stdout[-3000:]
    return outcome.stdout if fails else DockerClient(processes).image(tag).id


def recipe_with(ndk: Path, folder: Path) -> Path:
    copied = Path(shutil.copytree(recipes() / "android-arm64", folder))
    shutil.copytree(ndk, copied / "ndk", symlinks=True, dirs_exist_ok=True)
    return copied


@pytest.fixture(scope="session")
def docker(engine: ProcessRunner) -> DockerClient:
    return DockerClient(engine)


@pytest.fixture(scope="session")
def base(engine: ProcessRunner, tmp_path_factory: pytest.TempPathFactory) -> str:
    return debian_image(engine, "bookworm", tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="session")
def linux_image(base: str) -> str:
    built(recipes() / "linux-arm64", LINUX, f"BASE={base}")
    return LINUX


@pytest.fixture(scope="session")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stand-in for the NDK: its layout around Debian's clang."""
    return make_standin_ndk(tmp_path_factory.mktemp("ndk") / "ndk")


@pytest.fixture(scope="session")
def android_image(linux_image: str, standin: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    recipe = recipe_with(standin, tmp_path_factory.mktemp("recipe") / "android")
    built(recipe, ANDROID, f"BASE={linux_image}")
    return ANDROID


@pytest.fixture
def inside(docker: DockerClient, linux_image: str, tmp_path: Path) -> Iterator[ContainerRunner]:
    """Runs programs in the image; ``tmp_path / "out"`` is all that they may write to."""
    yield opened(docker, linux_image, tmp_path)


def opened(docker: DockerClient, image: str, folder: Path) -> ContainerRunner:
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
