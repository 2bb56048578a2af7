"""``ssh``: Linux boards, each with a run directory like a phone's, below the user's home."""

import hashlib
import os
import re
import shlex
import stat
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from shutil import which

from megtrim.core.config.device import DeviceSettings
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.libs.util.state_folder import state_folder
from megtrim.places.devices.device import ConnectionState, DeviceSpec, MachineId
from megtrim.places.devices.remote import telemetry
from megtrim.places.devices.remote.run_directory import RemoteMachine
from megtrim.places.devices.remote.transport import (
    Abort,
    ConnectionLost,
    OnLine,
    call,
    expect_pushed,
    expect_transferred,
    frame,
    new_nonce,
    summarize_output,
    unframe_outcome,
)

PROGRAM = "ssh"

_PORT = 22
_LONGEST_SOCKET_BYTES = 90
"""A socket's path may have 107 bytes, and ssh appends 17 to it."""
_KEPT_S = 60
_LEAVE_S = 10.0
_PUT = '# megtrim:put\ncat >"$1"\n'
_GET = '# megtrim:get\ncat "$1"\n'

_COMPARE = (
    "compare `ssh-keyscan -p {port} {host}` with /etc/ssh/ssh_host_*_key.pub on the board itself"
)
_CHANGED = (
    "another machine answers, or the board was set up again: {compare}, then replace its line in"
    " {known}"
)
_UNKNOWN = "this board's key is not known here: {compare}, then add the line to {known}"
_REFUSED = (
    "the board refuses {key}: add its public half to ~/.ssh/authorized_keys of that user there;"
    " it must be usable without a passphrase, and readable only by you"
)
_DISTRUST = (
    (re.compile(r"has changed and you have requested|IDENTIFICATION HAS CHANGED"), _CHANGED),
    (re.compile(r"Host key verification failed|host key is known"), _UNKNOWN),
    (re.compile(r"Permission denied \(|Too many authentication failures"), _REFUSED),
)
_NO_WAY = re.compile(
    r"No route to host|Connection (refused|timed out|reset)|Network is unreachable"
    r"|Could not resolve hostname"
)
_NO_WAY_HINT = "is the board on, is `host` right, and does `ssh -p {port} {host}` reach it?"


class SshTransport:
    """The transport to one board. Calls share one connection, which ssh keeps for a minute."""

    def __init__(
        self, name: str, processes: ProcessRunner, settings: DeviceSettings, *, connect_s: float
    ) -> None:
        self.label = f"{name} ({address(settings)})"
        self.distrusted = False
        """One side did not trust the other's key in the last call."""
        self._processes = processes
        self._settings = settings
        self._argv = (PROGRAM, *options(settings, connect_s))
        socket = _socket(processes.env, self._argv)
        if socket is not None:
            self._argv = (
                *self._argv,
                "-o",
                "ControlMaster=auto",
                "-o",
                f"ControlPersist={_KEPT_S}",
                "-o",
                f"ControlPath={_quote_path(socket)}",
            )

    def shell(
        self, script: str, *args: str, timeout_s: float, on_line: OnLine = None, abort: Abort = None
    ) -> CompletedCommand:
        begin = new_nonce()
        end = new_nonce()
        command = Command(
            argv=self._remote(f"echo {begin}\n{frame(script, args, end)}"),
            timeout_s=timeout_s,
            on_line=None if on_line is None else _program_lines(on_line, begin),
            abort=abort,
            tested=True,
        )
        outcome = self._processes.run(command)
        before, began, stdout = outcome.stdout.partition(f"{begin}\n")
        if began:
            outcome = replace(outcome, stdout=stdout)
        try:
            outcome = unframe_outcome(outcome, end, label=self.label, script=script)
        except ConnectionLost as failure:
            raise self._explain_failure(failure, outcome.stderr) from None
        self.distrusted = False
        if began and before:
            # It would also precede the contents of every file that is fetched.
            shown = summarize_output(before)
            msg = f"{self.label}: its login shell prints {shown!r} before every command"
            hint = "let its start files (~/.bashrc and the like) print nothing without a terminal"
            raise InfrastructureFailure(msg, hint=hint)
        return outcome

    def push(self, source: Path, target: str, *, timeout_s: float, abort: Abort = None) -> None:
        argv = self._remote(frame(_PUT, (target,), new_nonce()))
        command = Command(argv=argv, timeout_s=timeout_s, stdin=source, abort=abort, tested=True)
        self._move(command, f"pushing {source.name}", expect_pushed)

    def pull(self, source: str, target: Path, *, timeout_s: float, abort: Abort = None) -> None:
        # No frame: the output is the file. Its digest shows whether it is complete.
        argv = self._remote(f"set -- {shlex.quote(source)}\n{_GET}")
        command = Command(
            argv=argv, timeout_s=timeout_s, stdout_to=target, abort=abort, tested=True
        )
        self._move(command, f"pulling {source.rpartition('/')[2]}", expect_transferred)

    def disconnect(self) -> None:
        argv = (*self._argv, "-O", "exit", "--", self._settings.host)
        self._processes.run(Command(argv=argv, timeout_s=_LEAVE_S))

    def _move(self, command: Command, step: str, check: Callable[..., None]) -> None:
        outcome = self._processes.run(command)
        try:
            check(outcome, label=self.label, step=step, timeout_s=command.timeout_s)
        except ConnectionLost as failure:
            raise self._explain_failure(failure, outcome.stderr) from None

    def _remote(self, text: str) -> tuple[str, ...]:
        # A login shell may be anything; any shell can start sh with one quoted argument.
        return (*self._argv, "--", self._settings.host, f"exec sh -c {shlex.quote(text)}")

    def _explain_failure(self, failure: ConnectionLost, output: str) -> ConnectionLost:
        self.distrusted = any(complaint.search(output) for complaint, _ in _DISTRUST)
        return ConnectionLost(failure.message, hint=advice(output, self._settings))


def address(settings: DeviceSettings) -> str:
    """As people write it, such as ``tester@10.0.0.7:2222``."""
    user = f"{settings.user}@" if settings.user else ""
    port = f":{settings.port}" if settings.port != _PORT else ""
    return f"{user}{settings.host}{port}"


def options(settings: DeviceSettings, connect_s: float) -> tuple[str, ...]:
    """Never ask, never trust a new key, notice a dead peer."""
    chosen = [
        "BatchMode=yes",
        "StrictHostKeyChecking=yes",
        "UpdateHostKeys=no",
        f"ConnectTimeout={max(1, round(connect_s))}",
        "ConnectionAttempts=1",
        "ServerAliveInterval=5",
        "ServerAliveCountMax=3",
        "ClearAllForwardings=yes",
        "ForwardAgent=no",
        "ForwardX11=no",
        "RequestTTY=no",
        "PermitLocalCommand=no",
        "LogLevel=ERROR",
    ]
    if settings.known_hosts is not None:
        known = _quote_path(settings.known_hosts)
        chosen += [f"UserKnownHostsFile={known}", "GlobalKnownHostsFile=/dev/null"]
    if settings.key is not None:
        chosen += [f"IdentityFile={_quote_path(settings.key)}", "IdentitiesOnly=yes"]
    user = ("-l", settings.user) if settings.user else ()
    quoted = (word for each in chosen for word in ("-o", each))
    return (*quoted, "-p", str(settings.port), *user)


def advice(output: str, settings: DeviceSettings) -> str:
    quoted = {
        "host": settings.host,
        "port": settings.port,
        "key": settings.key or "our keys",
        "known": settings.known_hosts or "~/.ssh/known_hosts",
    }
    quoted["compare"] = _COMPARE.format_map(quoted)
    for complaint, hint in _DISTRUST:
        if complaint.search(output):
            return hint.format_map(quoted)
    return _NO_WAY_HINT.format_map(quoted) if _NO_WAY.search(output) else ""


def _program_lines(tell: Callable[[str], None], begin: str) -> Callable[[str], None]:
    begun = threading.Event()

    def forward_line(line: str) -> None:
        if begun.is_set():
            tell(line)
        elif line == begin:
            begun.set()

    return forward_line


def _quote_path(path: Path) -> str:
    # ssh splits at spaces outside quotes, and expands what follows a %.
    text = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{text}"'


def _socket(env: Mapping[str, str], argv: tuple[str, ...]) -> Path | None:
    """Return None if no folder is safe.

    Each set of options has its own: a connection made with one key proves nothing about another.
    """
    runtime = Path(env.get("XDG_RUNTIME_DIR", ""))
    base = runtime / "megtrim" if runtime.is_absolute() else state_folder(env)
    folder = base / f"ssh-{os.getuid()}"
    path = folder / hashlib.sha256("\0".join(argv).encode()).hexdigest()[:16]
    if len(os.fsencode(path)) > _LONGEST_SOCKET_BYTES:
        return None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    # Whoever can write to this folder could impersonate the board.
    private = stat.S_ISDIR(found.st_mode) and not stat.S_IMODE(found.st_mode) & 0o077
    return path if private and found.st_uid == os.getuid() else None


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
