"""``local``: programs run on this machine, each job in a folder of its own."""

from __future__ import annotations

import copy
import hashlib
import os
import platform
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.util import owned_folders
from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.libs.util.files import expect_room
from megtrim.libs.util.owned_folders import LOCKS, RUN_PREFIX
from megtrim.libs.util.process import Command, ProcessRunner, is_there
from megtrim.places.devices.cpu import share_of_others
from megtrim.places.devices.device import LARGEST_FETCHED_BYTES, make_too_large_error
from megtrim.places.devices.remote import crash_reports
from megtrim.places.devices.written import Entry, WrittenKind, list_files

_CPU_TIMES = Path("/proc/stat")
_CPU_INFO = Path("/proc/cpuinfo")
_MACHINE_ID = Path("/etc/machine-id")
_LONGEST_MODEL = 200
_NO_ID = (b"", b"uninitialized")
"""What images have there, whichever machine they run on."""
_MODEL = re.compile(r"^(?:model name|CPU (?:implementer|part))\s*: (.+)$", re.MULTILINE)


def is_hosted(env: Mapping[str, str]) -> bool:
    """Tell whether this is one of GitHub's own machines, of which each job has a new one."""
    return env.get("RUNNER_ENVIRONMENT") == "github-hosted"


def read_host_facts(*, hosted: bool) -> dict[str, str]:
    facts = {}
    with suppress(OSError):
        text = _CPU_INFO.read_text(encoding="utf-8", errors="replace")
        facts["CPU model"] = ", ".join(sorted({*_MODEL.findall(text)}))[:_LONGEST_MODEL]
    if not hosted:  # a new machine for each job is as good as the last
        with suppress(OSError):
            # The id itself must not be published.
            if (own := _MACHINE_ID.read_bytes().strip()) not in _NO_ID:
                facts["host"] = hashlib.sha256(b"megtrim" + own).hexdigest()[:12]
    return {label: value for label, value in facts.items() if value}


class Local:
    kind = "local"
    retries = 0
    """A disk that is full here will be full at the next attempt, too."""

    def __init__(
        self,
        name: str,
        processes: ProcessRunner,
        scratch: Path,
        *,
        launcher: tuple[str, ...] = (),
        hosted: bool = False,
    ) -> None:
        self.name = name
        self._hosted = hosted
        self._processes = processes
        self._scratch = scratch
        self._launcher = launcher

    def identity(self) -> dict[str, str]:
        return {"kind": self.kind, "machine": platform.machine()}

    def facts(self) -> dict[str, str]:
        host = read_host_facts(hosted=self._hosted)
        return {"machine": platform.machine(), "system": platform.system(), **host}

    def which(self, name: str) -> str | None:
        return self._processes.which(name)

    def start_by(self, *before: str, options: tuple[str, ...] = ()) -> Self:
        """Return it with a command line before the launcher of each program, and more options."""
        made = copy.copy(self)
        made._launcher = (*before, *self._launcher, *options)
        return made

    @contextmanager
    def reserve(self) -> Iterator[Local]:
        yield self

    @contextmanager
    def open(self) -> Iterator[LocalFolder]:
        try:
            with open_scratch(self._scratch) as folder:
                try:
                    yield LocalFolder(folder, self._processes, self._launcher)
                finally:
                    _end_strays(folder)
        except OSError as error:
            raise _make_scratch_error(self._scratch, error) from None


class MeasuringFile:
    """A file for a tool that measures a program, outside of the folder in which that one runs.

    It is read by the descriptor that made it: what a program puts in its place is not looked at.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def take(self, most_bytes: int) -> bytes:
        """Return what was written, at most one byte more than ``most_bytes``, and empty it."""
        found = os.pread(self._descriptor, most_bytes + 1, 0)
        os.ftruncate(self._descriptor, 0)
        return found


@contextmanager
def open_measuring_file(folder: Path) -> Iterator[MeasuringFile]:
    descriptor, name = tempfile.mkstemp(dir=folder, prefix="measured-")
    try:
        yield MeasuringFile(Path(name), descriptor)
    finally:
        os.close(descriptor)
        Path(name).unlink(missing_ok=True)


@contextmanager
def open_scratch(scratch: Path) -> Iterator[Path]:
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        owned_folders.claim(scratch, owned_folders.claim_results(scratch.with_name(LOCKS)))
        for left in owned_folders.list_runs(scratch):
            holder = left.name.split("-")[1]
            if holder.isdigit() and not is_there(int(holder)):
                with suppress(OSError):
                    owned_folders.remove_run(left)
        run = Path(tempfile.mkdtemp(dir=scratch, prefix=f"{RUN_PREFIX}{os.getpid()}-"))
        owned_folders.mark_run(run)
    except OSError as error:
        raise _make_scratch_error(scratch, error) from None
    try:
        yield run
    finally:
        owned_folders.remove_run(run)


def _make_scratch_error(scratch: Path, error: OSError) -> InfrastructureFailure:
    return InfrastructureFailure(f"{scratch} cannot be used for runs: {error.strerror}")


def _end_strays(folder: Path) -> None:
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            here = (entry / "cwd").readlink()
            if folder.resolve() in (here, *here.parents):
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue  # it ended, or belongs to another user


def _read_cpu_times() -> str:
    try:
        with _CPU_TIMES.open(encoding="ascii", errors="replace") as stream:
            return stream.readline()
    except OSError:
        return ""


class LocalFolder:
    """A run directory on this machine; ``launcher`` is put in front of every command line."""

    def __init__(self, path: Path, processes: ProcessRunner, launcher: tuple[str, ...]) -> None:
        self._path = path
        self._processes = processes
        self._launcher = launcher

    def put(self, source: Path, name: str) -> None:
        target = self._path / name
        try:
            # A program may have left a symbolic link there, to anywhere.
            target.unlink(missing_ok=True)
            shutil.copyfile(source, target)
            target.chmod(0o755)
        except OSError as error:
            msg = f"{source} cannot be copied to {target}: {error.strerror}"
            raise InfrastructureFailure(msg) from None

    def make(self, name: str) -> None:
        (self._path / name).mkdir()

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
        program = str(self._path / argv[0])
        command = Command(
            argv=(*self._launcher, program, *argv[1:]),
            cwd=self._path,
            env=env or {},
            timeout_s=timeout_s,
            on_line=on_line,
            cpus=cpus,
            stdin=self._path / stdin if stdin else None,
            stdout_to=self._path / stdout if stdout else None,
            stderr_to=self._path / stderr if stderr else None,
            tested=True,
        )
        before = _read_cpu_times()
        spent_s = self._processes.spent_cpu_s()
        outcome = self._processes.run(command)
        expect_room(self._path)  # else what it wrote may be half of it
        run = ProgramRun(
            argv=tuple(argv),
            rc=outcome.rc,
            stdout=outcome.stdout,
            stderr=outcome.stderr,
            wall_s=outcome.wall_s,
            timed_out=outcome.timed_out,
            other_load=self._find_other_load(before, spent_s),
        )
        return replace(run, crash=crash_reports.local_evidence(run, launcher=self._launcher))

    def _find_other_load(self, before: str, spent_before_s: float | None) -> float | None:
        spent_s = self._processes.spent_cpu_s()
        if spent_s is None or spent_before_s is None:
            return None
        return share_of_others(before, _read_cpu_times(), spent_s - spent_before_s)

    def cpus(self) -> tuple[int, ...]:
        # Only Linux can bind a program; a container may be given some of its CPUs.
        found = os.sched_getaffinity(0) if sys.platform == "linux" else ()
        return tuple(sorted(found))

    def get(self, name: str) -> bytes | None:
        path = self._own(name)
        if path is None or not path.is_file():
            return None
        if (size_bytes := path.stat().st_size) > LARGEST_FETCHED_BYTES:
            raise make_too_large_error(name, size_bytes)
        return path.read_bytes()

    def names(self, folder: str) -> tuple[str, ...]:
        path = self._own(folder)
        if path is None or not path.is_dir():
            return ()
        return list_files(folder, _walk(path))

    def _own(self, name: str) -> Path | None:
        # The program is under test: its link could point at anything on this machine.
        path = self._path.resolve() / name
        return path if path.resolve() == path else None


def _walk(folder: Path, above: str = "") -> Iterator[Entry]:
    if not os.access(folder, os.R_OK | os.X_OK):
        folder.chmod(0o700)  # the program took its own rights away
    with os.scandir(folder) as found:
        for each in found:
            entry = Entry(path=f"{above}{each.name}", kind=_tell_kind(each))
            yield entry
            if entry.kind is WrittenKind.FOLDER:
                yield from _walk(Path(each.path), f"{entry.path}/")


def _tell_kind(entry: os.DirEntry[str]) -> WrittenKind:
    if entry.is_symlink():
        return WrittenKind.LINK
    if entry.is_dir(follow_symlinks=False):
        return WrittenKind.FOLDER
    return WrittenKind.FILE if entry.is_file(follow_symlinks=False) else WrittenKind.OTHER
