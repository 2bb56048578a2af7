"""``virtual-phone``: a phone that is started for each lease, and then used like any adb phone.

It has an adb server of its own on a port of its own: the user's server is never used.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path

from megtrim.libs.util.errors import InfrastructureFailure, InputError, MegtrimError
from megtrim.libs.util.process import GRACE_S, Background, Command, ProcessRunner
from megtrim.libs.util.strict_json import decode
from megtrim.libs.util.value import Value
from megtrim.places.devices import adb, qemu
from megtrim.places.devices.adb import PORT_VARIABLE, find_adb
from megtrim.places.devices.device import DeviceSpec
from megtrim.places.devices.local import open_scratch

KIND = "virtual-phone"
MACHINE = "aarch64"
PROGRAM = (sys.executable, "-P", "-m", "virtual_phone")
_RETRIES = 2
_NAME_LENGTH = 40
_NUMBERS = count()
_STORAGE_MIB = 8 * 1024
"""A bound, not what it takes: files on the phone are this machine's memory."""
_START_S = 1800.0
"""The first start on a machine downloads the phone's own programs."""
_CHECK_S = 60.0
_POLL_S = 0.01
_GRACE_S = 5 * GRACE_S
"""The program ends its own two, each of which has that long after each of two signals."""


class _Address(Value):
    serial: str
    adb_port: int


def find(spec: DeviceSpec, *, native: str | None = None) -> VirtualPhone:
    """``native`` is this machine's architecture unless a test sets it; arm64 needs no emulator."""
    if spec.machine != MACHINE:
        msg = f"device {spec.name}: a virtual phone runs {MACHINE}, not {spec.machine}"
        raise InputError(msg, hint="choose a toolchain for arm64, or another device")
    native = native or platform.machine()
    android = _android(spec.sysroot)
    system = {"system": qemu.system_of(spec.processes, android)} if android else {}
    if native == MACHINE:
        return VirtualPhone(spec, {"machine": native, **system})
    emulated_by = qemu.find(replace(spec, sysroot=None)).identity()
    return VirtualPhone(spec, {"cpu": emulated_by["cpu"], "qemu": emulated_by["qemu"], **system})


class VirtualPhone:
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
        spec = self._spec
        with open_scratch(spec.scratch) as folder:
            ready = folder / "ready.json"
            log = folder / "log"
            words = (*self._start(), "--ready-file", str(ready))
            command = _command(*words, timeout_s=_START_S, log=log)
            with spec.processes.background(command, grace_s=_GRACE_S) as program:
                phone = _await_phone(program, ready, log)
                env = {**spec.processes.env, PORT_VARIABLE: str(phone.adb_port)}
                behind = replace(spec, processes=ProcessRunner(env))
                yield PhoneLease(behind, phone.serial, self.facts())

    def _start(self) -> tuple[str, ...]:
        spec = self._spec
        android = _android(spec.sysroot)
        words = [
            "start",
            f"{self.name[:_NAME_LENGTH]}-{os.getpid()}-{next(_NUMBERS)}",
            "--adb-server",
            find_adb(spec.processes).program,
            "--cpu",
            spec.qemu_cpu,
            "--storage",
            str(_STORAGE_MIB),
        ]
        if spec.settings.governor:
            words.append("--rooted")  # governors are root's to set
        if android:
            words += ["--android", str(android)]
        return tuple(words)


def _command(*words: str, timeout_s: float, log: Path | None = None) -> Command:
    # A launcher may have extended the path of modules by hand: the program needs the same.
    env = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return Command(argv=(*PROGRAM, *words), env=env, timeout_s=timeout_s, log=log)


def _await_phone(program: Background, ready: Path, log: Path) -> _Address:
    deadline = time.monotonic() + _START_S
    while not ready.is_file():
        if (rc := program.rc()) is not None:
            raise _failure(rc, log.read_text(encoding="utf-8", errors="replace"))
        if time.monotonic() > deadline:
            msg = f"virtual-phone did not start a phone within {_START_S:.0f} s"
            raise InfrastructureFailure(msg)
        time.sleep(_POLL_S)
    try:
        address: _Address = decode(_Address, json.loads(ready.read_bytes()), "")
    except (ValueError, InputError) as error:
        msg = f"{ready}: not what virtual-phone writes: {error}"
        raise InfrastructureFailure(msg) from None
    return address


def _failure(rc: int, said: str) -> InputError | InfrastructureFailure:
    message, _, hint = said.strip().removeprefix("virtual-phone: ").partition("\n  ")
    if rc == InputError.exit_code:
        return InputError(message, hint=hint)
    return InfrastructureFailure(message or f"virtual-phone ended with {rc}", hint=hint)


def _android(sysroot: Path | None) -> Path | None:
    return sysroot if sysroot and (sysroot / "system/bin/linker64").is_file() else None


class PhoneLease(adb.AdbPhone):
    kind = KIND

    def __init__(self, spec: DeviceSpec, serial: str, emulated_by: dict[str, str]) -> None:
        super().__init__(find_adb(spec.processes), serial, spec.name, spec)
        self._emulated_by = emulated_by

    def facts(self) -> dict[str, str]:
        return {**super().facts(), **self._emulated_by}


def missing(processes: ProcessRunner) -> str:
    try:
        find_adb(processes)
        describe_tools(processes)
    except MegtrimError as error:
        return f"{error.message}; {error.hint}" if error.hint else error.message
    return ""


def describe_tools(processes: ProcessRunner) -> str:
    outcome = processes.run(_command("check", timeout_s=_CHECK_S))
    if not outcome.ok:
        raise _failure(outcome.rc, outcome.stderr)
    return outcome.stdout.strip()
