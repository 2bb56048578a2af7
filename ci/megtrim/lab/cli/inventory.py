"""Which devices there are: those of the configuration, and phones that are only attached."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from megtrim.core.cli.clock import read_now
from megtrim.core.cli.echo import open_console
from megtrim.core.cli.environment import open_processes
from megtrim.core.cli.session.device_specs import DeviceDefaults, make_device_specs
from megtrim.core.cli.session.setup import find_toolchain
from megtrim.core.config.device import DeviceSettings
from megtrim.core.config.load import (
    BOARDS_VARIABLE,
    LoadedConfig,
    load_config,
    load_owned_devices,
)
from megtrim.lab.cli.verbs import CONFIG
from megtrim.lab.pool.device_pool import (
    MachineState,
    MachineStatus,
    Pool,
    PoolState,
    open_pool_state,
    quarantine_machine,
)
from megtrim.lab.pool.recovery import UNAUTHORIZED
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.value import Value
from megtrim.places.devices import adb
from megtrim.places.devices import kinds as device_kinds
from megtrim.places.devices.adb import find_adb
from megtrim.places.devices.device import ConnectionState, Device, DeviceSpec, Lease


class DeviceSelector(Value):
    names: tuple[str, ...]
    config: Path
    out: Path
    cpu_class: str | None
    quiet: bool

    def stock(self, *, configured: bool = True) -> Inventory:
        missing = self.config == CONFIG and not self.config.exists()
        config = None if missing or not configured else self.config
        console = open_console(quiet=self.quiet)
        return take_stock(config, self.out.resolve() / "runs", open_processes(), console)

    def select(self, stock: Inventory) -> tuple[InventoryRow, ...]:
        for name in self.names:
            if not any(_is_called(row, name) for row in stock.listed):
                known = sorted({row.standing.name for row in stock.listed})
                msg = f"there is no device {name[:60]!r}"
                raise InputError(msg, hint=f"there are: {', '.join(known) or 'none'}")
        found = tuple(
            row
            for row in stock.listed
            if (not self.names or any(_is_called(row, name) for name in self.names))
            and self.cpu_class in (None, row.entry.cpu_class)
        )
        if not found:
            wanted = f"class {self.cpu_class}" if self.cpu_class else "what was asked"
            msg = f"no device fits {wanted}"
            raise InputError(msg, hint="`megtrim devices list` shows all devices")
        return found

    @property
    def narrowed(self) -> bool:
        return bool(self.names) or self.cpu_class is not None


_ARM64 = "aarch64"
_BOARD = "ssh"
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)
_EMULATED_OR_HERE = ("auto", "qemu")


class InventoryEntry(Value):
    name: str
    kind: str
    cpu_class: str
    """Empty for a phone or board that is in no configuration."""
    spec: DeviceSpec
    configured: bool


class InventoryRow(Value):
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


def take_stock(
    config: Path | None, scratch: Path, processes: ProcessRunner, console: Console
) -> Inventory:
    around = DeviceDefaults(
        processes=processes, scratch=scratch, machine=_ARM64, sysroot=None, say=console.say
    )
    entries = [] if config is None else _load_entries(config, around, console)
    entries = [replace(each, spec=replace(each.spec, now=read_now)) for each in entries]
    listed = [machine for entry in entries for machine in _machines(entry)]
    serials, note = _list_serials(processes)
    bare = DeviceSpec(
        name="",
        processes=processes,
        scratch=scratch,
        machine=_ARM64,
        qemu_cpu="max",
        sysroot=None,
        say=console.say,
        now=read_now,
    )
    for serial in serials:
        if not any(f"adb:{serial}" in each.standing.keys for each in listed):
            name = _NOT_IN_NAME.sub("-", serial)
            # As adb spells it, which can be what no configuration may say.
            settings = DeviceSettings.model_construct(serial=serial)
            spec = replace(bare, name=name, settings=settings)
            listed += _machines(
                InventoryEntry(name=name, kind=adb.KIND, cpu_class="", spec=spec, configured=False)
            )
    # A project's verbs take the boards that it names; a host cleans all that its owner lists.
    for entry in _list_boards(processes, bare) if config is None else ():
        listed += _machines(entry)
    return Inventory(listed=tuple(listed), note=note, room=open_pool_state(bare))


def _list_boards(processes: ProcessRunner, bare: DeviceSpec) -> Iterator[InventoryEntry]:
    """Yield the boards that the owner of this machine lists, whatever is configured."""
    owned = load_owned_devices(processes.env.get(BOARDS_VARIABLE, ""))
    for board in owned.boards:
        settings = owned.settle(board.name, _BOARD, DeviceSettings())
        spec = replace(bare, name=board.name, settings=settings)
        yield InventoryEntry(
            name=board.name, kind=_BOARD, cpu_class="", spec=spec, configured=False
        )


def _load_entries(config: Path, around: DeviceDefaults, console: Console) -> list[InventoryEntry]:
    loaded = load_config(config)
    for warning in loaded.warnings:
        console.warn(warning)
    entries = loaded.config.devices
    if any(entry.kind in _EMULATED_OR_HERE for entry in entries):
        around = _with_toolchain(around, loaded)
    return [
        InventoryEntry(
            name=each.name, kind=each.kind, cpu_class=each.class_, spec=spec, configured=True
        )
        for each, spec in make_device_specs(loaded, around, entries)
    ]


def _with_toolchain(around: DeviceDefaults, loaded: LoadedConfig) -> DeviceDefaults:
    try:
        found = find_toolchain(loaded, around.processes.for_builds())
    except (InputError, InfrastructureFailure):
        here = loaded.config.toolchain.kind == "host"
        return replace(around, machine=platform.machine() if here else _ARM64)
    return replace(around, machine=found.machine, sysroot=found.sysroot)


def _list_serials(processes: ProcessRunner) -> tuple[list[str], str]:
    try:
        return sorted(find_adb(processes).states()), ""
    except (InputError, InfrastructureFailure) as failure:
        return [], failure.message


def _machines(entry: InventoryEntry) -> Iterator[InventoryRow]:
    nothing = MachineStatus(
        entry=entry.name, name=entry.name, kind=entry.kind, presence=ConnectionState.READY
    )
    try:
        device = device_kinds.make(entry.kind, entry.spec, native=platform.machine())
        if isinstance(device, Pool):
            for standing in device.read_statuses():
                yield InventoryRow(entry=entry, device=device, standing=standing)
            return
        yield InventoryRow(entry=entry, device=device, standing=replace(nothing, kind=device.kind))
    except InputError as error:
        absent = replace(nothing, presence=ConnectionState.ABSENT, detail=error.message)
        yield InventoryRow(entry=entry, device=None, standing=absent)


def _is_called(row: InventoryRow, name: str) -> bool:
    addresses = (key.partition(":")[2] for key in row.standing.keys)
    return bool(name) and name in (row.standing.entry, row.standing.name, *addresses)


def sought(listed: InventoryRow) -> str:
    standing = listed.standing
    settings = listed.entry.spec.settings
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


@contextmanager
def reserve(row: InventoryRow, room: PoolState, wait: bool, _steps: list[str]) -> Iterator[Lease]:
    standing = row.standing
    if row.device is None:
        raise InfrastructureFailure(standing.detail)
    if row.pool is None:
        with row.device.reserve() as lease:
            yield lease
        return
    if standing.machine is not None and standing.presence is ConnectionState.UNAUTHORIZED:
        reason = standing.machine.trouble or UNAUTHORIZED
        quarantine_machine(room, standing.machine, reason)
        raise InfrastructureFailure(reason)
    if standing.presence is not ConnectionState.READY:
        if wanted := sought(row):
            room.say(f"  {wanted}")
        why = standing.detail or (standing.machine.trouble if standing.machine else "")
        detail = f": {why}" if why else ""
        msg = f"it is {standing.presence}{detail}"
        raise InfrastructureFailure(msg)
    with row.pool.hold(standing, wait=wait) as machine:
        if not machine.alive():
            why = machine.trouble or "`megtrim devices recover` tries to recover it"
            msg = f"it is attached, but does not answer: {why}"
            raise InfrastructureFailure(msg)
        yield machine
