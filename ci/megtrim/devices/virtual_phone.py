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
from virtual_phone import manager
from virtual_phone.adb_server import connect, private_server
from virtual_phone.manager import PhoneRequest
from virtual_phone.system import rootfs

if TYPE_CHECKING:
    from pathlib import Path

    from megtrim.devices.device import DeviceSpec

KIND = "virtual-phone"
_RETRIES = 2
_NAME_LENGTH = 40
_NUMBERS = count()
_STORAGE_BYTES = 8 * 1024**3
"""A bound, not what it takes: files on the phone are this machine's memory."""


def find(spec: DeviceSpec, *, native: str | None = None) -> VirtualPhone:
    """Return the device; raises InputError where this machine cannot play a phone.

    ``native`` is what the machine is, by default this one: one for arm64 needs no emulator.
    """
    if spec.machine != manager.MACHINE:
        msg = f"device {spec.name}: a virtual phone runs {manager.MACHINE}, not {spec.machine}"
        raise InputError(msg, hint="choose a toolchain for arm64, or another device")
    native = native or platform.machine()
    android = _android(spec.sysroot)
    system = {"system": qemu.system_of(spec.processes, android)} if android else {}
    if not manager.emulator(spec.processes, native=native):
        return VirtualPhone(spec, {"machine": native, **system})
    emulator = qemu.find(
        spec.name,
        spec.processes,
        spec.scratch,
        machine=manager.MACHINE,
        cpu=spec.qemu_cpu,
        sysroot=None,
    )
    played_by = emulator.identity()
    return VirtualPhone(spec, {"cpu": played_by["cpu"], "qemu": played_by["qemu"], **system})


class VirtualPhone:
    """Any number of phones of one CPU, one for each that reserves."""

    kind = KIND
    retries = _RETRIES

    def __init__(self, spec: DeviceSpec, played_by: dict[str, str]) -> None:
        self.name = spec.name
        self._spec = spec
        self._played_by = played_by

    def identity(self) -> dict[str, str]:
        return {**self._played_by, "kind": self.kind}

    def facts(self) -> dict[str, str]:
        labels = {"qemu": "emulator"}
        return {labels.get(name, name): fact for name, fact in self._played_by.items()}

    @contextmanager
    def reserve(self) -> Iterator[PhoneLease]:
        """Start a phone and a server, connect them, and end both with the block."""
        spec = self._spec
        program = find_adb(spec.processes).program
        files = rootfs.provide(spec.processes)
        wish = PhoneRequest(
            name=f"{self.name[:_NAME_LENGTH]}-{os.getpid()}-{next(_NUMBERS)}",
            cpu=spec.qemu_cpu,
            # Governors are root's to set.
            rooted=bool(spec.settings.governor),
            data_bytes=_STORAGE_BYTES,
            android=_android(spec.sysroot),
        )
        with (
            manager.run_phone(spec.processes, files.path, wish) as phone,
            private_server(spec.processes, program, parent=phone.folder) as server,
        ):
            processes = ProcessRunner({**spec.processes.env, **server.env})
            connect(processes, server, phone.serial)
            behind = replace(spec, processes=processes)
            yield PhoneLease(behind, phone.serial, self.facts())


def _android(sysroot: Path | None) -> Path | None:
    """Return the sysroot where it is an Android's: a Linux program's libraries are pushed."""
    return sysroot if sysroot and (sysroot / "system/bin/linker64").is_file() else None


class PhoneLease(adb.AdbPhone):
    """A phone behind adb that says what plays it."""

    kind = KIND

    def __init__(self, spec: DeviceSpec, serial: str, played_by: dict[str, str]) -> None:
        super().__init__(find_adb(spec.processes), serial, spec.name, spec)
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
