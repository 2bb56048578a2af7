"""Which devices there are: those of the configuration, and phones that are only attached."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from megtrim import devices
from megtrim.cli.echo import open_console
from megtrim.cli.environment import open_processes, read_now
from megtrim.cli.options import out_option
from megtrim.cli.session.device_specs import DeviceDefaults, make_device_specs
from megtrim.cli.session.setup import find_toolchain
from megtrim.config.device import DeviceSettings
from megtrim.config.load import LoadedConfig, load_config
from megtrim.devices import Device, DeviceSpec, adb
from megtrim.devices.device import utc_now
from megtrim.devices.pool.device_pool import (
    MachineState,
    MachineStatus,
    Pool,
    PoolState,
    open_pool_state,
)
from megtrim.devices.pool.machine import ConnectionState
from megtrim.devices.remote.adb_transport import find_adb
from megtrim.util.console import Console
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import ProcessRunner
from megtrim.util.value import Value

_CONFIG = Path("megtrim.yaml")
_MATCH = "Only devices with this Android property, fact, name, kind, class or serial; repeatable."
_CONFIGURED = "The configuration; if there is none, attached phones are used."


class DeviceSelector(Value):
    config: Path
    out: Path
    match: tuple[str, ...]
    cpu_class: str | None
    quiet: bool

    def stock(self, *, configured: bool = True) -> Inventory:
        """Look for everything. Without a configuration of the usual name there are still phones."""
        missing = self.config == _CONFIG and not self.config.exists()
        config = None if missing or not configured else self.config
        console = open_console(quiet=self.quiet)
        scratch = self.out.resolve() / "runs"
        return take_stock(config, scratch, open_processes(), console, read_now)

    def select_rows(self, stock: Inventory, names: Sequence[str]) -> tuple[InventoryRow, ...]:
        return choose(stock, names, self.match, self.cpu_class)

    @property
    def narrowed(self) -> bool:
        return bool(self.match) or self.cpu_class is not None


def asking(command: Callable[..., Any]) -> Callable[..., Any]:
    path = click.Path(path_type=Path)

    def call_with_selector(**values: Any) -> Any:
        keys = ("config", "out", "match", "cpu_class", "quiet")
        asked = DeviceSelector(**{key: values.pop(key) for key in keys})
        return command(asked, **values)

    call_with_selector.__name__, call_with_selector.__doc__ = command.__name__, command.__doc__
    call_with_selector.__dict__.update(command.__dict__)
    found: Callable[..., Any] = call_with_selector
    for option in reversed(
        (
            click.option("--match", multiple=True, metavar="KEY=VALUE", help=_MATCH),
            click.option(
                "--class", "cpu_class", metavar="NAME", help="Only devices of this CPU class."
            ),
            click.option(
                *("--config", "-c"), type=path, default=_CONFIG, show_default=True, help=_CONFIGURED
            ),
            out_option("Folder for runs on this machine itself."),
            click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
            click.option("--quiet", "-q", is_flag=True, help="Print only warnings and results."),
        )
    ):
        found = option(found)
    return found


_ARM64 = "aarch64"
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)
_EMULATED_OR_HERE = ("auto", "qemu")


class InventoryEntry(Value):
    name: str
    kind: str
    cpu_class: str
    """Empty for a phone that is in no configuration."""
    spec: DeviceSpec
    configured: bool

    def device(self) -> Device:
        return devices.make(self.kind, self.spec, native=platform.machine())


class InventoryRow(Value):
    """One machine of an entry, or an entry that has none."""

    entry: InventoryEntry
    device: Device | None
    """None if it cannot be made here."""
    standing: MachineStatus

    @property
    def pool(self) -> Pool | None:
        return self.device if isinstance(self.device, Pool) else None


class Inventory(Value):
    listed: tuple[InventoryRow, ...]
    note: str
    """Why phones that are in no configuration could not be listed; or empty."""
    room: PoolState

    processes: ProcessRunner


def take_stock(
    config: Path | None,
    scratch: Path,
    processes: ProcessRunner,
    console: Console,
    now: Callable[[], datetime] = utc_now,
) -> Inventory:
    around = DeviceDefaults(
        processes=processes, scratch=scratch, machine=_ARM64, sysroot=None, say=console.say
    )
    entries = [] if config is None else _load_entries(config, around, console)
    entries = [replace(each, spec=replace(each.spec, now=now)) for each in entries]
    listed = [each for entry in entries for each in _machines(entry)]
    serials, note = _list_serials(processes)
    for serial in serials:
        if not any(f"adb:{serial}" in each.standing.keys for each in listed):
            listed += _machines(_loose(serial, around, now))
    room = open_pool_state(replace(_make_bare_spec(around), now=now))
    return Inventory(listed=tuple(listed), note=note, room=room, processes=processes)


def _load_entries(config: Path, around: DeviceDefaults, console: Console) -> list[InventoryEntry]:
    loaded = load_config(config)
    for warning in loaded.warnings:
        console.warn(warning)
    entries = loaded.config.devices
    if any(each.kind in _EMULATED_OR_HERE for each in entries):
        around = _with_toolchain(around, loaded)
    return [
        InventoryEntry(
            name=each.name, kind=each.kind, cpu_class=each.class_, spec=spec, configured=True
        )
        for each, spec in make_device_specs(loaded, around, entries)
    ]


def _with_toolchain(around: DeviceDefaults, loaded: LoadedConfig) -> DeviceDefaults:
    """Learn from the toolchain what its programs need; a listing needs no compiler, though."""
    try:
        found = find_toolchain(loaded, around.processes.for_builds())
    except (InputError, InfrastructureFailure):
        here = loaded.config.toolchain.kind == "host"
        return replace(around, machine=platform.machine() if here else _ARM64)
    return replace(around, machine=found.machine, sysroot=found.sysroot)


def _list_serials(processes: ProcessRunner) -> tuple[list[str], str]:
    """Return the serials that adb shows, or why it cannot be asked. No phone is touched."""
    try:
        return sorted(find_adb(processes).states()), ""
    except (InputError, InfrastructureFailure) as failure:
        return [], failure.message


def _loose(serial: str, around: DeviceDefaults, now: Callable[[], datetime]) -> InventoryEntry:
    name = _NOT_IN_NAME.sub("-", serial)
    # As adb spells it, which can be what no configuration may say.
    settings = DeviceSettings.model_construct(serial=serial)
    spec = replace(_make_bare_spec(around), name=name, settings=settings, now=now)
    return InventoryEntry(name=name, kind=adb.KIND, cpu_class="", spec=spec, configured=False)


def _make_bare_spec(around: DeviceDefaults) -> DeviceSpec:
    return DeviceSpec(
        name="",
        processes=around.processes,
        scratch=around.scratch,
        machine=around.machine,
        qemu_cpu="max",
        sysroot=around.sysroot,
        say=around.say,
    )


def _machines(entry: InventoryEntry) -> Iterator[InventoryRow]:
    nothing = MachineStatus(
        entry=entry.name,
        name=entry.name,
        kind=entry.kind,
        key="",
        machine=None,
        presence=ConnectionState.READY,
    )
    try:
        device = entry.device()
        if isinstance(device, Pool):
            for standing in device.read_statuses():
                yield InventoryRow(entry=entry, device=device, standing=standing)
            return
        yield InventoryRow(entry=entry, device=device, standing=replace(nothing, kind=device.kind))
    except InputError as error:
        absent = replace(nothing, presence=ConnectionState.ABSENT, detail=error.message)
        yield InventoryRow(entry=entry, device=None, standing=absent)


def choose(
    inventory: Inventory, names: Sequence[str], match: Sequence[str], cpu_class: str | None
) -> tuple[InventoryRow, ...]:
    """Return what fits all that was asked. Raises InputError if nothing does.

    A name is an entry's (all its machines), a machine's, or a serial.
    """
    pairs = [_pair(text) for text in match]
    android = _Android(inventory.processes)
    for name in names:
        if not any(_is_called(each, name) for each in inventory.listed):
            known = sorted({each.standing.name for each in inventory.listed})
            msg = f"there is no device {name[:60]!r}"
            raise InputError(msg, hint=f"there are: {', '.join(known) or 'none'}")
    found = tuple(
        each
        for each in inventory.listed
        if (not names or any(_is_called(each, name) for name in names))
        and (cpu_class is None or each.entry.cpu_class == cpu_class)
        and _fits(each, pairs, android)
    )
    if not found:
        asked = (*match, *((f"class {cpu_class}",) if cpu_class else ()))
        msg = f"no device fits {', '.join(asked) or 'what was asked'}"
        raise InputError(msg, hint="`megtrim devices list --facts` shows what can be matched")
    return found


def _is_called(listed: InventoryRow, name: str) -> bool:
    standing = listed.standing
    return name in (standing.entry, standing.name, *_addresses(standing))


def _addresses(standing: MachineStatus) -> list[str]:
    """Return what a machine is called without the configuration, the most certain first."""
    return [key.partition(":")[2] for key in standing.keys if key]


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        msg = f"--match: found {text[:60]!r}, expected KEY=VALUE"
        raise InputError(msg, hint='for example --match "ro.product.model=Pixel 6"')
    return key, value


def _fits(listed: InventoryRow, pairs: Sequence[tuple[str, str]], android: _Android) -> bool:
    standing, entry = listed.standing, listed.entry
    serial = next(iter(_addresses(standing)), "")
    known = {"name": standing.name, "kind": entry.kind, "class": entry.cpu_class}
    known |= {"serial": serial} if serial else {}
    pairs = [pair for pair in pairs if pair[0] != "serial" or pair[1] not in _addresses(standing)]
    if any(key not in known for key, _ in pairs):
        known = facts(listed) | android(standing.key) | known
    return all(known.get(key) == value for key, value in pairs)


class _Android:
    """The properties of phones: fetched once, and only if they are needed."""

    def __init__(self, processes: ProcessRunner) -> None:
        self._processes = processes
        self._phones: dict[str, dict[str, str]] | None = None

    def __call__(self, key: str) -> dict[str, str]:
        if self._phones is None:
            self._phones = {}
            with suppress(InputError, InfrastructureFailure):
                phones = adb.list_phones(self._processes)
                self._phones = {each.keys[0]: each.properties for each in phones}
        return self._phones.get(key, {})


def sought(listed: InventoryRow) -> str:
    """Return what a phone that is not found was searched by; empty for all others."""
    standing, settings = listed.standing, listed.entry.spec.settings
    if standing.presence is not ConnectionState.ABSENT or standing.detail:
        return ""
    wanted = [f"serial {settings.serial}"] if settings.serial else []
    wanted += [f"{name}: {value}" for name, value in sorted(settings.match.items())]
    if not wanted:
        return ""
    return f"adb shows no phone with {', '.join(wanted)}; `adb devices -l` shows what it sees"


def facts(listed: InventoryRow) -> dict[str, str]:
    machine = listed.standing.machine
    if machine is None:
        return {} if listed.device is None else listed.device.facts()
    if listed.standing.state not in (
        MachineState.FREE,
        MachineState.HELD,
        MachineState.QUARANTINED,
    ):
        return {}
    with suppress(InfrastructureFailure):
        return machine.facts()
    return {}
