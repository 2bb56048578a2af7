"""A thin client of the ``docker`` command.

An image is only pulled by :meth:`DockerClient.pull`, never by running it. A recipe of ``docker/``
is built from what its ``ARG`` lines say.
"""

import json
import re
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.input_files import find_shipped, read_text
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.libs.util.value import Value

PROGRAM = "docker"
_CALL_TIMEOUT_S = 120.0
_PULL_TIMEOUT_S = 3600.0
_REFERENCE = re.compile(r"(?:sha256:)?[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}")
_DIGEST = re.compile(r"@(sha256:[0-9a-f]{64})$")
_HERE = "or build without Docker, with the tools of this machine: --no-docker"
_ABSENT = ("no such image", "invalid reference format")
"""Messages for an image that is not on this machine; the second is for an invalid name."""

_TROUBLES = (
    ("permission denied", "this user may not use Docker's daemon", "join the group docker"),
    (
        "is the docker daemon running",
        "no Docker daemon answers",
        "start it: systemctl start docker",
    ),
    ("failed to connect to the docker api", "no Docker daemon answers", "systemctl start docker"),
    ("error during connect", "no Docker daemon answers", "is DOCKER_HOST right?"),
    ("unexpected eof", "Docker's daemon stopped", "look at its log: journalctl -u docker"),
)
_OTHER_PROGRAM = re.compile(r"(podman|nerdctl)\b", re.IGNORECASE)
"""What some systems install under the name of docker, by how it begins its version."""
_FIXED = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9._/:-]{0,400}@)?sha256:[0-9a-f]{64}")
ARCHIVE = "image.tar"
NAMES = ("android-arm64", "linux-arm64")
_BUILD_TIMEOUT_S = 2 * 3600.0
_ARCHIVE_TIMEOUT_S = 1800.0
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


class Image(Value):
    reference: str
    id: str
    """``sha256:`` and 64 hex digits; the same on every machine."""
    identity: str
    """The digest, if the reference names one; else the ID."""
    env: Mapping[str, str]


def is_fixed(reference: str) -> bool:
    return _FIXED.fullmatch(reference) is not None


def expect_fixed(reference: str, *, source: str) -> None:
    if not is_fixed(reference):
        msg = f"{source}: found {reference[:120]!r}, expected NAME@sha256:DIGEST in a job of CI"
        raise InputError(
            msg, hint="`docker image inspect --format '{{.RepoDigests}}' NAME` prints it"
        )


class DockerClient:
    def __init__(self, processes: ProcessRunner) -> None:
        self.processes = processes

    def version(self) -> str:
        return self.check_output("version", "--format", "{{.Server.Version}}").strip()

    def rootless(self) -> bool:
        return "name=rootless" in self.check_output("info", "--format", "{{json .SecurityOptions}}")

    def image(self, reference: str) -> Image:
        found = self.find(reference)
        if found is None:
            msg = f"there is no image {reference} on this machine"
            raise InputError(
                msg, hint="build it by a recipe with `docker build`, or get it with `docker pull`"
            )
        return found

    def find(self, reference: str) -> Image | None:
        expect_reference(reference)
        outcome = self.call("image", "inspect", reference)
        if not outcome.ok:
            if any(sign in outcome.stderr.lower() for sign in _ABSENT):
                return None
            msg = f"docker image inspect {reference}: {last_line(outcome.stderr)}"
            raise InfrastructureFailure(msg)
        facts = _first(outcome.stdout)
        digest = _DIGEST.search(reference)
        listed = facts.get("Config") or {}
        variables = dict(each.partition("=")[::2] for each in listed.get("Env") or ())
        image_id = str(facts["Id"])
        identity = digest[1] if digest else image_id
        return Image(reference=reference, id=image_id, identity=identity, env=variables)

    def pull(self, reference: str) -> Image:
        expect_reference(reference)
        outcome = self.call("pull", "--quiet", reference, timeout_s=_PULL_TIMEOUT_S)
        if not outcome.ok:
            msg = f"docker pull {reference}: {last_line(outcome.stderr)}"
            raise InfrastructureFailure(msg, hint="is the name right, and may you read it?")
        return self.image(reference)

    def remove(self, *containers: str) -> None:
        self.call("rm", "--force", "--volumes", *containers)

    def check_output(self, *words: str) -> str:
        outcome = self.call(*words)
        if not outcome.ok:
            msg = f"docker {words[0]} exited with {outcome.rc}: {last_line(outcome.stderr)}"
            raise InfrastructureFailure(msg)
        return outcome.stdout

    def call(self, *words: str, timeout_s: float = _CALL_TIMEOUT_S) -> CompletedCommand:
        """Whatever its exit status; raises if docker is missing or its daemon cannot be reached."""
        command = Command(argv=(self.program(), *words), timeout_s=timeout_s)
        outcome = self.processes.run(command)
        if outcome.timed_out:
            msg = f"docker {words[0]} did not answer within {timeout_s:.0f} s"
            raise InfrastructureFailure(msg, hint="look at its log: journalctl -u docker")
        if not outcome.ok:
            expect_daemon(outcome.stderr)
        return outcome

    def program(self) -> str:
        return self._program

    @cached_property
    def _program(self) -> str:
        """Raises InputError if there is none, or another program has its name."""
        found = self.processes.which(PROGRAM)
        if found is None:
            msg = "docker is not on the PATH of this machine"
            raise InputError(msg, hint=f"on Debian: apt-get install docker.io; {_HERE}")
        asked = Command(argv=(found, "--version"), timeout_s=_CALL_TIMEOUT_S)
        shown = self.processes.run(asked).stdout.strip()
        other = _OTHER_PROGRAM.match(shown)
        if other:
            msg = f"{found} is {other[1]} (`docker --version` prints {shown[:80]!r}), not Docker"
            hint = f"megtrim needs Docker itself, on Debian: apt-get install docker.io; {_HERE}"
            raise InputError(msg, hint=hint)
        return found


def expect_reference(reference: str) -> None:
    if not _REFERENCE.fullmatch(reference):
        msg = f"found {reference[:80]!r}, expected the name, digest or ID of an image"
        raise InputError(msg)


def expect_daemon(output: str) -> None:
    lowered = output.lower()
    for sign, text, remedy in _TROUBLES:
        if sign in lowered and ("docker" in lowered or "daemon" in lowered):
            msg = f"{text}: {last_line(output)}"
            raise InfrastructureFailure(msg, hint=f"{remedy}; {_HERE}")


def last_line(text: str) -> str:
    """Neither an empty one nor docker's advice to read its help."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    messages = [line for line in lines if not re.match(r"(See|Run) 'docker ", line)]
    return messages[-1].removeprefix("docker: ")[:500] if messages else "no message"


def _first(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)[0]
        _ = found["Id"]
    except (ValueError, LookupError, TypeError):
        msg = f"docker image inspect: the answer cannot be read: {text[:80]!r}"
        raise InfrastructureFailure(msg) from None
    return dict(found)


def load(docker: DockerClient, folder: Path, tag: str) -> Image | None:
    """None if there is no archive, or it is damaged."""
    archive = folder / ARCHIVE
    if not archive.is_file():
        return None
    if not docker.call("load", "--quiet", "--input", str(archive), timeout_s=_ARCHIVE_TIMEOUT_S).ok:
        return None
    return docker.find(tag)


def save(docker: DockerClient, folder: Path, tag: str, warn: Callable[[str], None]) -> bool:
    """A failure is only a warning: the next job builds the image again."""
    archive = folder / ARCHIVE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        archive.unlink(missing_ok=True)
        done = docker.call("save", "--output", str(archive), tag, timeout_s=_ARCHIVE_TIMEOUT_S)
        reason = "" if done.ok else last_line(done.stderr)
    except OSError as error:
        reason = str(error)
    except InfrastructureFailure as failure:
        reason = failure.message
    if not reason:
        return True
    with suppress(OSError):
        archive.unlink(missing_ok=True)
    warn(f"the image is not kept for later jobs: {archive} cannot be written: {reason}")
    return False


def default_tag(name: str) -> str:
    return f"megtrim/{name}"


def recipes() -> Path:
    return find_shipped("recipes", "docker")


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
            msg = f"{where} must name its source: found {value[:80]!r}, expected {expected}"
            hint = "write it there, in your copy of the kit: docs/how-to/build-in-docker.md"
            raise InputError(msg, hint=hint)


def build_image(name: str, docker: DockerClient, progress: Progress) -> Image:
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
            timeout_s=_BUILD_TIMEOUT_S,
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
        msg = f"the image {name} could not be built within {_BUILD_TIMEOUT_S:.0f} s"
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
