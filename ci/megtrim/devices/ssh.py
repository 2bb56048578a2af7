"""``ssh``: Linux boards, each with a run directory like a phone's, below the user's home."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from megtrim.devices.pool.machine import ConnectionState
from megtrim.devices.remote import telemetry
from megtrim.devices.remote.run_directory import open_directory
from megtrim.devices.remote.ssh_transport import PROGRAM, SshTransport
from megtrim.devices.remote.transport import ALIVE_SCRIPT, ConnectionLost, call, new_nonce
from megtrim.errors import InfrastructureFailure, InputError
from megtrim.process import Command

if TYPE_CHECKING:
    from megtrim.devices.device import DeviceSpec, RunDirectory
    from megtrim.process import ProcessRunner

ROOT = ".cache/megtrim-device"
"""Below the home folder, which is where a session begins."""

_FACTS = f"# megtrim:probe\n{telemetry.FACTS_SCRIPT}"
_REBOOT = '# megtrim:probe\nif [ "$(id -u)" = 0 ]; then reboot; else sudo -n reboot; fi\n'


class Board:
    """One board, as a pool gives it out."""

    kind = "ssh"

    def __init__(self, spec: DeviceSpec) -> None:
        settings, timeouts = spec.settings, spec.timeouts
        if not settings.host:
            msg = f"device {spec.name}: kind ssh needs the host to reach it at"
            raise InputError(msg, hint="add `host: NAME` or `host: ADDRESS` to the device")
        _check_file(spec.name, "key", settings.key)
        _check_file(spec.name, "known_hosts", settings.known_hosts)
        self.name = spec.name
        # One board under two users is one board.
        self.key = f"ssh:{settings.host.lower()}:{settings.port}"
        self.power = settings.power
        self.trouble = ""
        """Why it did not answer when it was last asked."""
        self._spec = spec
        self._link = SshTransport(spec.name, spec.processes, settings, connect_s=timeouts.call_s)

    def presence(self) -> ConnectionState:
        """A board counts as there until it fails to answer; without trust, a person must come."""
        return ConnectionState.UNAUTHORIZED if self._link.distrusted else ConnectionState.READY

    def alive(self) -> bool:
        word = new_nonce()
        try:
            said = call(self._link, ALIVE_SCRIPT, word, timeout_s=self._spec.timeouts.call_s)
        except InfrastructureFailure as failure:
            if str(failure) != self.trouble:
                self.trouble = str(failure)
                self._spec.say(f"  lost  {self.trouble}")
            return False
        self.trouble = ""
        return said == f"{word}\n"

    def facts(self) -> dict[str, str]:
        said = call(self._link, _FACTS, timeout_s=self._spec.timeouts.call_s)
        return {"host": self._spec.settings.host, **telemetry.parse_facts(said)}

    def open(self) -> AbstractContextManager[RunDirectory]:
        spec = self._spec
        return open_directory(
            self._link,
            root=ROOT,
            timeouts=spec.timeouts,
            sysroot=spec.sysroot,
            settings=spec.settings,
            say=spec.say,
        )

    def reconnect(self) -> None:
        self._link.disconnect()

    def reboot(self) -> None:
        """Ask the board to boot; the connection may break before it can answer."""
        if not self.alive():
            msg = f"{self._link.label}: cannot be asked to reboot: it does not answer"
            raise InfrastructureFailure(msg)
        try:
            outcome = self._link.shell(_REBOOT, timeout_s=self._spec.timeouts.call_s)
        except ConnectionLost:
            outcome = None
        self._link.disconnect()
        if outcome is not None and outcome.rc != 0 and not outcome.timed_out:
            msg = f"{self._link.label}: cannot be rebooted: {outcome.stderr.strip()}"
            raise InfrastructureFailure(msg, hint="let the user run `sudo -n reboot` there")


def find(spec: DeviceSpec) -> tuple[Board, ...]:
    """Return the one board of an entry. Raises InputError where a file it names is not there."""
    return (Board(spec),)


def missing(processes: ProcessRunner) -> str:
    """Return what this machine lacks for boards and how to get it; empty where nothing."""
    if which(PROGRAM, path=processes.env.get("PATH", "")) is None:
        return f"there is no {PROGRAM}; on Debian: apt-get install openssh-client"
    return ""


def describe_tools(processes: ProcessRunner) -> str:
    """Return ssh and its version, such as ``OpenSSH_9.2p1``."""
    outcome = processes.run(Command(argv=(PROGRAM, "-V"), timeout_s=10))
    return outcome.stderr.split(",")[0].strip()


def _check_file(name: str, label: str, path: Path | None) -> None:
    if path is not None and not path.is_file():
        msg = f"device {name}: {label}: there is no file {path}"
        raise InputError(msg, hint="name an existing file, or leave the key out for ssh's own")
