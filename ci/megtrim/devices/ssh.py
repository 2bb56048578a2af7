"""``ssh``: Linux boards, each with a run directory like a phone's, below the user's home."""

from __future__ import annotations

from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from megtrim.devices.pool.machine import ConnectionState, MachineId
from megtrim.devices.remote import telemetry
from megtrim.devices.remote.run_directory import RemoteMachine
from megtrim.devices.remote.ssh_transport import PROGRAM, SshTransport
from megtrim.devices.remote.transport import ConnectionLost, call
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import Command

if TYPE_CHECKING:
    from megtrim.devices.device import DeviceSpec
    from megtrim.util.process import ProcessRunner

ROOT = ".cache/megtrim-device"
"""Relative to the home folder, where a session starts."""

_FACTS = f"# megtrim:probe\n{telemetry.FACTS_SCRIPT}"
_IDENTIFY = """\
# megtrim:probe
for file in /etc/machine-id /proc/device-tree/serial-number; do
  [ ! -r "$file" ] || tr -cd '[:alnum:]-' <"$file"
done
echo
read -r boot </proc/sys/kernel/random/boot_id && echo "$boot" || echo
"""
_REBOOT = '# megtrim:probe\nif [ "$(id -u)" = 0 ]; then reboot; else sudo -n reboot; fi\n'


class Board(RemoteMachine):
    kind = "ssh"
    root = ROOT

    def __init__(self, spec: DeviceSpec) -> None:
        settings = spec.settings
        if not settings.host:
            msg = f"device {spec.name}: kind ssh needs the host to reach it at"
            raise InputError(msg, hint="add `host: NAME` or `host: ADDRESS` to the device")
        _check_file(spec.name, "key", settings.key)
        _check_file(spec.name, "known_hosts", settings.known_hosts)
        # The key leaves the user out: one board with two users is still one board. Whether two
        # hosts are one board is asked when one of them is held.
        key = f"ssh:{settings.host.lower().removesuffix('.')}:{settings.port}"
        self._ssh = SshTransport(
            spec.name, spec.processes, settings, connect_s=spec.timeouts.call_s
        )
        super().__init__(spec, self._ssh, (key,))

    def presence(self) -> ConnectionState:
        """Return READY unless a key is not trusted, which a person must settle."""
        return ConnectionState.UNAUTHORIZED if self._ssh.distrusted else ConnectionState.READY

    def identify(self) -> MachineId:
        said = call(self._link, _IDENTIFY, timeout_s=self._call_s)
        serial, _, boot = said.partition("\n")
        return MachineId(serial=serial, boot=boot.strip())

    def facts(self) -> dict[str, str]:
        output = call(self._link, _FACTS, timeout_s=self._call_s)
        return {"host": self._spec.settings.host, **telemetry.parse_facts(output)}

    def reconnect(self) -> None:
        self._ssh.disconnect()

    def reboot(self) -> None:
        """Ask the board to reboot; the connection may break before it answers."""
        if not self.alive():
            msg = f"{self._link.label}: cannot be asked to reboot: it does not answer"
            raise InfrastructureFailure(msg)
        try:
            outcome = self._link.shell(_REBOOT, timeout_s=self._call_s)
        except ConnectionLost:
            outcome = None
        self._ssh.disconnect()
        if outcome is not None and outcome.rc != 0 and not outcome.timed_out:
            msg = f"{self._link.label}: cannot be rebooted: {outcome.stderr.strip()}"
            raise InfrastructureFailure(msg, hint="let the user run `sudo -n reboot` there")


def find(spec: DeviceSpec) -> tuple[Board, ...]:
    return (Board(spec),)


def missing(processes: ProcessRunner) -> str:
    if which(PROGRAM, path=processes.env.get("PATH", "")) is None:
        return f"there is no {PROGRAM}; on Debian: apt-get install openssh-client"
    return ""


def describe_tools(processes: ProcessRunner) -> str:
    outcome = processes.run(Command(argv=(PROGRAM, "-V"), timeout_s=10))
    return outcome.stderr.split(",")[0].strip()


def _check_file(name: str, label: str, path: Path | None) -> None:
    if path is not None and not path.is_file():
        msg = f"device {name}: {label}: there is no file {path}"
        raise InputError(msg, hint="name an existing file, or leave the key out for ssh's own")
