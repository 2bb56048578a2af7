"""``megtrim images build``: an image from a folder of ``docker/``, everything given as arguments.

Two builds of equal things give one image: the second finds every step done. What it is built
from (base, NDK) is named by whoever builds it, or stands in the recorded pins.
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
_GIVEN_WRONGLY = 2
"""What the scripts of a recipe end with where what they were given is wrong."""
_FAILED = re.compile(r"(?:returned a non-zero code|exit code): (\d+)")
_STEP = re.compile(r"(?:Step (\d+)/(\d+) :|#\d+ \[(?:\S+ +| +)?(\d+)/(\d+)\]) (.*)")
"""A step as the classic builder tells it, or as BuildKit does: ``#8 [stage-0 4/6] RUN ...``."""
_OUR_WORDS = re.compile(r"^(?:#\d+ )?(?:\d+\.\d+ )?megtrim: (.*)$", re.MULTILINE)
"""What a recipe's script says; BuildKit puts the step and the seconds before it."""
_NO_NEWS = ("DEPRECATED", " ", "Sending build context")
_TAIL_CHARACTERS = 2000

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ndk:
    """Where an NDK comes from: a folder of this machine, or an archive with its checksum."""

    folder: Path | None = None
    url: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSpec:
    """What is to be built."""

    name: str
    base: str
    tag: str
    ndk: Ndk | None = None


def default_tag(name: str) -> str:
    """Return what a recipe's image is called where nobody calls it otherwise."""
    return f"megtrim/{name}"


def recipes() -> Path:
    """Return the folder of the recipes: in the installed package or the repository."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "recipes"
    return installed if installed.is_dir() else package.parent.parent / "docker"


def build(spec: ImageSpec, docker: DockerClient, progress: Progress) -> Image:
    """Build the image and return it; the same order again returns the same image."""
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
            # A statement about the build would carry its date into the image's identity.
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
    """Return what names the base for good; one that is not here must be named by its digest."""
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
        msg = f"the image {spec.name} was not built within {_TIMEOUT_S:.0f} s"
        raise InfrastructureFailure(msg)
    expect_daemon(outcome.stdout)
    lines = [line for line in outcome.stdout.splitlines() if line.strip()]
    failed = _FAILED.search(outcome.stdout)
    said = _OUR_WORDS.findall(outcome.stdout)
    msg = f"the image {spec.name} cannot be built: {said[-1]}" if said else ""
    if said and failed is not None and int(failed[1]) == _GIVEN_WRONGLY:
        raise InputError(msg)
    telling = "\n".join(line for line in lines if not line.startswith(_NO_NEWS))
    msg = msg or f"the image {spec.name} was not built:\n{telling[-_TAIL_CHARACTERS:]}"
    raise InfrastructureFailure(msg, hint="are the network and the package mirror there, and room?")
