"""``adb``: phones, found by serial or by their properties. One machine per phone."""

from __future__ import annotations

import re
import shutil
import socket
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from megtrim.libs.util.errors import InfrastructureFailure, InputError, MegtrimError
from megtrim.libs.util.limits import clean_line
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count
from megtrim.places.devices.device import (
    DEFAULT_TIMEOUTS,
    ConnectionState,
    DeviceSpec,
    MachineId,
    Timeouts,
)
from megtrim.places.devices.remote.run_directory import RemoteMachine
from megtrim.places.devices.remote.telemetry import FACTS_SCRIPT, parse_facts
from megtrim.places.devices.remote.transport import (
    Abort,
    OnLine,
    call,
    expect_pushed,
    expect_transferred,
    frame,
    make_lost_error,
    new_nonce,
    unframe_outcome,
)

ADB_VARIABLE = "MEGTRIM_ADB"
PORT_VARIABLE = "ANDROID_ADB_SERVER_PORT"
HOST = "127.0.0.1"
"""adb starts a server only for "localhost", not for this address of the same machine."""

_DEFAULT_PORT = 5037
_ANSWER_S = 5.0
_VERSION_S = 10.0
_CLIENT = re.compile(r"^Android Debug Bridge version \d{1,4}\.\d{1,4}\.(\d{1,6})", re.MULTILINE)
SHARED_SERIAL = "several phones have this serial, and adb shows no USB port of theirs"
_TWIN = re.compile(r"^(\S+) +(\S+) (usb:\S+)", re.MULTILINE)
_MOST_BYTES = 0xFFFF
_VERSIONS: dict[tuple[str, int, int], int] = {}
_HINT = (
    "start one outside of jobs, such as `adb start-server` as the user of the jobs, or the "
    "service that scripts/device-host sets up"
)


class Adb(Value):
    program: str
    version: int
    """Version of the protocol between client and server."""
    port: int
    processes: ProcessRunner

    def argv(self, *args: str) -> tuple[str, ...]:
        return (self.program, "-H", HOST, "-P", str(self.port), *args)

    def require_server(self) -> None:
        found = ask(self.port, "host:version")
        try:
            version = int(found, 16)
        except ValueError:
            raise _make_protocol_error(self.port) from None
        if version != self.version:
            msg = (
                f"the adb server on port {self.port} is of version {version}, "
                f"{self.program} of {self.version}: using it would kill the server"
            )
            raise InfrastructureFailure(msg, hint=f"name the server's own adb in {ADB_VARIABLE}")

    def states(self) -> dict[str, str]:
        """By serial, as ``adb devices`` shows it."""
        self.require_server()
        lines = ask(self.port, "host:devices").splitlines()
        pairs = [(serial, state) for serial, _, state in (line.partition("\t") for line in lines)]
        serials = [serial for serial, state in pairs if serial and state]
        if twins := {serial for serial in serials if serials.count(serial) > 1}:
            pairs = [pair for pair in pairs if pair[0] not in twins] + self._list_twins(twins)
        return {serial: state for serial, state in pairs if serial and state}

    def _list_twins(self, serials: Collection[str]) -> list[tuple[str, str]]:
        answer = ask(self.port, "host:devices-l")
        found = [
            (port, state) for serial, state, port in _TWIN.findall(answer) if serial in serials
        ]
        return found or [(serial, SHARED_SERIAL) for serial in serials]


def find_adb(processes: ProcessRunner) -> Adb:
    env = processes.env
    wanted = env.get(ADB_VARIABLE) or "adb"
    program = shutil.which(wanted, path=env.get("PATH", ""))
    if program is None:
        msg = f"there is no program {wanted!r}"
        hint = f"on Debian: apt-get install adb; or name yours in {ADB_VARIABLE}"
        raise InputError(msg, hint=hint)
    program = str(Path(program).absolute())
    port = env.get(PORT_VARIABLE) or str(_DEFAULT_PORT)
    if not port.isdecimal() or not 0 < int(port) < 65536:
        msg = f"{PORT_VARIABLE} is {port!r}, expected a port"
        raise InputError(msg, hint=f"such as {_DEFAULT_PORT}, which is its default")
    version = _version(program, processes)
    return Adb(program=program, version=version, port=int(port), processes=processes)


def _version(program: str, processes: ProcessRunner) -> int:
    facts = Path(program).stat()
    key = (program, facts.st_mtime_ns, facts.st_size)
    if key not in _VERSIONS:
        outcome = processes.run(Command(argv=(program, "version"), timeout_s=_VERSION_S))
        found = _CLIENT.search(outcome.stdout)
        if found is None:
            msg = f"{program} does not print its version as adb does"
            raise InputError(msg, hint=f"name another adb in {ADB_VARIABLE}")
        _VERSIONS[key] = int(found[1])
    return _VERSIONS[key]


def ask(port: int, question: str) -> str:
    try:
        with socket.create_connection((HOST, port), timeout=_ANSWER_S) as connection:
            connection.sendall(f"{len(question):04x}{question}".encode())
            if _read(connection, 4) != b"OKAY":
                raise _make_protocol_error(port)
            size = int(_read(connection, 4), 16)
            return _read(connection, size).decode("utf-8", "replace")
    except ConnectionRefusedError:
        msg = f"no adb server listens on {HOST}:{port}"
        raise InfrastructureFailure(msg, hint=_HINT) from None
    except (OSError, ValueError) as error:
        msg = f"the adb server on port {port} does not answer: {error}"
        raise InfrastructureFailure(msg, hint=_HINT) from None


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    end = time.monotonic() + _ANSWER_S
    while len(data) < min(size, _MOST_BYTES):
        if time.monotonic() > end:
            msg = "its answer takes too long"
            raise ValueError(msg)
        part = connection.recv(size - len(data))
        if not part:
            msg = "it closed the connection"
            raise ValueError(msg)
        data += part
    return data


def _make_protocol_error(port: int) -> InfrastructureFailure:
    msg = f"what listens on {HOST}:{port} is not an adb server"
    return InfrastructureFailure(msg, hint=_HINT)


class AdbTransport:
    def __init__(self, adb: Adb, serial: str, label: str) -> None:
        self.label = label
        self.adb = adb
        self.serial = serial

    def command(
        self, *args: str, timeout_s: float, on_line: OnLine = None, abort: Abort = None
    ) -> CompletedCommand:
        self.adb.require_server()
        argv = self.adb.argv("-s", self.serial, *args)
        return self.adb.processes.run(
            Command(argv=argv, timeout_s=timeout_s, on_line=on_line, abort=abort, tested=True)
        )

    def shell(
        self, script: str, *args: str, timeout_s: float, on_line: OnLine = None, abort: Abort = None
    ) -> CompletedCommand:
        nonce = new_nonce()
        text = frame(script, args, nonce)
        outcome = self.command(
            "shell", "-n", text, timeout_s=timeout_s, on_line=on_line, abort=abort
        )
        return unframe_outcome(outcome, nonce, label=self.label, script=script)

    def push(self, source: Path, target: str, *, timeout_s: float, abort: Abort = None) -> None:
        outcome = self.command("push", str(source), target, timeout_s=timeout_s, abort=abort)
        step = f"pushing {source.name}"
        expect_pushed(outcome, label=self.label, step=step, timeout_s=timeout_s)

    def pull(self, source: str, target: Path, *, timeout_s: float, abort: Abort = None) -> None:
        outcome = self.command("pull", source, str(target), timeout_s=timeout_s, abort=abort)
        step = f"fetching {source.rpartition('/')[2]}"
        expect_transferred(outcome, label=self.label, step=step, timeout_s=timeout_s)


KIND = "adb"
ROOT = "/data/local/tmp/megtrim"

READY = "device"

_PRESENCE = {READY: ConnectionState.READY, "unauthorized": ConnectionState.UNAUTHORIZED}
_PROPERTY = re.compile(r"^\[([^\]\n]{1,200})\]: \[(.*)\]\r?$", re.MULTILINE)
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)

BOOTED_SCRIPT = """\
# megtrim:probe
booted=$(getprop sys.boot_completed 2>/dev/null)
[ -n "$booted" ] && [ "$booted" != 1 ] || echo "$1"
"""
"""Argument: a word, which is printed once Android has booted."""

_SERIAL = "ro.serialno"
_BOOT = "boot id"
PROPERTIES_SCRIPT = f"""\
# megtrim:probe
getprop
read -r boot </proc/sys/kernel/random/boot_id && echo "[{_BOOT}]: [$boot]" || :
"""
_TLS = "._adb-tls-"
_PORT = 5555
"""Of an address that names no port."""


_KNOWN: dict[tuple[int, str], dict[str, str]] = {}
"""Properties of phones that answered, by the server's port and the address: a lease asks again."""


class AttachedPhone(Value):
    """A phone that ``adb devices`` lists, under one address or several."""

    serial: str
    """The address to reach it at, by USB if it can be."""
    state: str
    properties: dict[str, str]
    """Android properties, and its boot id; empty if the phone does not answer."""
    keys: tuple[str, ...]
    """See :attr:`Machine.keys`: its own serial, if no other phone has the same, and addresses."""

    @property
    def identity(self) -> MachineId | None:
        return _identify(self.properties) if self.properties else None

    def is_called(self, address: str) -> bool:
        wanted = {f"adb:{address}", f"adb:{address}:{_PORT}"}
        return any(_simplify(key) in map(_simplify, wanted) for key in self.keys)


def _simplify(address: str) -> str:
    """Return an address as all its spellings have it: names have no case, nor a last dot."""
    host, colon, port = address.removesuffix(".").rpartition(":")
    is_network = colon and port.isdecimal() and len(host) > len("adb:")
    return f"{host.removesuffix('.').lower()}:{port}" if is_network else address.removesuffix(".")


def list_phones(
    processes: ProcessRunner, *, timeouts: Timeouts = DEFAULT_TIMEOUTS
) -> tuple[AttachedPhone, ...]:
    adb = find_adb(processes)
    states = adb.states()
    ready = [serial for serial, state in states.items() if state == READY]
    with ThreadPoolExecutor() as threads:
        answers = threads.map(lambda serial: _properties(adb, serial, timeouts), ready)
        properties = dict(zip(ready, answers, strict=True))
    groups: dict[object, list[str]] = {}
    for serial in sorted(states, key=lambda each: (_TLS in each, ":" in each, each)):
        said = properties.get(serial, {})
        boot = said.get(_BOOT, "")
        groups.setdefault((said.get(_SERIAL, ""), boot) if boot else serial, []).append(serial)
    owners = [properties.get(group[0], {}).get(_SERIAL, "") for group in groups.values()]
    phones = []
    for group, own in zip(groups.values(), owners, strict=True):
        names = [own, *group] if own and owners.count(own) == 1 else group
        phone = AttachedPhone(
            serial=group[0],
            state=states[group[0]],
            properties=properties.get(group[0], {}),
            keys=tuple(dict.fromkeys(f"{KIND}:{name}" for name in names)),
        )
        phones.append(phone)
    # A phone's dead address is left out where the phone is there under another.
    alive = {key for phone in phones if phone.properties for key in phone.keys}
    return tuple(phone for phone in phones if phone.properties or phone.keys[0] not in alive)


def _identify(properties: dict[str, str]) -> MachineId:
    return MachineId(serial=properties.get(_SERIAL, ""), boot=properties.get(_BOOT, ""))


def _properties(adb: Adb, serial: str, timeouts: Timeouts) -> dict[str, str]:
    known = (adb.port, serial)
    if known not in _KNOWN:
        with suppress(InfrastructureFailure):
            _KNOWN[known] = _ask(
                AdbTransport(adb, serial, f"serial {clean_line(serial)}"), timeouts
            )
    return _KNOWN.get(known, {})


def _ask(link: AdbTransport, timeouts: Timeouts) -> dict[str, str]:
    return dict(_PROPERTY.findall(call(link, PROPERTIES_SCRIPT, timeout_s=timeouts.call_s)))


def find(spec: DeviceSpec) -> tuple[AdbPhone, ...]:
    settings = spec.settings
    adb = find_adb(spec.processes)
    wanted = settings.match

    def is_wanted(phone: AttachedPhone) -> bool:
        if settings.serial and not phone.is_called(settings.serial):
            return False
        if not wanted and not settings.serial:
            return phone.state == READY
        return all(phone.properties.get(name) == value for name, value in wanted.items())

    phones = [
        phone for phone in list_phones(spec.processes, timeouts=spec.timeouts) if is_wanted(phone)
    ]
    if settings.serial and not phones:
        return (AdbPhone(adb, settings.serial, spec.name, spec),)
    found = []
    for phone in phones:
        name = spec.name
        if len(phones) > 1:
            name = f"{spec.name}.{_NOT_IN_NAME.sub('-', phone.serial)}"
        found.append(AdbPhone(adb, phone.serial, name, spec, phone))
    return tuple(found)


class AdbPhone(RemoteMachine):
    kind = KIND
    root = ROOT
    alive_script = BOOTED_SCRIPT

    def __init__(
        self,
        adb: Adb,
        serial: str,
        name: str,
        spec: DeviceSpec,
        attached: AttachedPhone | None = None,
    ) -> None:
        self.link = AdbTransport(adb, serial, f"{name} (serial {clean_line(serial)})")
        super().__init__(
            spec, self.link, attached.keys if attached else (f"{KIND}:{serial}",), name
        )
        self.identity = attached.identity if attached else None
        self.trouble = SHARED_SERIAL if attached and attached.state == SHARED_SERIAL else ""

    def presence(self) -> ConnectionState:
        state = self.link.adb.states().get(self.link.serial)
        if state is None:
            return ConnectionState.ABSENT
        return _PRESENCE.get(state, ConnectionState.OFFLINE)

    def identify(self) -> MachineId:
        said = _ask(self.link, self._spec.timeouts)
        # What its other addresses said before a reboot would make two phones of it.
        for known, before in list(_KNOWN.items()):
            if before.get(_SERIAL) == said.get(_SERIAL) and before.get(_BOOT) != said.get(_BOOT):
                del _KNOWN[known]
        _KNOWN[self.link.adb.port, self.link.serial] = said
        return _identify(said)

    def facts(self) -> dict[str, str]:
        reply = call(self.link, FACTS_SCRIPT, timeout_s=self._call_s)
        return {"serial": self.link.serial, **parse_facts(reply)}

    def reconnect(self) -> None:
        timeout_s = self._call_s
        if ":" in self.link.serial and not self.link.serial.startswith("usb:"):
            # The server reconnects a dead network connection only after a disconnect.
            for verb in ("disconnect", "connect"):
                self.link.adb.require_server()
                argv = self.link.adb.argv(verb, self.link.serial)
                self.link.adb.processes.run(Command(argv=argv, timeout_s=timeout_s))
        else:
            self.link.command("reconnect", timeout_s=timeout_s)

    def reboot(self) -> None:
        timeout_s = self._call_s
        outcome = self.link.command("reboot", timeout_s=timeout_s)
        if not outcome.ok:
            raise make_lost_error(
                self.link.label, "asking for a reboot", outcome.stderr or outcome.stdout
            )


def missing(processes: ProcessRunner) -> str:
    """Return what phones need that is missing here, and how to get it; empty if nothing."""
    try:
        find_adb(processes).require_server()
    except MegtrimError as error:
        return f"{error.message}; {error.hint}" if error.hint else error.message
    return ""


def describe_tools(processes: ProcessRunner) -> str:
    adb = find_adb(processes)
    phones = count(len(adb.states()), "phone")
    return f"{Path(adb.program)} (protocol {adb.version}, server on port {adb.port}, {phones})"
