"""``adb``: phones, found by serial or by their properties. One machine per phone."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from megtrim.devices.device import DEFAULT_TIMEOUTS, Timeouts
from megtrim.devices.pool.machine import ConnectionState, MachineId
from megtrim.devices.remote.adb_transport import SHARED_SERIAL, Adb, AdbTransport, find_adb
from megtrim.devices.remote.run_directory import RemoteMachine
from megtrim.devices.remote.telemetry import FACTS_SCRIPT, parse_facts
from megtrim.devices.remote.transport import call, make_lost_error
from megtrim.evidence.limits import clean_line
from megtrim.util.errors import InfrastructureFailure, MegtrimError
from megtrim.util.process import Command, ProcessRunner
from megtrim.util.value import Value
from megtrim.util.wording import count

if TYPE_CHECKING:
    from megtrim.devices.device import DeviceSpec

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

_SERIAL, _BOOT = "ro.serialno", "boot id"
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
        if not self.properties:
            return None
        return MachineId(
            serial=self.properties.get(_SERIAL, ""), boot=self.properties.get(_BOOT, "")
        )

    def is_called(self, address: str) -> bool:
        wanted = {f"adb:{address}", f"adb:{address}:{_PORT}"}
        return any(_simplify(key) in map(_simplify, wanted) for key in self.keys)


def _simplify(address: str) -> str:
    """Return an address as all its spellings have it: names have no case, nor a last dot."""
    host, colon, port = address.removesuffix(".").rpartition(":")
    is_network = colon and port.isdecimal() and len(host) > len("adb:")
    return f"{host.removesuffix('.').lower()}:{port}" if is_network else address.removesuffix(".")


def list_phones(
    processes: ProcessRunner,
    *,
    timeouts: Timeouts = DEFAULT_TIMEOUTS,
) -> tuple[AttachedPhone, ...]:
    """Return every phone that adb shows, by serial."""
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
    return tuple(phone for phone in phones if not _is_listed_elsewhere(phone, phones))


def _is_listed_elsewhere(phone: AttachedPhone, phones: list[AttachedPhone]) -> bool:
    """Tell whether it is a phone's dead address, and the phone is there under another."""
    return not phone.properties and any(
        phone.keys[0] in other.keys for other in phones if other.properties
    )


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
    phones = [
        phone
        for phone in list_phones(spec.processes, timeouts=spec.timeouts)
        if all(phone.properties.get(name) == value for name, value in wanted.items())
        and (wanted or settings.serial or phone.state == READY)
        and (not settings.serial or phone.is_called(settings.serial))
    ]
    if settings.serial and not phones:
        return (AdbPhone(adb, settings.serial, spec.name, spec),)
    return tuple(
        AdbPhone(
            adb,
            phone.serial,
            spec.name if len(phones) == 1 else f"{spec.name}.{_plain(phone.serial)}",
            spec,
            phone,
        )
        for phone in phones
    )


def _plain(serial: str) -> str:
    return _NOT_IN_NAME.sub("-", serial)


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
        self._adb = adb
        self._serial = serial

    def presence(self) -> ConnectionState:
        state = self._adb.states().get(self._serial)
        return (
            ConnectionState.ABSENT
            if state is None
            else _PRESENCE.get(state, ConnectionState.OFFLINE)
        )

    def identify(self) -> MachineId:
        said = _ask(self.link, self._spec.timeouts)
        _KNOWN[self._adb.port, self._serial] = said
        return MachineId(serial=said.get(_SERIAL, ""), boot=said.get(_BOOT, ""))

    def facts(self) -> dict[str, str]:
        reply = call(self.link, FACTS_SCRIPT, timeout_s=self._call_s)
        return {"serial": self._serial, **parse_facts(reply)}

    def reconnect(self) -> None:
        timeout_s = self._call_s
        if ":" in self._serial and not self._serial.startswith("usb:"):
            # The server reconnects a dead network connection only after a disconnect.
            for verb in ("disconnect", "connect"):
                self._adb.require_server()
                argv = self._adb.argv(verb, self._serial)
                self._adb.processes.run(Command(argv=argv, timeout_s=timeout_s))
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
    """Return which adb and server are used. Call it only if nothing is missing."""
    adb = find_adb(processes)
    phones = count(len(adb.states()), "phone")
    return f"{Path(adb.program)} (protocol {adb.version}, server on port {adb.port}, {phones})"
