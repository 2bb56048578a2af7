"""``virtual-phone``: a phone that is started for each lease, and is then like any behind adb.

It brings its own adb server, on a port of its own: the user's is never asked for anything.
Nobody else can have it, so there is no queue; it goes with its lease, so nothing is healed.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from megtrim.devices import adb, qemu
from megtrim.devices.remote.adb_server import find_adb
from megtrim.errors import InputError, MegtrimError
from megtrim.process import ProcessRunner
from megtrim.virtual_phone import manager
from megtrim.virtual_phone.adb_server import connect, private_server
from megtrim.virtual_phone.manager import PhoneRequest
from megtrim.virtual_phone.system import rootfs

if TYPE_CHECKING:
    from pathlib import Path

    from megtrim.devices.device import DeviceSpec

KIND = "virtual-phone"
_RETRIES = 2
_NAME_LENGTH = 40
_NUMBERS = count()
_STORAGE_BYTES = 8 * 1024**3
"""A bound, not what it takes: files on the phone are this machine's memory."""


def find(order: DeviceSpec, *, native: str | None = None) -> VirtualPhone:
    """Return the device; raises InputError where this machine cannot play a phone.

    ``native`` is what the machine is, by default this one: one for arm64 needs no emulator.
    """
    if order.machine != manager.MACHINE:
        msg = f"device {order.name}: a virtual phone runs {manager.MACHINE}, not {order.machine}"
        raise InputError(msg, hint="choose a toolchain for arm64, or another device")
    native = native or platform.machine()
    android = _android(order.sysroot)
    system = {"system": qemu.system_of(order.processes, android)} if android else {}
    if not manager.emulator(order.processes, native=native):
        return VirtualPhone(order, {"machine": native, **system})
    emulator = qemu.find(
        order.name,
        order.processes,
        order.scratch,
        machine=manager.MACHINE,
        cpu=order.qemu_cpu,
        sysroot=None,
    )
    played_by = emulator.identity()
    return VirtualPhone(order, {"cpu": played_by["cpu"], "qemu": played_by["qemu"], **system})


class VirtualPhone:
    """Any number of phones of one CPU, one for each that reserves."""

    kind = KIND
    retries = _RETRIES

    def __init__(self, order: DeviceSpec, played_by: dict[str, str]) -> None:
        self.name = order.name
        self._order = order
        self._played_by = played_by

    def identity(self) -> dict[str, str]:
        return {**self._played_by, "kind": self.kind}

    def facts(self) -> dict[str, str]:
        labels = {"qemu": "emulator"}
        return {labels.get(name, name): fact for name, fact in self._played_by.items()}

    @contextmanager
    def reserve(self) -> Iterator[PhoneLease]:
        """Start a phone and a server, connect them, and end both with the block."""
        order = self._order
        program = find_adb(order.processes).program
        files = rootfs.provide(order.processes)
        wish = PhoneRequest(
            name=f"{self.name[:_NAME_LENGTH]}-{os.getpid()}-{next(_NUMBERS)}",
            cpu=order.qemu_cpu,
            # Governors are root's to set.
            rooted=bool(order.settings.governor),
            data_bytes=_STORAGE_BYTES,
            android=_android(order.sysroot),
        )
        with (
            manager.run_phone(order.processes, files.path, wish) as phone,
            private_server(order.processes, program, parent=phone.folder) as server,
        ):
            processes = ProcessRunner({**order.processes.env, **server.env})
            connect(processes, server, phone.serial)
            behind = replace(order, processes=processes)
            yield PhoneLease(behind, phone.serial, self.facts())


def _android(sysroot: Path | None) -> Path | None:
    """Return the sysroot where it is an Android's: a Linux program's libraries are pushed."""
    return sysroot if sysroot and (sysroot / "system/bin/linker64").is_file() else None


class PhoneLease(adb.AdbPhone):
    """A phone behind adb that says what plays it."""

    kind = KIND

    def __init__(self, order: DeviceSpec, serial: str, played_by: dict[str, str]) -> None:
        super().__init__(find_adb(order.processes), serial, order.name, order)
        self._played_by = played_by

    def facts(self) -> dict[str, str]:
        """Return what the phone says of itself, and what it really is."""
        return {**super().facts(), **self._played_by}


def missing(processes: ProcessRunner) -> str:
    """Say what this machine lacks to play a phone and how to get it; empty: nothing."""
    try:
        find_adb(processes)
        manager.emulator(processes)
        rootfs.check(processes)
    except MegtrimError as error:
        return f"{error.message}; {error.hint}" if error.hint else error.message
    return ""


def describe_tools(processes: ProcessRunner) -> str:
    """Say what plays a phone here; only where nothing is missing."""
    played_by = manager.emulator(processes) or "this machine's own CPU"
    return f"{rootfs.describe(processes)}; arm64 programs by {played_by}"
