"""A run directory on a remote machine, the same for phones, boards and virtual phones.

A file is pushed once per digest and kept on the machine. Each run gets a copy, whose digest the
machine computes, because an earlier program may have changed the kept file.
"""

from __future__ import annotations

import hashlib
import math
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

from megtrim.libs.elf.needed_libraries import Needs, read_loader, read_needs
from megtrim.libs.programs.exit_status import ProgramRun, ending_signal
from megtrim.libs.programs.telemetry import Conditions, Reading
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import CompletedCommand
from megtrim.libs.util.value import Value
from megtrim.places.devices.device import (
    LARGEST_FETCHED_BYTES,
    DeviceSpec,
    MachineId,
    Timeouts,
    make_too_large_error,
)
from megtrim.places.devices.remote import crash_reports
from megtrim.places.devices.remote.scripts import (
    CLEAN_SCRIPT,
    ENTER_SCRIPT,
    EVICT_SCRIPT,
    PREPARE_SCRIPT,
    RUN_SCRIPT,
    SURVEY_SCRIPT,
    WIPE_SCRIPT,
    ExitReport,
    RemoteFile,
    SetupReply,
    forward_until,
    parse_digests,
    parse_exit,
    parse_files,
    parse_setup,
)
from megtrim.places.devices.remote.telemetry import parse_reading
from megtrim.places.devices.remote.transport import (
    ALIVE_SCRIPT,
    FULL_BELOW_KB,
    ConnectionLost,
    Heartbeat,
    NoSpace,
    Transport,
    call,
    free_kb,
    make_lost_error,
    make_no_space_error,
    make_timeout_error,
    new_nonce,
    watch_machine,
)
from megtrim.places.devices.remote.tuning import Tuning, parse_cpus, tune_machine
from megtrim.places.devices.written import Entry, WrittenKind, list_files

_NAME = re.compile(r"(?!-)[A-Za-z0-9_.+@=,-]{1,120}(?:/[A-Za-z0-9_.+@=,-]{1,120}){0,8}", re.ASCII)
_ATTEMPTS = 2


class _File(Value):
    name: str
    source: Path
    digest: str
    size_bytes: int


class _Streams(Value):
    """Files of a run directory that are a program's standard streams; empty: none."""

    stdin: str
    stdout: str
    stderr: str

    @property
    def words(self) -> tuple[str, str, str]:
        given = _check_name(self.stdin) if self.stdin else "/dev/null"
        taken = _check_name(self.stdout) if self.stdout else "-"
        said = _check_name(self.stderr) if self.stderr else "-"
        return given, taken, said


class RunFiles:
    """A file is pushed unless the machine has it, and copied into place before the next run."""

    def __init__(self, link: Transport, spec: DeviceSpec, entry: SetupReply, run: str) -> None:
        self._link = link
        self._spec = spec
        self._timeouts = spec.timeouts
        self._entry = entry
        self._run = run
        self._free_kb = entry.free_kb
        self._kept = set(entry.cached)
        self._new: set[str] = set()
        self._requested: dict[str, _File] = {}
        self._waiting: list[_File] = []
        self._folders: list[str] = []
        self._present: dict[str, bool] = {}

    def make(self, name: str) -> None:
        self._folders.append(_check_name(name))

    def put(self, source: Path, name: str) -> None:
        try:
            size_bytes = source.stat().st_size
            with source.open("rb") as stream:
                digest = hashlib.file_digest(stream, self._entry.algorithm).hexdigest()
        except OSError as error:
            msg = f"{source} cannot be read: {error.strerror}"
            raise InfrastructureFailure(msg) from None
        file = _File(name=_check_name(name), source=source, digest=digest, size_bytes=size_bytes)
        self._requested[name] = file
        self._waiting.append(file)
        self._require_space(file)
        if digest not in self._kept:
            self._push(file)

    def _require_space(self, file: _File) -> None:
        needed_kb = 2 * (file.size_bytes // 1024 + 4)
        if self._free_kb < needed_kb:
            ours = {each.digest for each in self._requested.values()}
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
            label = self._link.label
            has = self._free_kb / 1024
            msg = (
                f"{label}: {has:.1f} MiB are free, {needed_kb / 1024:.1f} MiB are needed "
                f"for {file.name} (twice its size)"
            )
            raise NoSpace(msg, hint="free some space on it")
        self._free_kb -= needed_kb

    def _push(self, file: _File) -> None:
        target = f"{self._entry.root}/files/{file.digest}.part"
        with self._watch(f"pushing {file.name}") as watch:
            timeout_s = self._timeouts.transfer_s(file.size_bytes)
            self._link.push(file.source, target, timeout_s=timeout_s, abort=watch.abort)
        self._kept.add(file.digest)
        self._new.add(file.digest)

    def _watch(self, step: str) -> AbstractContextManager[Heartbeat]:
        return watch_machine(self._link, self._timeouts, self._entry.root, step)

    def copy_pending(self, queries: tuple[str, ...] = ()) -> None:
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
            msg = f"{self._link.label}: the copy of {names} was damaged on its way there"
            raise InfrastructureFailure(msg)

    def _prepare_files(self, queries: tuple[str, ...]) -> list[_File]:
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
        name = argv[0]
        if name not in self._requested:
            msg = f"{name} was not put on {self._link.label}"
            raise InputError(msg)
        variables = dict(env)
        launcher: tuple[str, ...] = ()
        program = self._requested[name].source
        loader = read_loader(program)
        if loader:
            launcher = self._push_libraries(program, loader, variables)
        given = [f"{key}={value}" for key, value in variables.items()]
        return ("env", *given, *launcher, f"./{name}", *argv[1:])

    def _push_libraries(
        self, program: Path, loader: str, variables: dict[str, str]
    ) -> tuple[str, ...]:
        if loader not in self._present:
            self.copy_pending((loader,))
        there = self._present[loader]
        of_android = Needs(loader=loader).of_android
        if there and not of_android:
            return ()
        if of_android and not there:
            msg = f"{self._link.label}: has no {loader}, which {program.name} needs"
            hint = "phones have it; for a virtual phone, set the key `sysroot` to an Android's"
            raise InputError(msg, hint=hint)
        companions = {name: file.source for name, file in self._requested.items()}
        needs = read_needs(program, self._spec.sysroot, companions)
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


@contextmanager
def open_directory(link: Transport, spec: DeviceSpec, *, root: str) -> Iterator[RemoteDirectory]:
    """``root`` is our folder there, absolute or relative to where the shell starts."""
    timeouts = spec.timeouts
    run = f"run-{secrets.token_hex(6)}"
    patience_s = timeouts.call_s
    absolute = root
    directory = None
    try:
        reply = call(link, ENTER_SCRIPT, root, run, timeout_s=timeouts.call_s)
        entry = parse_setup(reply)
        if entry is None:
            msg = f"{link.label}: it did not report its space, digest program and folder"
            raise InfrastructureFailure(msg, hint="it needs df, and sha256sum or sha1sum")
        absolute = entry.root
        with tempfile.TemporaryDirectory(prefix="megtrim-") as local:
            directory = RemoteDirectory(link, spec, entry, run, parse_reading(reply), Path(local))
            yield directory
    except ConnectionLost:
        # It is most likely gone: the next job removes what is left there.
        patience_s = timeouts.probe_s / 2
        raise
    finally:
        quiet = "quiet" if directory is not None and directory.quiet else "-"
        try:
            call(link, CLEAN_SCRIPT, absolute, run, quiet, timeout_s=patience_s)
        except InfrastructureFailure as failure:
            # The results are complete and must not be lost because of this.
            spec.say(f"  later {failure.message}; the next job on it will clean up")


def wipe(link: Transport, *, root: str, timeouts: Timeouts) -> None:
    call(link, WIPE_SCRIPT, root, timeout_s=timeouts.transfer_s(0))


class RemoteDirectory(RunFiles):
    def __init__(
        self,
        link: Transport,
        spec: DeviceSpec,
        entry: SetupReply,
        run: str,
        reading: Reading,
        local: Path,
    ) -> None:
        super().__init__(link, spec, entry, run)
        self._reading = reading
        self._local = local
        self._made: dict[str, RemoteFile] = {}
        self._others: tuple[Entry, ...] = ()
        self.quiet = False
        """Whether nothing of ours runs there, according to the end of the last run."""

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
        cpus: tuple[int, ...] = (),
        stdin: str = "",
        stdout: str = "",
        stderr: str = "",
    ) -> ProgramRun:
        settings = self._spec.settings
        if cpus:
            settings = settings.model_copy(update={"cpus": ",".join(map(str, cpus))})
        command = self.command(tuple(argv), env or {})
        self.quiet = False
        self.copy_pending()
        with tune_machine(
            self._link,
            settings,
            root=self._entry.root,
            before=self._reading,
            timeouts=self._timeouts,
            say=self._spec.say,
        ) as tuning:
            streams = _Streams(stdin=stdin, stdout=stdout, stderr=stderr)
            run, pid = self._watched_run(
                tuple(argv), command, tuning, timeout_s, on_line, streams=streams
            )
        if ending_signal(run) is None or run.timed_out:
            return run
        found = crash_reports.evidence(self._link, run, pid=pid, timeouts=self._timeouts)
        return replace(run, crash=found)

    def _watched_run(
        self,
        argv: tuple[str, ...],
        command: tuple[str, ...],
        tuning: Tuning,
        timeout_s: float,
        on_line: Callable[[str], None] | None,
        *,
        streams: _Streams,
    ) -> tuple[ProgramRun, int | None]:
        step = f"running {argv[0]}"
        mark = new_nonce()
        limit_s = max(1, math.ceil(timeout_s))
        # The machine itself ends a program that is too slow; this is for a machine that cannot.
        patience_s = limit_s + self._timeouts.transfer_s(0)
        args = (
            self._entry.root,
            self._run,
            self._entry.program,
            mark,
            str(limit_s),
            *streams.words,
        )
        with self._watch(step) as watch:
            outcome = self._link.shell(
                RUN_SCRIPT,
                *args,
                *tuning.prefix,
                *command,
                timeout_s=patience_s,
                on_line=None if on_line is None else forward_until(mark, on_line),
                abort=watch.abort,
            )
        if outcome.timed_out:
            raise make_timeout_error(self._link.label, step, patience_s)
        stdout, ended, after = self._parse_outcome(outcome, mark, step)
        if watch.was_full or ended.free_kb is None or ended.free_kb < FULL_BELOW_KB:
            raise make_no_space_error(self._link.label, step)
        self._made = ended.made
        self._others = ended.others
        self._reading = after
        self.quiet = True
        conditions = Conditions(before=tuning.before, after=after, unmet=tuning.unmet)
        run = ProgramRun(
            argv=argv,
            rc=ended.rc,
            stdout=stdout,
            stderr=outcome.stderr,
            wall_s=outcome.wall_s if ended.wall_s is None else ended.wall_s,
            timed_out=ended.late,
            conditions=conditions,
            other_load=ended.other_load,
        )
        return run, ended.pid

    def _parse_outcome(
        self, outcome: CompletedCommand, mark: str, step: str
    ) -> tuple[str, ExitReport, Reading]:
        stdout, found, reply = outcome.stdout.rpartition(f"\n{mark}\n")
        ended = parse_exit(reply) if found else None
        if ended is None:
            raise make_lost_error(
                self._link.label, step, f"it did not report how that ended: {outcome.stderr}"
            )
        return stdout, ended, parse_reading(reply)

    def cpus(self) -> tuple[int, ...]:
        return parse_cpus(self._spec.settings.cpus)

    def get(self, name: str) -> bytes | None:
        made = self._made.get(name)
        if made is None and name in self._requested:
            self.copy_pending()
            args = (self._entry.root, self._run, self._entry.program, f"./{name}")
            reply = call(self._link, SURVEY_SCRIPT, *args, timeout_s=self._timeouts.transfer_s(0))
            listed = parse_files(reply)
            if listed is None:
                raise make_lost_error(self._link.label, f"looking for {name}", reply)
            made = listed.get(name)
        if made is None:
            return None
        if made.size_bytes > LARGEST_FETCHED_BYTES:
            raise make_too_large_error(name, made.size_bytes)
        target = self._local / "fetched"
        source = f"{self._entry.root}/runs/{self._run}/place/{name}"
        with self._watch(f"fetching {name}") as watch:
            timeout_s = self._timeouts.transfer_s(made.size_bytes)
            self._link.pull(source, target, timeout_s=timeout_s, abort=watch.abort)
        try:
            whole = target.stat().st_size == made.size_bytes
            data = target.read_bytes() if whole else b""
            target.unlink()
        except OSError as error:
            msg = f"{target} cannot be read: {error.strerror}"
            raise InfrastructureFailure(msg) from None
        digest = hashlib.new(self._entry.algorithm, data).hexdigest()
        if not whole or digest != made.digest:
            msg = f"{self._link.label}: {name} was damaged on its way here"
            raise InfrastructureFailure(msg)
        return data

    def names(self, folder: str) -> tuple[str, ...]:
        inside = f"{folder}/"
        files = (Entry(path=name, kind=WrittenKind.FILE) for name in self._made)
        return list_files(
            folder,
            (
                replace(entry, path=entry.path.removeprefix(inside))
                for entry in (*files, *self._others)
                if entry.path.startswith(inside)
            ),
        )


class RemoteMachine:
    kind: str
    root: str
    alive_script = ALIVE_SCRIPT

    def __init__(
        self, spec: DeviceSpec, link: Transport, keys: tuple[str, ...], name: str = ""
    ) -> None:
        self.name = name or spec.name
        self.keys = keys
        self.key = keys[0]
        self.identity: MachineId | None = None
        self.power = spec.settings.power
        self.trouble = ""
        self._spec = spec
        self._link = link
        self._call_s = spec.timeouts.call_s

    def alive(self) -> bool:
        word = new_nonce()
        try:
            reply = call(self._link, self.alive_script, word, timeout_s=self._call_s)
        except InfrastructureFailure as failure:
            trouble = "; ".join(line.strip() for line in str(failure).splitlines())
            if trouble != self.trouble:
                self._spec.say(f"  lost  {trouble}")
            self.trouble = trouble
            return False
        self.trouble = ""
        return reply == f"{word}\n"

    def open(self) -> AbstractContextManager[RemoteDirectory]:
        return open_directory(self._link, self._spec, root=self.root)

    def clean(self) -> None:
        wipe(self._link, root=self.root, timeouts=self._spec.timeouts)
