"""A device as a bundle describes it: what a runner must know to reach it.

Pure; part of the evidence room. The text comes from another machine and ends up on command lines,
so the settings are validated again by the model that megtrim.yaml is read with, whatever wrote
them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from megtrim.checks.check import DeviceIdentity
from megtrim.config.device import KINDS_OF_KEY, DeviceSettings, is_on_runner
from megtrim.evidence import limits

_CPU = re.compile(r"[A-Za-z0-9][A-Za-z0-9._,=-]{0,199}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleDevice:
    """A device of the configuration that stands for a CPU class."""

    name: str
    kind: str
    cpu_class: Annotated[str, Field(alias="class")]
    qemu_cpu: str
    """CPU that an emulator plays for the class."""
    runner: bool
    """Whether it is attached to a self-hosted runner."""
    settings: DeviceSettings = field(default_factory=DeviceSettings)
    """Paths are those of the runner."""

    def __post_init__(self) -> None:
        where = f"device {self.name}"
        limits.check_name("device", self.name)
        limits.check_name(f"{where}: kind", self.kind)
        limits.check_name(f"{where}: class", self.cpu_class)
        fits = _CPU.fullmatch(self.qemu_cpu) is not None
        limits.require(fits, f"{where}: qemu_cpu", self.qemu_cpu, "a CPU's name")
        for key, path in self.settings.paths().items():
            text = str(path)
            limits.check_line(f"{where}: {key}", text)
            expected = "a path of the runner: /... or ~/..."
            limits.require(is_on_runner(text), f"{where}: {key}", text, expected)
        for label, value in self.settings.match.items():
            limits.check_line(f"{where}: match: {label}", value)
        self._check_kind(where)

    def is_machine(self, cpu_class: str, machine: DeviceIdentity) -> bool:
        """Tell whether a machine of that class is this device, or one that its entry fits.

        An emulator is one as well, with the CPU that is asked for.
        """
        named = machine.name == self.name or machine.name.startswith(f"{self.name}.")
        kinds = ("local", "qemu") if self.kind == "auto" else (self.kind,)
        cpu = machine.facts.get("cpu", self.qemu_cpu) if machine.kind == "qemu" else self.qemu_cpu
        fits = named and machine.kind in kinds and cpu == self.qemu_cpu
        return fits and cpu_class == self.cpu_class

    def _check_kind(self, where: str) -> None:
        given = self.settings.list_given_keys()
        for key in given:
            fits = self.kind in KINDS_OF_KEY[key]
            limits.require(fits, f"{where}: {key}", self.kind, "a kind that has it")
        if self.kind == "adb":
            named = [key for key in ("serial", "match") if key in given]
            limits.require(len(named) == 1, where, named, "serial or match")
        if self.kind == "ssh":
            limits.require("host" in given, where, "no host", "one")
