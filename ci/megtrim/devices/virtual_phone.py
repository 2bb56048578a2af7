"""``virtual-phone``: a phone that is started for each lease, and then used like any adb phone.

It starts an adb server of its own, on a port of its own, and never uses the user's server.
No other job can use the phone, so there is no queue; it ends with its lease, so it needs no
recovery.
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
from megtrim.devices.remote.adb_client import find_adb
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
"""An upper bound, not what it uses: files on the phone are in this machine's memory."""


def find(spec: DeviceSpec, *, native: str | None = None) -> VirtualPhone:
    """Return the device. Raises InputError if this machine cannot run a virtual phone.

    ``native`` is this machine's architecture unless a test sets it; arm64 needs no emulator.
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
    emulated_by = emulator.identity()
    return VirtualPhone(spec, {"cpu": emulated_by["cpu"], "qemu": emulated_by["qemu"], **system})


class VirtualPhone:
    """Any number of phones with one CPU, one for each lease."""

    kind = KIND
    retries = _RETRIES

    def __init__(self, spec: DeviceSpec, emulated_by: dict[str, str]) -> None:
        self.name = spec.name
        self._spec = spec
        self._emulated_by = emulated_by

    def identity(self) -> dict[str, str]:
        return {**self._emulated_by, "kind": self.kind}

    def facts(self) -> dict[str, str]:
        labels = {"qemu": "emulator"}
        return {labels.get(name, name): fact for name, fact in self._emulated_by.items()}

    @contextmanager
    def reserve(self) -> Iterator[PhoneLease]:
        """Start a phone and a server, connect them, and stop both when the block is left."""
        spec = self._spec
        program = find_adb(spec.processes).program
        files = rootfs.provide(spec.processes)
        request = PhoneRequest(
            name=f"{self.name[:_NAME_LENGTH]}-{os.getpid()}-{next(_NUMBERS)}",
            cpu=spec.qemu_cpu,
            # Only root can set a governor.
            rooted=bool(spec.settings.governor),
            data_bytes=_STORAGE_BYTES,
            android=_android(spec.sysroot),
        )
        with (
            manager.run_phone(spec.processes, files.path, request) as phone,
            private_server(spec.processes, program, parent=phone.folder) as server,
        ):
            processes = ProcessRunner({**spec.processes.env, **server.env})
            connect(processes, server, phone.serial)
            phone_spec = replace(spec, processes=processes)
            yield PhoneLease(phone_spec, phone.serial, self.facts())


def _android(sysroot: Path | None) -> Path | None:
    """Return the sysroot if it is Android's; for Linux programs, libraries are pushed instead."""
    return sysroot if sysroot and (sysroot / "system/bin/linker64").is_file() else None


class PhoneLease(adb.AdbPhone):
    """A phone behind adb that also reports what emulates it."""

    kind = KIND

    def __init__(self, spec: DeviceSpec, serial: str, emulated_by: dict[str, str]) -> None:
        super().__init__(find_adb(spec.processes), serial, spec.name, spec)
        self._emulated_by = emulated_by

    def facts(self) -> dict[str, str]:
        """Return what the phone reports about itself, and what emulates it."""
        return {**super().facts(), **self._emulated_by}


def missing(processes: ProcessRunner) -> str:
    """Return what a virtual phone needs that is missing here; empty if nothing."""
    try:
        find_adb(processes)
        manager.emulator(processes)
        rootfs.check(processes)
    except MegtrimError as error:
        return f"{error.message}; {error.hint}" if error.hint else error.message
    return ""


def describe_tools(processes: ProcessRunner) -> str:
    """Return what emulates a phone here. Call it only if nothing is missing."""
    emulated_by = manager.emulator(processes) or "this machine's own CPU"
    return f"{rootfs.describe(processes)}; arm64 programs by {emulated_by}"
