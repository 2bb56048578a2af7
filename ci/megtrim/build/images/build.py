"""Builds the image of a recipe, a folder of ``docker/``, with plain ``docker build``."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from megtrim.build.images.docker import DockerClient, Image, expect_daemon, is_fixed
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.input_files import read_text
from megtrim.util.process import Command, CompletedCommand

NAMES = ("android-arm64", "linux-arm64")
_TIMEOUT_S = 2 * 3600.0
_LARGEST_RECIPE_BYTES = 1024 * 1024
_WRONG_ARGUMENTS = 2
_ARGUMENT = re.compile(r"^ARG (\w+)=?(\S*)$", re.MULTILINE)
_FAILED = re.compile(r"(?:returned a non-zero code|exit code): (\d+)")
_STEP = re.compile(r"(?:Step (\d+)/(\d+) :|#\d+ \[(?:\S+ +| +)?(\d+)/(\d+)\]) (.*)")
"""A step as the classic builder prints it, or BuildKit: ``#8 [stage-0 4/6] RUN ...``."""
_OUR_MESSAGE = re.compile(r"^(?:#\d+ )?(?:\d+\.\d+ )?megtrim: (.*)$", re.MULTILINE)
"""A message of a recipe's script; BuildKit prints the step and the seconds before it."""
_NOISE = ("DEPRECATED", " ", "Sending build context")
_TAIL_CHARACTERS = 2000

Progress = Callable[[int, int, str], None]


def default_tag(name: str) -> str:
    return f"megtrim/{name}"


def recipes() -> Path:
    """In the installed package or the repository."""
    package = Path(__file__).resolve().parents[2]
    installed = package / "recipes"
    return installed if installed.is_dir() else package.parent.parent / "docker"


def expect_recipe(name: str) -> None:
    """Raise InputError for no recipe of the kit, or one that does not say what it is built from."""
    if name not in NAMES:
        msg = f"the recipe: found {name[:80]!r}, expected one of {', '.join(NAMES)}"
        raise InputError(msg)
    path = recipes() / name / "Dockerfile"
    text = read_text(path, most_bytes=_LARGEST_RECIPE_BYTES, expected="a recipe of the kit")
    for found in _ARGUMENT.finditer(text):
        argument, value = found.groups()
        if not value or (argument == "BASE" and not is_fixed(value)):
            line = text.count("\n", 0, found.start()) + 1
            expected = "NAME@sha256:DIGEST" if argument == "BASE" else "a value"
            where = f"docker/{name}/Dockerfile:{line}: ARG {argument}"
            msg = f"{where} says what it is built from: found {value[:80]!r}, expected {expected}"
            hint = "write it there, in your copy of the kit: docs/how-to/build-in-docker.md"
            raise InputError(msg, hint=hint)


def build(name: str, docker: DockerClient, progress: Progress) -> Image:
    expect_recipe(name)
    tag = default_tag(name)
    with tempfile.TemporaryDirectory(prefix="megtrim-image-") as scratch:
        command = Command(
            argv=(docker.program(), "build", "--force-rm", "--tag", tag, str(recipes() / name)),
            # An attestation of the build contains its date, which would change the image's ID.
            env={"BUILDX_NO_DEFAULT_ATTESTATIONS": "1", "BUILDKIT_PROGRESS": "plain"},
            merge_stderr=True,
            log=Path(scratch) / "build.log",
            on_line=_steps(progress),
            timeout_s=_TIMEOUT_S,
        )
        outcome = docker.processes.run(command)
    _expect_built(name, outcome)
    return docker.image(tag)


def _steps(progress: Progress) -> Callable[[str], None]:
    def on_line(line: str) -> None:
        step = _STEP.match(line)
        if step:
            progress(int(step[1] or step[3]), int(step[2] or step[4]), step[5])

    return on_line


def _expect_built(name: str, outcome: CompletedCommand) -> None:
    if outcome.ok:
        return
    if outcome.timed_out:
        msg = f"the image {name} could not be built within {_TIMEOUT_S:.0f} s"
        raise InfrastructureFailure(msg)
    expect_daemon(outcome.stdout)
    lines = [line for line in outcome.stdout.splitlines() if line.strip()]
    failed = _FAILED.search(outcome.stdout)
    messages = _OUR_MESSAGE.findall(outcome.stdout)
    msg = f"the image {name} cannot be built: {messages[-1]}" if messages else ""
    if messages and failed is not None and int(failed[1]) == _WRONG_ARGUMENTS:
        raise InputError(msg)
    output = "\n".join(line for line in lines if not line.startswith(_NOISE))
    msg = msg or f"the image {name} was not built:\n{output[-_TAIL_CHARACTERS:]}"
    hint = "check the network, the package mirror and the disk space"
    raise InfrastructureFailure(msg, hint=hint)
