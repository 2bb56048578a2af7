"""``megtrim images build``: builds an image from a folder of ``docker/`` and build arguments.

A second build from equal inputs gives the same image: Docker finds every step in its cache. The
base and the NDK are named by the caller, or recorded as pins.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from megtrim.errors import InfrastructureFailure, InputError
from megtrim.images import build_context
from megtrim.images.docker import DockerClient, Image, expect_daemon, expect_reference
from megtrim.process import Command, CompletedCommand

ANDROID = "android-arm64"
NAMES = (ANDROID, "linux-arm64")
BASE_LABEL = "megtrim.base"
_TIMEOUT_S = 2 * 3600.0
_WRONG_ARGUMENTS = 2
"""Exit status of a recipe's scripts for wrong arguments."""
_FAILED = re.compile(r"(?:returned a non-zero code|exit code): (\d+)")
_STEP = re.compile(r"(?:Step (\d+)/(\d+) :|#\d+ \[(?:\S+ +| +)?(\d+)/(\d+)\]) (.*)")
"""A step as the classic builder prints it, or BuildKit: ``#8 [stage-0 4/6] RUN ...``."""
_OUR_MESSAGE = re.compile(r"^(?:#\d+ )?(?:\d+\.\d+ )?megtrim: (.*)$", re.MULTILINE)
"""A message of a recipe's script; BuildKit prints the step and the seconds before it."""
_NOISE = ("DEPRECATED", " ", "Sending build context")
_TAIL_CHARACTERS = 2000

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ndk:
    """The source of an NDK: a folder of this machine, or an archive with its checksum."""

    folder: Path | None = None
    url: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSpec:
    """An image to build."""

    name: str
    base: str
    tag: str
    ndk: Ndk | None = None


def default_tag(name: str) -> str:
    """Return the default name of a recipe's image."""
    return f"megtrim/{name}"


def recipes() -> Path:
    """Return the folder of the recipes: in the installed package or the repository."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "recipes"
    return installed if installed.is_dir() else package.parent.parent / "docker"


def build(spec: ImageSpec, docker: DockerClient, progress: Progress) -> Image:
    """Build the image and return it; the same spec gives the same image again."""
    expect_reference(spec.tag)
    base = _base_identity(spec.base, docker)
    arguments = {"BASE": spec.base}
    folder = spec.ndk.folder if spec.ndk else None
    if folder is not None:
        build_context.expect_ndk(folder)
    if spec.ndk and spec.ndk.url:
        arguments |= {"NDK_URL": spec.ndk.url, "NDK_SHA256": spec.ndk.sha256}
    pairs = [f"{name}={value}" for name, value in sorted(arguments.items())]
    with (
        build_context.stream_archive(recipes() / spec.name, folder) as archive,
        tempfile.TemporaryDirectory(prefix="megtrim-image-") as scratch,
    ):
        command = Command(
            argv=(
                *(docker.program(), "build", "--force-rm", "--tag", spec.tag),
                *("--label", f"{BASE_LABEL}={base}"),
                *(word for pair in pairs for word in ("--build-arg", pair)),
                "-",
            ),
            # An attestation of the build contains its date, which would change the image's ID.
            env={"BUILDX_NO_DEFAULT_ATTESTATIONS": "1", "BUILDKIT_PROGRESS": "plain"},
            stdin=archive,
            merge_stderr=True,
            log=Path(scratch) / "build.log",
            on_line=_steps(progress),
            timeout_s=_TIMEOUT_S,
        )
        outcome = docker.processes.run(command)
    _expect_built(spec, outcome)
    return docker.image(spec.tag)


def _base_identity(base: str, docker: DockerClient) -> str:
    """Return the base's digest or ID; a base that is not on this machine needs a digest."""
    here = docker.find(base)
    if here is not None:
        return here.identity
    if "@sha256:" not in base:
        msg = f"the base {base} is not on this machine, and a tag may be another image tomorrow"
        raise InputError(
            msg, hint="name it as NAME@sha256:DIGEST; `megtrim images pin` reads the digest"
        )
    return base.partition("@")[2]


def _steps(progress: Progress) -> Callable[[str], None]:
    def on_line(line: str) -> None:
        step = _STEP.match(line)
        if step:
            progress(int(step[1] or step[3]), int(step[2] or step[4]), step[5])

    return on_line


def _expect_built(spec: ImageSpec, outcome: CompletedCommand) -> None:
    if outcome.ok:
        return
    if outcome.timed_out:
        msg = f"the image {spec.name} could not be built within {_TIMEOUT_S:.0f} s"
        raise InfrastructureFailure(msg)
    expect_daemon(outcome.stdout)
    lines = [line for line in outcome.stdout.splitlines() if line.strip()]
    failed = _FAILED.search(outcome.stdout)
    messages = _OUR_MESSAGE.findall(outcome.stdout)
    msg = f"the image {spec.name} cannot be built: {messages[-1]}" if messages else ""
    if messages and failed is not None and int(failed[1]) == _WRONG_ARGUMENTS:
        raise InputError(msg)
    output = "\n".join(line for line in lines if not line.startswith(_NOISE))
    msg = msg or f"the image {spec.name} was not built:\n{output[-_TAIL_CHARACTERS:]}"
    hint = "check the network, the package mirror and the disk space"
    raise InfrastructureFailure(msg, hint=hint)
