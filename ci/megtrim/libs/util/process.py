"""Runs other programs: a :class:`Command` in, a :class:`CompletedCommand` out.

No other module may import ``subprocess`` (a linter says so). Every call has a deadline and
an escalation (interrupt, terminate, kill the whole group). A program that is missing, cannot be
started or runs too long fails in the same way everywhere.
"""

from __future__ import annotations

import copy
import ctypes
import errno
import os
import resource
import select
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from enum import Enum
from functools import partial
from pathlib import Path
from types import FrameType
from typing import IO, Literal

from megtrim.libs.util.environment import select_passed
from megtrim.libs.util.errors import InfrastructureFailure, InputError, Interrupted
from megtrim.libs.util.files import guard_write, read_rooms
from megtrim.libs.util.shortage import find_shortage
from megtrim.libs.util.value import Value

CAPTURE_LIMIT_BYTES = 16 * 1024 * 1024
"""What is kept of each stream. If a program prints more, the middle is dropped."""
_LINE_LIMIT_BYTES = 65536
GRACE_S = 3.0
"""How long each step of the escalation waits for the program to end."""
LARGEST_READ_BYTES = 1024 * 1024
_ABORT_LOOK_S = 0.1
_LEFT_BEHIND_S = 0.3
_LONGEST_LOOK_S = 86_400.0
_WRITTEN_S = (0.01, 0.05, 0.2, 1.0)
"""Pauses before we retry to start a program that is "open for writing" (ETXTBSY). We wrote and
closed it, but a process that another thread forks at that moment keeps it open until its exec."""
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class Command(Value):
    """What to run. ``env`` is added to the base environment; ``timeout_s`` is never optional."""

    argv: tuple[str, ...]
    timeout_s: float
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    merge_stderr: bool = False
    log: Path | None = None
    on_line: Callable[[str], None] | None = None
    """Called with each line of either stream as it arrives, from a separate thread."""
    abort: threading.Event | None = None
    """Another thread sets it to end the program now."""
    stdin: Path | None = None
    stdout_to: Path | None = None
    stderr_to: Path | None = None
    cpus: tuple[int, ...] = ()
    """The CPUs that it is bound to; empty: any."""
    tested: bool = False
    """A program under test, here or on a device: how it ends is for whoever started it to judge."""

    def __str__(self) -> str:
        return shlex.join(self.argv)


class CompletedCommand(Value):
    """How a program ended. ``rc`` follows the shell: 128 + N if signal N ended the program."""

    argv: tuple[str, ...]
    rc: int
    stdout: str
    stderr: str
    wall_s: float
    timed_out: bool
    aborted: bool = False

    @property
    def ok(self) -> bool:
        return self.rc == 0 and not self.timed_out and not self.aborted


class ProcessRunner:
    where = "this machine"

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = dict(env)
        self.places: tuple[Path, ...] = ()
        """Folders that programs write to, besides those that a command names."""

    def for_builds(self) -> ProcessRunner:
        runner = copy.copy(self)
        runner.env = select_passed(self.env)
        return runner

    def which(self, name: str) -> str | None:
        return shutil.which(name, path=self.env.get("PATH", ""))

    def build_tool(self, name: str) -> str:
        """Return the path of ``cmake`` or ``ninja`` from our own pinned dependency."""
        for folder in (Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))):
            if (folder / name).exists():
                return str(folder / name)
        msg = f"{name} is not next to {sys.executable}, where megtrim's installation puts it"
        raise InputError(msg, hint=f"pip install {name}")

    def read(self, path: Path) -> bytes | None:
        """Return a small file's bytes as programs see it; None: there is no such file."""
        try:
            if not path.is_file():
                return None
            with path.open("rb") as stream:
                data = stream.read(LARGEST_READ_BYTES + 1)
        except OSError as error:
            msg = f"{path} cannot be read: {error.strerror}"
            raise InputError(msg) from None
        if len(data) > LARGEST_READ_BYTES:
            msg = f"{path}: found more than {LARGEST_READ_BYTES:,} bytes, expected a short text"
            raise InputError(msg)
        return data

    def spent_cpu_s(self) -> float | None:
        """Return the CPU seconds of all that ended, with children; None: they run elsewhere."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def run(self, command: Command) -> CompletedCommand:
        """Raises InputError if it is missing, InfrastructureFailure if it cannot be started.

        Or if it failed because the machine lacks room or memory, whatever it was for.
        """
        started = time.monotonic()
        child: subprocess.Popen[bytes] | None = None
        streams: list[Stream] = []
        end = _End.ABORTED
        try:
            with _interrupts_held():
                child = _start(command, {**self.env, **command.env})
            streams += (
                Stream(pipe, log=command.log, on_line=command.on_line)
                for pipe in (child.stdout, child.stderr)
            )
            end = _wait(child, command)
        except KeyboardInterrupt:
            if child is not None:
                _end(child, first=signal.SIGINT)
            msg = f"interrupted while running {command.argv[0]}"
            raise Interrupted(msg) from None
        finally:
            # A killed program may have left its pipes to a daemon; no more output will come.
            left = GRACE_S if end is _End.ITSELF else _LEFT_BEHIND_S
            for stream in streams:
                stream.wait(left)
        for stream in streams:
            if stream.failure is not None:
                raise stream.failure
        outcome = CompletedCommand(
            argv=command.argv,
            rc=_shell_status(child.returncode),
            stdout=streams[0].text(),
            stderr=streams[1].text(),
            wall_s=time.monotonic() - started,
            timed_out=end is _End.TIMED_OUT,
            aborted=end is _End.ABORTED,
        )
        self.expect_machine_sound(command, outcome)
        return outcome

    def expect_machine_sound(self, command: Command, outcome: CompletedCommand) -> None:
        """Raise InfrastructureFailure for a tool that failed because of the machine."""
        if outcome.rc == 0 or outcome.timed_out or outcome.aborted or command.tested:
            return
        files = (
            each for each in (command.log, command.stdout_to, command.stderr_to) if each is not None
        )
        scratch = command.env.get("TMPDIR") or self.env.get("TMPDIR") or tempfile.gettempdir()
        folders = [Path(scratch), *self.places, *(each.parent for each in files)]
        if command.cwd is not None:
            folders.append(command.cwd)
        said = f"{outcome.stdout}\n{outcome.stderr}"
        tool = Path(command.argv[0]).name
        shortage = find_shortage(tool, outcome.rc, said, read_rooms(folders))
        if shortage is not None:
            raise shortage

    @contextmanager
    def background(self, command: Command, *, grace_s: float | None = None) -> Iterator[Background]:
        """Run until the block ends, whatever ``timeout_s``. ``grace_s``: after each signal."""
        child: subprocess.Popen[bytes] | None = None
        try:
            with _open_stream(command.log, "ab") as log, _interrupts_held():
                child = _start(command, {**self.env, **command.env}, log=log or subprocess.DEVNULL)
            yield Background(child)
        finally:
            if child is not None:
                _end(child, first=signal.SIGTERM, grace_s=grace_s)

    def capture(self, *argv: str, cwd: Path | None = None, timeout_s: float = 60.0) -> str:
        """Return what a small tool prints to stdout. Raises MegtrimError."""
        outcome = self.run(Command(argv=argv, cwd=cwd, timeout_s=timeout_s))
        if outcome.timed_out:
            msg = f"{argv[0]} did not answer within {timeout_s:.0f} s: {shlex.join(argv)}"
            raise InfrastructureFailure(msg)
        if outcome.rc != 0:
            output = (outcome.stderr or outcome.stdout).strip()
            msg = f"{shlex.join(argv)} exited with {outcome.rc}: {output}"
            raise InputError(msg)
        return outcome.stdout


class Background:
    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        self.pid = child.pid

    def alive(self) -> bool:
        return self.rc() is None

    def rc(self) -> int | None:
        """Return its exit status, as :attr:`CompletedCommand.rc`; None while it runs."""
        status = self._child.poll()
        return None if status is None else _shell_status(status)


def _shell_status(status: int) -> int:
    return status if status >= 0 else 128 - status


def is_there(pid: int) -> bool:
    """Ask the kernel, because /proc may hide the processes of other users (hidepid)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextmanager
def _open_stream(path: Path | None, mode: Literal["rb", "wb", "ab"]) -> Iterator[IO[bytes] | None]:
    if path is None:
        yield None
        return
    try:
        opened = path.open(mode, buffering=0)
    except OSError as error:
        what = "read" if mode == "rb" else "written"
        msg = f"{path} cannot be {what}: {error.strerror}"
        raise InfrastructureFailure(msg) from None
    with opened:
        yield opened


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Defer Ctrl-C while a program is started, and deliver it at the end of the block.

    After a fork, Python runs hooks of libraries and drops any exception raised in them. Only the
    main thread runs signal handlers; a handler that is not Python's own raises nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {
        int(number): handler
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
        if callable(handler := signal.getsignal(number))
    }
    held: list[tuple[int, FrameType | None]] = []
    try:
        for number in handlers:
            signal.signal(number, lambda *signalled: held.append(signalled))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number, frame in held:
            handle = handlers[number]
            handle(number, frame)


def _start(
    command: Command, env: Mapping[str, str], *, log: IO[bytes] | int | None = None
) -> subprocess.Popen[bytes]:
    with (
        _open_stream(command.stdin, "rb") as stdin,
        _open_stream(command.stdout_to, "wb") as out,
        _open_stream(command.stderr_to, "wb") as said,
    ):
        merged = command.merge_stderr or log

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                command.argv,
                cwd=command.cwd,
                env=env,
                stdin=stdin or subprocess.DEVNULL,
                stdout=log or out or subprocess.PIPE,
                stderr=subprocess.STDOUT if merged else said or subprocess.PIPE,
                start_new_session=True,
                preexec_fn=partial(_prepare, command.cpus, os.getpid()),  # noqa: PLW1509 - no locks
            )

        return _try_to_start(start, command)


def _try_to_start(
    start: Callable[[], subprocess.Popen[bytes]], command: Command
) -> subprocess.Popen[bytes]:
    try:
        for pause_s in _WRITTEN_S:
            try:
                return start()
            except OSError as error:
                if error.errno != errno.ETXTBSY:
                    raise
                time.sleep(pause_s)
        return start()
    except FileNotFoundError:
        if command.cwd is not None and not command.cwd.is_dir():
            msg = f"{command.argv[0]} cannot be started: there is no folder {command.cwd}"
            raise InfrastructureFailure(msg) from None
        msg = f"there is no program {command.argv[0]!r}"
        raise InputError(msg, hint="run `megtrim doctor` to see how to get it") from None
    except OSError as error:
        msg = f"{command.argv[0]} cannot be started: {error.strerror}"
        raise InfrastructureFailure(msg) from None
    except ValueError:
        # The system ends an argument at a NUL byte; half a surrogate pair cannot be encoded.
        msg = f"{command.argv[0]} cannot be started: an argument contains a NUL byte"
        raise InputError(msg, hint="take the NUL byte out of its arguments or variables") from None


def _prepare(cpus: tuple[int, ...], parent: int) -> None:
    """Set up the process that is about to become the program, forked by process ``parent``."""
    if cpus:
        os.sched_setaffinity(0, cpus)
    # A shell's background job ignores the first two, a job under nohup ignores the third; our
    # programs would inherit that. Popen itself restores the signals that Python ignores.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    # kill -9 of megtrim must not leave a build writing into a tree that the next run uses.
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it died before the request, which then never takes effect
            os.kill(os.getpid(), signal.SIGKILL)


class _End(Enum):
    ITSELF = "itself"
    TIMED_OUT = "timed out"
    ABORTED = "aborted"


def _wait(child: subprocess.Popen[bytes], command: Command) -> _End:
    deadline = time.monotonic() + command.timeout_s
    with _exit_watch(child) as ended_within:
        while (left := deadline - time.monotonic()) > 0:
            if ended_within(left if command.abort is None else min(left, _ABORT_LOOK_S)):
                # What it left in the background would write into folders the next program uses.
                _signal_group(child, signal.SIGKILL)
                return _End.ITSELF
            if command.abort is not None and command.abort.is_set():
                _end(child, first=signal.SIGINT)
                return _End.ABORTED
    _end(child, first=signal.SIGINT)
    return _End.TIMED_OUT


@contextmanager
def _exit_watch(child: subprocess.Popen[bytes]) -> Iterator[Callable[[float], bool]]:
    """Yield a function that waits for the child's end and returns as soon as it comes."""
    # Popen.wait with a timeout sleeps in steps of up to 50 ms, longer than a call to a phone.
    if not hasattr(os, "pidfd_open"):
        yield partial(_ended_within, child)
        return
    descriptor = os.pidfd_open(child.pid)
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)

    def ended_within(seconds: float) -> bool:
        if not poller.poll(max(1.0, min(seconds, _LONGEST_LOOK_S) * 1000)):
            return False
        child.wait()
        return True

    try:
        yield ended_within
    finally:
        os.close(descriptor)


def _ended_within(child: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(
    child: subprocess.Popen[bytes], *, first: signal.Signals, grace_s: float | None = None
) -> None:
    for step in (first, signal.SIGTERM, signal.SIGKILL):
        _signal_group(child, step)
        try:
            child.wait(GRACE_S if grace_s is None else grace_s)
            break
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            continue  # a second Ctrl-C only speeds up the escalation
    # The group's leader has ended; kill whatever it started.
    _signal_group(child, signal.SIGKILL)


def _signal_group(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    try:
        os.killpg(child.pid, number)
    except (ProcessLookupError, PermissionError):
        return  # all have ended, or all belong to another user and may not be killed by us


class Stream:
    """Reads one pipe to its end in a thread, and keeps the head and the tail of its output."""

    def __init__(
        self, pipe: IO[bytes] | None, *, log: Path | None, on_line: Callable[[str], None] | None
    ) -> None:
        self._on_line = on_line
        self._log_path = log
        self._log: IO[bytes] | None = None
        self.failure: Exception | None = None
        self._head = bytearray()
        self._tail = bytearray()
        self._thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def _read(self, pipe: IO[bytes] | None) -> None:
        if pipe is None:
            return
        try:
            with pipe:
                for line in iter(partial(pipe.readline, _LINE_LIMIT_BYTES), b""):
                    self._keep(line)
                    # A full disk must not stop the reading: the program would block for ever.
                    if self.failure is None:
                        self._report(line)
        finally:
            if self._log:
                self._log.close()

    def _report(self, line: bytes) -> None:
        try:
            self._write_log(line)
            if self._on_line:
                self._on_line(line.decode("utf-8", "replace").rstrip("\n"))
        except Exception as error:
            self.failure = error

    def _write_log(self, line: bytes) -> None:
        if self._log_path is None:
            return
        with guard_write(self._log_path):
            self._log = self._log or self._log_path.open("ab", buffering=0)
            self._log.write(line)

    def _keep(self, line: bytes) -> None:
        half = CAPTURE_LIMIT_BYTES // 2
        if len(self._head) < half:
            self._head += line
            return
        self._tail += line
        if len(self._tail) > 2 * half:
            del self._tail[:-half]

    def wait(self, seconds: float) -> None:
        self._thread.join(seconds)

    def text(self) -> str:
        return (bytes(self._head) + bytes(self._tail)).decode("utf-8", "replace")
