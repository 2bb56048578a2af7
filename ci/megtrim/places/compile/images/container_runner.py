"""Runs programs inside an image: each command gets a container, which is removed when it ends.

A container sees only the mounted folders, under the same paths as outside, and no network.
"""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field, replace
from itertools import count
from pathlib import Path
from typing import NoReturn

from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import (
    LARGEST_READ_BYTES,
    Command,
    CompletedCommand,
    ProcessRunner,
    is_there,
)
from megtrim.libs.util.value import Value
from megtrim.places.compile.images.docker import DockerClient, Image, expect_daemon, last_line

VARIABLE = "CCACHE_DIR"
REMOTE = "CCACHE_REMOTE_STORAGE"
LABEL = "megtrim.holder"
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PID = re.compile(r"[1-9][0-9]{0,8}")
HOME = "/tmp"  # noqa: S108 - the container's own, which is removed with it
_LOOK_TIMEOUT_S = 120.0
_COPY_TIMEOUT_S = 600.0
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_DOCKER_FAILED = 125
_NOT_STARTED = re.compile(r"\[FATAL tini \(\d+\)\] exec .* failed: (.*)")
_NOT_STARTED_STATUSES = frozenset((1, 126, 127))
"""Exit statuses of tini: 127 for no such file, 126 for one it may not run, 1 for the rest."""

_DOCKER_MESSAGE = re.compile(r"^(?:docker: |.*error waiting for container)", re.MULTILINE)
_READ_BY_DOCKER = re.compile(
    r"(?:HOME|PATH|DOCKER_.*|BUILDX_.*|LD_.*|GO.*|SSL_.*|.*_proxy)$", re.IGNORECASE
)
_numbers = count(1)


class Mounts(Value):
    writable: tuple[Path, ...]
    readable: tuple[Path, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


def folder(env: Mapping[str, str], *, otherwise: Path) -> Path:
    """The one that ccache itself would use; ``otherwise`` if there is no home."""
    if env.get(VARIABLE):
        return Path(env[VARIABLE]).absolute()
    if not env.get("HOME"):
        return otherwise
    home = Path(env["HOME"]).absolute()
    if (home / ".ccache").is_dir():
        return home / ".ccache"
    return Path(env.get("XDG_CACHE_HOME") or home / ".cache").absolute() / "ccache"


def me() -> str:
    return f"{_here()}/{os.getpid()}/{_read_start_time(os.getpid()) or ''}"


def end_abandoned(docker: DockerClient) -> None:
    shown = ("--all", "--no-trunc", "--format", f'{{{{.ID}}}} {{{{.Label "{LABEL}"}}}}')
    listed = docker.check_output("ps", "--filter", f"label={LABEL}", *shown)
    pairs = (line.partition(" ")[::2] for line in listed.splitlines())
    abandoned = [container for container, holder in pairs if _is_gone(holder)]
    if abandoned:
        docker.remove(*abandoned)


def _is_gone(holder: str) -> bool:
    rest, _, started = holder.rpartition("/")
    here, _, pid = rest.rpartition("/")
    # Processes of another machine or namespace are not known here.
    if here != _here() or not _PID.fullmatch(pid):
        return False
    now = _read_start_time(int(pid))
    return not is_there(int(pid)) if now is None else now != started


def _here() -> str:
    return f"{_read(_BOOT)}/{_read(Path('/proc/self/ns/pid'))}"


def _read_start_time(pid: int) -> str | None:
    """In ticks since the boot; empty if it ended, None if unknown."""
    stat = _read(Path(f"/proc/{pid}/stat"))
    if not stat:
        return None
    # The name in the second field may contain anything, even spaces and brackets.
    fields = stat.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


def _read(path: Path) -> str:
    with suppress(OSError):
        if path.is_symlink():
            return str(path.readlink())
        return path.read_text(encoding="utf-8", errors="replace").strip()
    return ""


class ContainerRunner(ProcessRunner):
    def __init__(self, docker: DockerClient, image: Image, mounts: Mounts) -> None:
        super().__init__(image.env)
        self.where = f"image {image.reference}"
        self.image = image
        self._docker = docker
        self._mounts = mounts
        # A rootless daemon's root is the user who runs it; other IDs belong to someone else.
        self._user = "0:0" if docker.rootless() else f"{os.getuid()}:{os.getgid()}"
        self._holder = me()
        self._programs: dict[str, str] | None = None
        for folder in mounts.writable:
            folder.mkdir(parents=True, exist_ok=True)

    def for_builds(self) -> ContainerRunner:
        return self

    def which(self, name: str) -> str | None:
        if "/" in name:
            return name if self._executables((name,), depth=0) else None
        if self._programs is None:
            self._programs = self._programs_on_path()
        return self._programs.get(name)

    def _programs_on_path(self) -> dict[str, str]:
        path = self.env.get("PATH", _DEFAULT_PATH).split(":")
        folders = list(dict.fromkeys(str(Path(each)) for each in path if each.startswith("/")))
        if not folders:
            return {}
        found = [Path(executable) for executable in self._executables(tuple(folders), depth=1)]
        # Drop what follows a newline in a name: it is in none of the folders.
        programs = [each for each in found if str(each.parent) in folders]
        programs.sort(key=lambda each: folders.index(str(each.parent)), reverse=True)
        return {program.name: str(program) for program in programs}

    def build_tool(self, name: str) -> str:
        found = self.which(name)
        if found is None:
            msg = f"{self.where} has no {name}"
            raise InputError(msg, hint="build an image that has it by a recipe of the kit")
        return found

    def read(self, path: Path) -> bytes | None:
        """None if there is no such file; InputError if it cannot be read or is too large."""
        with tempfile.TemporaryDirectory(prefix="megtrim-read-") as folder:
            kept = Path(folder) / "bytes"
            argv = ("head", "-c", str(LARGEST_READ_BYTES + 1), str(path))
            env = {"LC_ALL": "C"}
            outcome = self.run(
                Command(argv=argv, env=env, timeout_s=_LOOK_TIMEOUT_S, stdout_to=kept)
            )
            data = kept.read_bytes()
        absent = ("No such file", "Is a directory", "Not a directory")
        if not outcome.ok and any(sign in outcome.stderr for sign in absent):
            return None
        if not outcome.ok:
            msg = f"{path} of {self.where} cannot be read: {last_line(outcome.stderr)}"
            raise InputError(msg)
        if len(data) > LARGEST_READ_BYTES:
            found = f"found more than {LARGEST_READ_BYTES:,} bytes, expected a short text"
            msg = f"{path} of {self.where}: {found}"
            raise InputError(msg)
        return data

    def run(self, command: Command) -> CompletedCommand:
        name = _new_name()
        variables = {"HOME": HOME, **self._mounts.env, **command.env}
        # A value may be a password, and every user can read arguments. So docker takes values from
        # its own environment, except for variables that would change docker itself.
        own = {each: value for each, value in variables.items() if not _READ_BY_DOCKER.match(each)}
        pairs = (each if each in own else f"{each}={variables[each]}" for each in sorted(variables))
        argv = (
            self._docker.program(),
            "run",
            *self._options(name, command),
            *(word for pair in pairs for word in ("--env", pair)),
            self.image.id,
            *command.argv,
        )
        ended = False
        try:
            outer = replace(command, argv=argv, cwd=None, env=own, tested=True)
            outcome = self._docker.processes.run(outer)
            ended = not (outcome.timed_out or outcome.aborted)
        finally:
            if not ended:
                with suppress(InfrastructureFailure):  # the first failure matters, not this one
                    self._docker.remove(name)
        if ended:
            self._expect_started(outcome, command)
            self._docker.processes.expect_machine_sound(command, outcome)
        return replace(outcome, argv=command.argv)

    def background(self, command: Command, **_options: float | None) -> NoReturn:
        """Containers never run in the background, so that none is left."""
        msg = f"{command.argv[0]} cannot run in the background in {self.where}"
        raise InputError(msg, hint="run it without the image: --no-docker")

    def bring_out(self, path: Path, folder: Path) -> None:
        name = _new_name()
        label = ("--label", f"{LABEL}={self._holder}", "--pull", "never")
        self._docker.check_output("create", "--name", name, *label, self.image.id, "true")
        try:
            copied = self._docker.call(
                "cp", f"{name}:{path}/.", str(folder), timeout_s=_COPY_TIMEOUT_S
            )
        finally:
            self._docker.remove(name)
        if not copied.ok:
            msg = f"{path} of {self.where} cannot be copied: {last_line(copied.stderr)}"
            raise InfrastructureFailure(msg)

    def _options(self, name: str, command: Command) -> tuple[str, ...]:
        # The storage may be on any host that this machine reaches, or on itself.
        network = "host" if command.env.get(REMOTE) else "none"
        options = [
            "--rm",
            "--init",
            "--pull",
            "never",
            "--log-driver",
            "none",
            "--name",
            name,
            "--label",
            f"{LABEL}={self._holder}",
            "--network",
            network,
            "--user",
            self._user,
            "--cap-drop",
            "ALL",
            "--security-opt",
            "no-new-privileges",
            # An image may define an entrypoint.
            "--entrypoint",
            "",
        ]
        if command.stdin:
            options.append("--interactive")
        options += ["--workdir", self._workdir(command.cwd)]
        for mount in self._mount_options():
            options += ["--mount", mount]
        return tuple(options)

    def _mount_options(self) -> list[str]:
        writable = dict.fromkeys(self._mounts.writable)
        readable = [path for path in self._mounts.readable if path not in writable]
        return [_mount(path) for path in writable] + [_mount(path, "readonly") for path in readable]

    def _workdir(self, cwd: Path | None) -> str:
        if cwd is None:
            return HOME
        mounted = (*self._mounts.writable, *self._mounts.readable)
        if not cwd.is_dir() or not any(cwd.is_relative_to(path) for path in mounted):
            msg = f"there is no folder {cwd} in {self.where} to start a program in"
            raise InfrastructureFailure(msg)
        return str(cwd)

    def _executables(self, folders: tuple[str, ...], *, depth: int) -> list[str]:
        argv = ("find", "-L", *folders, "-maxdepth", str(depth), "-type", "f", "-perm", "/111")
        # It exits with 1 if a folder of PATH does not exist.
        outcome = self.run(Command(argv=argv, timeout_s=_LOOK_TIMEOUT_S))
        if outcome.timed_out or outcome.rc not in (0, 1):
            ended = "timed out" if outcome.timed_out else f"exited with {outcome.rc}"
            reason = last_line(outcome.stderr)
            msg = f"{self.where} cannot be searched for programs: find {ended}: {reason}"
            raise InfrastructureFailure(msg)
        return [each for each in outcome.stdout.split("\n") if each]

    def _expect_started(self, outcome: CompletedCommand, command: Command) -> None:
        output = outcome.stdout if command.merge_stderr else outcome.stderr
        if outcome.rc == _DOCKER_FAILED and _DOCKER_MESSAGE.search(output):
            expect_daemon(output)
            msg = f"docker could not run {command.argv[0]} in {self.where}: {last_line(output)}"
            raise InfrastructureFailure(msg)
        # If tini could not start the program, its message is the last line.
        failed = _NOT_STARTED.fullmatch(output.rstrip().rpartition("\n")[2])
        if failed is None or outcome.rc not in _NOT_STARTED_STATUSES:
            return
        if failed[1] == "No such file or directory":
            msg = f"{self.where} has no program {command.argv[0]!r}"
            raise InputError(msg, hint="build an image that has it by a recipe of the kit")
        msg = f"{command.argv[0]} cannot be started in {self.where}: {failed[1]}"
        raise InfrastructureFailure(msg)


def _new_name() -> str:
    return f"megtrim-{os.getpid()}-{next(_numbers)}-{secrets.token_hex(4)}"


def _mount(path: Path, *options: str) -> str:
    fields = ("type=bind", f"source={path}", f"target={path}", *options)
    quoted = (each.replace('"', '""') for each in fields)
    return ",".join(f'"{each}"' if set(each) & {",", '"', "\n"} else each for each in quoted)
