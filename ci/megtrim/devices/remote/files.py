"""The files of a run directory: pushed once, and copied and checked for each run.

Nothing is copied until something is run or read: then one call does it all.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from megtrim.config.device import DeviceSettings
from megtrim.devices.remote.heartbeat import free_kb, watch_machine
from megtrim.devices.remote.replies import SetupReply, parse_digests
from megtrim.devices.remote.scripts import EVICT_SCRIPT, PREPARE_SCRIPT
from megtrim.devices.remote.transport import NoSpace, Transport, call
from megtrim.devices.timeouts import Timeouts
from megtrim.elf.needed_libraries import Needs, read_loader, read_needs
from megtrim.util.errors import InfrastructureFailure, InputError

_NAME = re.compile(r"(?!-)[A-Za-z0-9_.+@=,-]{1,120}(?:/[A-Za-z0-9_.+@=,-]{1,120}){0,8}", re.ASCII)
_ATTEMPTS = 2
"""How often a file is pushed if its copy turns out to be damaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSetup:
    """A machine and how to use it."""

    link: Transport
    timeouts: Timeouts
    settings: DeviceSettings
    sysroot: Path | None
    say: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    name: str
    source: Path
    digest: str
    size_bytes: int


class RunFiles:
    """The files requested for a run directory, and those that the machine already has."""

    def __init__(self, setup: RunSetup, entry: SetupReply, run: str) -> None:
        self._setup = setup
        self._link = setup.link
        self._timeouts = setup.timeouts
        self._entry = entry
        self._run = run
        self._free_kb = entry.free_kb
        self._kept = set(entry.cached)
        self._new: set[str] = set()
        self._put: dict[str, _File] = {}
        self._waiting: list[_File] = []
        self._folders: list[str] = []
        self._present: dict[str, bool] = {}

    def has(self, name: str) -> bool:
        """Tell whether a file of that name was put."""
        return name in self._put

    def make(self, name: str) -> None:
        """Request an empty folder."""
        self._folders.append(_check_name(name))

    def put(self, source: Path, name: str) -> None:
        """Push a file unless the machine has it, and request its copy."""
        try:
            size_bytes = source.stat().st_size
            with source.open("rb") as stream:
                digest = hashlib.file_digest(stream, self._entry.algorithm).hexdigest()
        except OSError as error:
            msg = f"{source} cannot be read: {error.strerror}"
            raise InfrastructureFailure(msg) from None
        file = _File(name=_check_name(name), source=source, digest=digest, size_bytes=size_bytes)
        self._put[name] = file
        self._waiting.append(file)
        self._require_space(file)
        if digest not in self._kept:
            self._push(file)

    def _require_space(self, file: _File) -> None:
        needed_kb = 2 * (file.size_bytes // 1024 + 4)
        if self._free_kb < needed_kb:
            ours = {each.digest for each in self._put.values()}
            reply = call(
                self._link,
                EVICT_SCRIPT,
                self._entry.root,
                *sorted({*ours, *(f"{digest}.part" for digest in ours)}),
                timeout_s=self._timeouts.call_s,
            )
            self._kept &= ours
            self._free_kb = free_kb(reply) or 0
        if self._free_kb < needed_kb:
            label, has = self._link.label, self._free_kb / 1024
            msg = (
                f"{label}: {has:.1f} MiB are free, {needed_kb / 1024:.1f} MiB are needed "
                f"for {file.name} (twice its size)"
            )
            raise NoSpace(msg, hint="free some space on it")
        self._free_kb -= needed_kb

    def _push(self, file: _File) -> None:
        step = f"pushing {file.name}"
        target = f"{self._entry.root}/files/{file.digest}.part"
        with watch_machine(self._link, self._timeouts, self._entry.root) as watch:
            timeout_s = self._timeouts.transfer_s(file.size_bytes)
            self._link.push(file.source, target, timeout_s=timeout_s, abort=watch.abort)
        watch.check(step)
        self._kept.add(file.digest)
        self._new.add(file.digest)

    def copy_pending(self) -> None:
        """Copy all requested files into place, and check every copy."""
        self._copy_pending(())

    def _copy_pending(self, queries: tuple[str, ...]) -> None:
        for _ in range(_ATTEMPTS):
            if not (self._waiting or self._folders or queries):
                return
            damaged = self._prepare_files(queries)
            queries = ()
            for file in damaged:
                self._push(file)
            self._waiting = damaged
        if self._waiting:
            names = ", ".join(file.name for file in self._waiting)
            msg = f"{self._link.label}: {names} did not arrive there as sent"
            raise InfrastructureFailure(msg)

    def _prepare_files(self, queries: tuple[str, ...]) -> list[_File]:
        """Do all that is requested in one call; return the files whose copies are damaged."""
        args: list[str] = []
        for name in self._folders:
            args += ("make", "-", name)
        for path in queries:
            args += ("look", "-", path)
        for file in self._waiting:
            args += ("new" if file.digest in self._new else "copy", file.digest, file.name)
            self._new.discard(file.digest)
        total = sum(file.size_bytes for file in self._waiting)
        reply = call(
            self._link,
            PREPARE_SCRIPT,
            self._entry.root,
            self._run,
            self._entry.program,
            *args,
            timeout_s=self._timeouts.transfer_s(total),
        )
        self._folders = []
        for path in queries:
            self._present[path] = f"megtrim has={path}" in reply.splitlines()
        digests = parse_digests(reply)
        return [file for file in self._waiting if digests.get(file.name) != file.digest]

    def command(self, argv: tuple[str, ...], env: Mapping[str, str]) -> tuple[str, ...]:
        """Return the command line for ``argv`` on the machine, and push the libraries it needs."""
        name = argv[0]
        if name not in self._put:
            msg = f"{name} was not put on {self._link.label}"
            raise InputError(msg)
        variables = dict(env)
        launcher: tuple[str, ...] = ()
        program = self._put[name].source
        loader = read_loader(program)
        if loader:
            launcher = self._push_libraries(program, loader, variables)
        given = [f"{key}={value}" for key, value in variables.items()]
        return ("env", *given, *launcher, f"./{name}", *argv[1:])

    def _push_libraries(
        self, program: Path, loader: str, variables: dict[str, str]
    ) -> tuple[str, ...]:
        if loader not in self._present:
            self._copy_pending((loader,))
        there, of_android = self._present[loader], Needs(loader=loader).of_android
        if there and not of_android:
            return ()
        if of_android and not there:
            msg = f"{self._link.label}: has no {loader}, which {program.name} needs"
            hint = "phones have it; for a virtual phone, set the key `sysroot` to an Android's"
            raise InputError(msg, hint=hint)
        companions = {name: file.source for name, file in self._put.items()}
        needs = read_needs(program, self._setup.sysroot, companions)
        for name, file in needs.files:
            self.put(file, name)
        if of_android:
            variables.setdefault("LD_LIBRARY_PATH", ".")
            return ()
        return (f"./{needs.loader_name}", "--library-path", ".")


def _check_name(name: str) -> str:
    if not _NAME.fullmatch(name) or ".." in name.split("/"):
        msg = f"{name!r} cannot be the name of a file on a device"
        raise InputError(msg, hint="use letters, digits and _.+@=,-")
    return name
