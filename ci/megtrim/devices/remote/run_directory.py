"""A run directory on a remote machine, the same for phones, boards and virtual phones.

A file is pushed once per digest and kept on the machine. Each run gets a copy, whose digest the
machine computes, because an earlier program may have changed the kept file. The directory is
removed when its holder leaves it, or at the latest when the next job starts. A failure here says
nothing about the program: it is a ConnectionLost, a NoSpace, or another InfrastructureFailure.
"""

from __future__ import annotations

import hashlib
import math
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from megtrim.config.device import DeviceSettings
from megtrim.devices.device import LARGEST_FETCHED_BYTES, make_too_large_error, sort_printable_names
from megtrim.devices.remote import crash_reports
from megtrim.devices.remote.files import RunFiles, RunSetup
from megtrim.devices.remote.heartbeat import FULL_BELOW_KB, watch_machine
from megtrim.devices.remote.replies import (
    ExitReport,
    RemoteFile,
    SetupReply,
    forward_until,
    parse_exit,
    parse_files,
    parse_setup,
)
from megtrim.devices.remote.scripts import (
    CLEAN_SCRIPT,
    ENTER_SCRIPT,
    RUN_SCRIPT,
    SURVEY_SCRIPT,
    WIPE_SCRIPT,
)
from megtrim.devices.remote.telemetry import parse_reading
from megtrim.devices.remote.transport import (
    ConnectionLost,
    Transport,
    call,
    make_lost_error,
    make_no_space_error,
    make_timeout_error,
    new_nonce,
)
from megtrim.devices.remote.tuning import Tuning, parse_cpus, tune_machine
from megtrim.devices.timeouts import Timeouts
from megtrim.load_and_run.exit_status import ProgramRun, ending_signal
from megtrim.load_and_run.telemetry import Conditions, Reading
from megtrim.util.errors import InfrastructureFailure
from megtrim.util.process import CompletedCommand

DEFAULT_SETTINGS = DeviceSettings()


@contextmanager
def open_directory(
    link: Transport,
    *,
    root: str,
    timeouts: Timeouts,
    sysroot: Path | None = None,
    settings: DeviceSettings = DEFAULT_SETTINGS,
    say: Callable[[str], None] = lambda _text: None,
) -> Iterator[RemoteDirectory]:
    """Give out a run directory on a machine that we hold.

    ``root`` is our folder there, absolute or relative to the folder in which the shell starts.
    """
    setup = RunSetup(link=link, timeouts=timeouts, settings=settings, sysroot=sysroot, say=say)
    run = f"run-{secrets.token_hex(6)}"
    patience_s = timeouts.call_s
    absolute, directory = root, None
    try:
        reply = call(link, ENTER_SCRIPT, root, run, timeout_s=timeouts.call_s)
        entry = parse_setup(reply)
        if entry is None:
            msg = f"{link.label}: it did not report its space, digest program and folder"
            raise InfrastructureFailure(msg, hint="it needs df, and sha256sum or sha1sum")
        absolute = entry.root
        with tempfile.TemporaryDirectory(prefix="megtrim-") as local:
            directory = RemoteDirectory(setup, entry, run, parse_reading(reply), Path(local))
            yield directory
    except ConnectionLost:
        # It is most likely gone: the next job removes what is left there.
        patience_s = timeouts.probe_s / 2
        raise
    finally:
        quiet = "quiet" if directory is not None and directory.quiet else "-"
        _clean_up(link, (absolute, run, quiet), patience_s, say)


def _clean_up(
    link: Transport, args: tuple[str, ...], timeout_s: float, say: Callable[[str], None]
) -> None:
    try:
        call(link, CLEAN_SCRIPT, *args, timeout_s=timeout_s)
    except InfrastructureFailure as failure:
        # The results are complete and must not be lost because of this.
        say(f"  later {failure.message}; the next job on it will clean up")


def wipe(link: Transport, *, root: str, timeouts: Timeouts) -> None:
    """Kill the programs of all runs, and remove all runs and all kept files."""
    call(link, WIPE_SCRIPT, root, timeout_s=timeouts.transfer_s(0))


class RemoteDirectory:
    """A folder on a machine, for one job."""

    def __init__(
        self, setup: RunSetup, entry: SetupReply, run: str, reading: Reading, local: Path
    ) -> None:
        self._setup = setup
        self._link = setup.link
        self._timeouts = setup.timeouts
        self._entry = entry
        self._run = run
        self._reading = reading
        self._local = local
        self._files = RunFiles(setup, entry, run)
        self._made: dict[str, RemoteFile] = {}
        self.quiet = False
        """Whether nothing of ours runs there, according to the end of the last run."""

    def put(self, source: Path, name: str) -> None:
        """Push a file unless the machine has it; it is copied into place before the next run."""
        self._files.put(source, name)

    def make(self, name: str) -> None:
        """Make an empty folder."""
        self._files.make(name)

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
        cpus: tuple[int, ...] = (),
    ) -> ProgramRun:
        """Run a program that was put there, by its name."""
        settings = self._setup.settings
        if cpus:
            settings = settings.model_copy(update={"cpus": ",".join(map(str, cpus))})
        command = self._files.command(tuple(argv), env or {})
        self.quiet = False
        self._files.copy_pending()
        with tune_machine(
            self._link,
            settings,
            root=self._entry.root,
            before=self._reading,
            timeouts=self._timeouts,
            say=self._setup.say,
        ) as tuning:
            run, pid = self._watched_run(tuple(argv), command, tuning, timeout_s, on_line)
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
    ) -> tuple[ProgramRun, int | None]:
        step, mark = f"running {argv[0]}", new_nonce()
        limit_s = max(1, math.ceil(timeout_s))
        # The machine itself ends a program that is too slow; this is for a machine that cannot.
        patience_s = limit_s + self._timeouts.transfer_s(0)
        args = (self._entry.root, self._run, self._entry.program, mark, str(limit_s))
        with watch_machine(self._link, self._timeouts, self._entry.root) as watch:
            outcome = self._link.shell(
                RUN_SCRIPT,
                *args,
                *tuning.prefix,
                *command,
                timeout_s=patience_s,
                on_line=None if on_line is None else forward_until(mark, on_line),
                abort=watch.abort,
            )
        watch.check(step)
        if outcome.timed_out:
            raise make_timeout_error(self._link.label, step, patience_s)
        stdout, ended, after = self._parse_outcome(outcome, mark, step)
        if watch.was_full or ended.free_kb is None or ended.free_kb < FULL_BELOW_KB:
            raise make_no_space_error(self._link.label, step)
        self._made = ended.made
        self._reading = after
        self.quiet = True
        run = ProgramRun(
            argv=argv,
            rc=ended.rc,
            stdout=stdout,
            stderr=outcome.stderr,
            wall_s=outcome.wall_s if ended.wall_s is None else ended.wall_s,
            timed_out=ended.late,
            conditions=Conditions(before=tuning.before, after=after, unmet=tuning.unmet),
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
        """Return the CPUs that the configuration names: others may be slow ones."""
        return parse_cpus(self._setup.settings.cpus)

    def get(self, name: str) -> bytes | None:
        """Return a file's bytes, or None if there is no such file."""
        made = self._made.get(name)
        if made is None and self._files.has(name):
            self._files.copy_pending()
            made = self._survey_file(name)
        if made is None:
            return None
        if made.size_bytes > LARGEST_FETCHED_BYTES:
            raise make_too_large_error(name, made.size_bytes)
        target = self._local / "fetched"
        source = f"{self._entry.root}/runs/{self._run}/place/{name}"
        with watch_machine(self._link, self._timeouts, self._entry.root) as watch:
            timeout_s = self._timeouts.transfer_s(made.size_bytes)
            self._link.pull(source, target, timeout_s=timeout_s, abort=watch.abort)
        watch.check(f"fetching {name}")
        return self._read_fetched(target, name, made)

    def _survey_file(self, name: str) -> RemoteFile | None:
        args = (self._entry.root, self._run, self._entry.program, f"./{name}")
        reply = call(self._link, SURVEY_SCRIPT, *args, timeout_s=self._timeouts.transfer_s(0))
        made = parse_files(reply)
        if made is None:
            raise make_lost_error(self._link.label, f"looking for {name}", reply)
        return made.get(name)

    def _read_fetched(self, fetched: Path, name: str, made: RemoteFile) -> bytes:
        try:
            whole = fetched.stat().st_size == made.size_bytes
            data = fetched.read_bytes() if whole else b""
            fetched.unlink()
        except OSError as error:
            msg = f"{fetched} cannot be read: {error.strerror}"
            raise InfrastructureFailure(msg) from None
        digest = hashlib.new(self._entry.algorithm, data).hexdigest()
        if not whole or digest != made.digest:
            msg = f"{self._link.label}: {name} did not arrive as it is there"
            raise InfrastructureFailure(msg)
        return data

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the sorted names of the files that the program wrote to a folder."""
        inside = re.compile(re.escape(folder) + r"/([^/]+)")
        matches = map(inside.fullmatch, self._made)
        return sort_printable_names(folder, (match[1] for match in matches if match))
