"""A configuration with this machine and one phone, which a test plays."""

from dataclasses import replace

from megtrim.devices.device import ConnectionState, DeviceSpec
from megtrim.util.errors import InfrastructureFailure
from unit.cli.support import Answer, Shell
from unit.devices.machines import QUICK, FakeMachine

CONFIG = """\
version: 1
engine: {kind: sample}
toolchain: {kind: host}
classes: [{name: any, qemu_cpu: max}, {name: fast, qemu_cpu: max}]
devices:
  - {name: here, kind: local, class: any}
  - {name: pixel, kind: adb, class: fast, serial: 1A2B}
models: [{name: m, file: resnet18-s.mge, scenarios: [{name: default, classes: [any]}]}]
"""
NOW = "2026-05-04T12:00:00"
LATER = "2026-05-07T15:00:00"


class Bench:
    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.phone = FakeMachine("pixel", shell.folder / "phone", kind="adb", key="adb:1A2B")

    def __call__(self, *words: str) -> Answer:
        return self.shell("devices", *words)

    def program(self, text: str, name: str = "program") -> str:
        path = self.shell.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        return str(path)


class Server:
    """An adb server that shows one phone; without it, none runs."""

    def __init__(self, phone: FakeMachine) -> None:
        self._phone = phone

    def states(self) -> dict[str, str]:
        if self._phone.attached is ConnectionState.ABSENT:
            msg = "no adb server listens"
            raise InfrastructureFailure(msg)
        return {"1A2B": "device"}


def quick(spec: DeviceSpec) -> DeviceSpec:
    return replace(spec, timeouts=QUICK)
