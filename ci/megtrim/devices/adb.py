"""``adb``: phones, found by serial or by their properties. One machine per phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from megtrim.config.device import PowerPort
from megtrim.devices.pool.machine import ConnectionState
from megtrim.devices.remote.adb_client import Adb, find_adb
from megtrim.devices.remote.adb_transport import AdbTransport
from megtrim.devices.remote.run_directory import RemoteDirectory, open_directory, wipe
from megtrim.devices.remote.telemetry import FACTS_SCRIPT, parse_facts
from megtrim.devices.remote.transport import call, make_lost_error, new_nonce
from megtrim.devices.timeouts import Timeouts
from megtrim.errors import InfrastructureFailure, MegtrimError
from megtrim.evidence.limits import clean_line
from megtrim.process import Command, ProcessRunner

if TYPE_CHECKING:
    from megtrim.devices.device import DeviceSpec

KIND = "adb"
ROOT = "/data/local/tmp/megtrim"

READY = "device"
"""The state of a phone that accepts commands, as ``adb devices`` prints it."""

_PRESENCE = {READY: ConnectionState.READY, "unauthorized": ConnectionState.UNAUTHORIZED}
_PROPERTY = re.compile(r"^\[([^\]\n]{1,200})\]: \[(.*)\]\r?$", re.MULTILINE)
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)

BOOTED_SCRIPT = """\
# megtrim:probe
booted=$(getprop sys.boot_completed 2>/dev/null)
[ -n "$booted" ] && [ "$booted" != 1 ] || echo "$1"
"""
"""Argument: a word, which is printed once Android has booted."""

PROPERTIES_SCRIPT = "# megtrim:probe\ngetprop\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedPhone:
    """A phone that ``adb devices`` lists."""

    serial: str
    state: str
    """As ``adb devices`` prints it: device, offline, unauthorized, ..."""
    properties: dict[str, str]
    """Android properties; empty if the phone does not answer."""


def list_phones(
    processes: ProcessRunner,
    *,
    timeouts: Timeouts = Timeouts(),  # noqa: B008 - a frozen value
) -> tuple[AttachedPhone, ...]:
    """Return every phone that adb shows, by serial. Raises if there is no adb or no server."""
    adb = find_adb(processes)
    return tuple(
        AttachedPhone(
            serial=serial, state=state, properties=_properties(adb, serial, state, timeouts)
        )
        for serial, state in sorted(adb.states().items())
    )


def _properties(adb: Adb, serial: str, state: str, timeouts: Timeouts) -> dict[str, str]:
    if state != READY:
        return {}
    link = AdbTransport(adb, serial, f"serial {clean_line(serial)}")
    try:
        return dict(_PROPERTY.findall(call(link, PROPERTIES_SCRIPT, timeout_s=timeouts.call_s)))
    except InfrastructureFailure:
        return {}


def find(spec: DeviceSpec) -> tuple[AdbPhone, ...]:
    """Return the phones that fit the spec's serial or properties, as they are attached now."""
    settings = spec.settings
    adb = find_adb(spec.processes)
    if settings.serial:
        return (AdbPhone(adb, settings.serial, spec.name, spec),)
    wanted = settings.match
    serials = [
        phone.serial
        for phone in list_phones(spec.processes, timeouts=spec.timeouts)
        if all(phone.properties.get(name) == value for name, value in wanted.items())
        and (wanted or phone.state == READY)
    ]
    if len(serials) == 1:
        return (AdbPhone(adb, serials[0], spec.name, spec),)
    return tuple(AdbPhone(adb, serial, f"{spec.name}.{_plain(serial)}", spec) for serial in serials)


def _plain(serial: str) -> str:
    return _NOT_IN_NAME.sub("-", serial)


class AdbPhone:
    """One phone of the pool that an entry of the configuration describes."""

    kind = KIND

    def __init__(self, adb: Adb, serial: str, name: str, spec: DeviceSpec) -> None:
        self.name = name
        self.key = f"adb:{serial}"
        self.power: PowerPort | None = spec.settings.power
        self.trouble = ""
        self.link = AdbTransport(adb, serial, f"{name} (serial {clean_line(serial)})")
        self._adb = adb
        self._serial = serial
        self._spec = spec

    def presence(self) -> ConnectionState:
        """Return how the server sees it, without contacting the phone."""
        state = self._adb.states().get(self._serial)
        return (
            ConnectionState.ABSENT
            if state is None
            else _PRESENCE.get(state, ConnectionState.OFFLINE)
        )

    def alive(self) -> bool:
        """Tell whether it returns a random word, and has booted."""
        word = new_nonce()
        try:
            reply = call(self.link, BOOTED_SCRIPT, word, timeout_s=self._spec.timeouts.call_s)
        except InfrastructureFailure as failure:
            self.trouble = failure.message
            return False
        self.trouble = ""
        return reply == f"{word}\n"

    def facts(self) -> dict[str, str]:
        """Fetch what it reports about itself, in one call."""
        reply = call(self.link, FACTS_SCRIPT, timeout_s=self._spec.timeouts.call_s)
        return {"serial": self._serial, **parse_facts(reply)}

    @contextmanager
    def open(self) -> Iterator[RemoteDirectory]:
        """Give out a run directory."""
        spec = self._spec
        with open_directory(
            self.link,
            root=ROOT,
            timeouts=spec.timeouts,
            sysroot=spec.sysroot,
            settings=spec.settings,
            say=spec.say,
        ) as directory:
            yield directory

    def clean(self) -> None:
        """Kill what still runs there, and remove all runs and all copied files."""
        wipe(self.link, root=ROOT, timeouts=self._spec.timeouts)

    def reconnect(self) -> None:
        """Have the server reconnect to the phone."""
        timeout_s = self._spec.timeouts.call_s
        if ":" in self._serial:
            # The server reconnects a dead network connection only after a disconnect.
            for verb in ("disconnect", "connect"):
                self._adb.require_server()
                argv = self._adb.argv(verb, self._serial)
                self._adb.processes.run(Command(argv=argv, timeout_s=timeout_s))
        else:
            self.link.command("reconnect", timeout_s=timeout_s)

    def reboot(self) -> None:
        """Start a reboot."""
        timeout_s = self._spec.timeouts.call_s
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
    count = len(adb.states())
    phones = "1 phone" if count == 1 else f"{count} phones"
    return f"{Path(adb.program)} (protocol {adb.version}, server on port {adb.port}, {phones})"
