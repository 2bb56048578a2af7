"""A device as a bundle tells of it: what a runner must know to reach it, each with its limits.

Pure; part of the evidence room. The text comes from another machine and ends up on command lines,
so it is held to the grammar that the configuration has, whatever wrote it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from megtrim.config import value_types
from megtrim.config.device import KINDS_OF_KEY
from megtrim.evidence import validation
from megtrim.verdict.model import DeviceIdentity

_CPU = re.compile(r"[A-Za-z0-9][A-Za-z0-9._,=-]{0,199}")
_MOST_PROPERTIES = 32
_LONGEST_SHORT = 200
_MOST_PORTS = 64
_LONGEST_WAIT_S = 86_400.0
_PATTERNS = {
    "serial": (value_types.SERIAL_PATTERN, value_types.SERIAL_EXPECTED),
    "host": (value_types.HOST_PATTERN, value_types.HOST_EXPECTED),
    "user": (value_types.USER_PATTERN, value_types.USER_EXPECTED),
    "governor": (value_types.GOVERNOR_PATTERN, value_types.GOVERNOR_EXPECTED),
    "cpus": (value_types.CPUS_PATTERN, value_types.CPUS_EXPECTED),
}
_PATHS = ("key", "known_hosts", "sysroot")


@dataclass(frozen=True, slots=True, kw_only=True)
class BundlePower:
    """A port of a USB hub whose power can be switched."""

    hub: str
    port: int

    def __post_init__(self) -> None:
        _check_short("power: hub", self.hub, value_types.HUB_PATTERN, value_types.HUB_EXPECTED)
        fits = 1 <= self.port <= _MOST_PORTS
        validation.require(fits, "power: port", self.port, f"1 to {_MOST_PORTS}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleCoolDown:
    """What is waited for before a run: °C, and seconds at most."""

    below_c: float
    within_s: float

    def __post_init__(self) -> None:
        validation.require(
            10 <= self.below_c <= 120, "cool_down: below_c", self.below_c, "10 to 120"
        )
        fits = 0 < self.within_s <= _LONGEST_WAIT_S
        validation.require(fits, "cool_down: within_s", self.within_s, "up to a day of seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleSettings:
    """What the configuration says of a device beside its name, kind and class.

    Empty text, empty tuple and None mean: not said.
    """

    sysroot: str = ""
    serial: str = ""
    match: tuple[tuple[str, str], ...] = ()
    """Android properties and their values."""
    host: str = ""
    port: int = 22
    user: str = ""
    key: str = ""
    """Path on the runner; ``~/`` is the home folder there."""
    known_hosts: str = ""
    power: BundlePower | None = None
    cool_down: BundleCoolDown | None = None
    governor: str = ""
    cpus: str = ""

    def __post_init__(self) -> None:
        for name, (pattern, expected) in _PATTERNS.items():
            if value := getattr(self, name):
                _check_short(name, value, pattern, expected)
        for name in _PATHS:
            _check_path(name, getattr(self, name))
        validation.require(1 <= self.port <= 65535, "port", self.port, "1 to 65535")
        validation.check_count("match", self.match, _MOST_PROPERTIES)
        validation.check_unique("match", [label for label, _ in self.match])
        for label, value in self.match:
            _check_short(
                "match", label, value_types.PROPERTY_PATTERN, value_types.PROPERTY_EXPECTED
            )
            validation.check_line(f"match: {label}", value)
            fits = 0 < len(value) <= _LONGEST_SHORT
            validation.require(fits, f"match: {label}", value, value_types.VALUE_EXPECTED)

    def list_given_keys(self) -> tuple[str, ...]:
        """Return the keys of the configuration that something is said by."""
        nothing = BundleSettings()
        return tuple(key for key in KINDS_OF_KEY if getattr(self, key) != getattr(nothing, key))


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleDevice:
    """A device of the configuration that stands for a CPU class."""

    name: str
    kind: str
    cpu_class: Annotated[str, Field(alias="class")]
    qemu_cpu: str
    """CPU that an emulator plays for the class."""
    runner: bool
    """Whether it hangs on a self-hosted runner."""
    settings: BundleSettings = field(default_factory=BundleSettings)

    def __post_init__(self) -> None:
        validation.check_name("device", self.name)
        validation.check_name(f"device {self.name}: kind", self.kind)
        validation.check_name(f"device {self.name}: class", self.cpu_class)
        fits = _CPU.fullmatch(self.qemu_cpu) is not None
        validation.require(fits, f"device {self.name}: qemu_cpu", self.qemu_cpu, "a CPU's name")
        self._check_settings()

    def is_machine(self, cpu_class: str, machine: DeviceIdentity) -> bool:
        """Tell whether a machine of that class is this device, or one that its entry fits.

        An emulator is one as well, with the CPU that is asked for.
        """
        named = machine.name == self.name or machine.name.startswith(f"{self.name}.")
        kinds = ("local", "qemu") if self.kind == "auto" else (self.kind,)
        cpu = machine.facts.get("cpu", self.qemu_cpu) if machine.kind == "qemu" else self.qemu_cpu
        fits = named and machine.kind in kinds and cpu == self.qemu_cpu
        return fits and cpu_class == self.cpu_class

    def _check_settings(self) -> None:
        said = self.settings.list_given_keys()
        for key in said:
            fits = self.kind in KINDS_OF_KEY[key]
            validation.require(fits, f"device {self.name}: {key}", self.kind, "a kind that has it")
        if self.kind == "adb":
            named = [key for key in ("serial", "match") if key in said]
            validation.require(len(named) == 1, f"device {self.name}", named, "serial or match")
        if self.kind == "ssh":
            validation.require("host" in said, f"device {self.name}", "no host", "one")


def _check_short(where: str, value: str, pattern: str, expected: str) -> None:
    # Not only to its end: a newline there would pass for it.
    fits = len(value) <= _LONGEST_SHORT and re.fullmatch(pattern.strip("^$"), value) is not None
    validation.require(fits, where, value, expected)


def _check_path(where: str, value: str) -> None:
    validation.check_line(where, value)
    fits = not value or (value.startswith(("/", "~/")) and ".." not in value.split("/"))
    validation.require(fits, where, value, "a path of the runner: /... or ~/...")
