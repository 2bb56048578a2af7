"""What megtrim.yaml says of a device, as frozen values, and which key fits which kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field, StrictBool

from megtrim.core.config.value_types import (
    ConfigSection,
    CpuList,
    FilePath,
    Governor,
    HostName,
    Hub,
    Name,
    PropertyName,
    PropertyValue,
    Serial,
    Toolchains,
    UserName,
    WaitS,
    Whole,
)

Kind = Literal["auto", "local", "qemu", "adb", "ssh", "virtual-phone"]
KINDS: tuple[str, ...] = get_args(Kind)
EMULATED = ("qemu", "virtual-phone")
"""Kinds whose CPU is the class's ``qemu_cpu``."""
HostedRunner = Literal["ubuntu-24.04-arm"]
(HOSTED_RUNNER,) = get_args(HostedRunner)
"""Label of a machine of GitHub's own; workflows allow no other."""

_REMOTE = ("adb", "ssh", "virtual-phone")
KINDS_OF_KEY: Mapping[str, tuple[str, ...]] = {
    "sysroot": ("auto", "qemu", *_REMOTE),
    "serial": ("adb",),
    "match": ("adb",),
    "host": ("ssh",),
    "port": ("ssh",),
    "user": ("ssh",),
    "key": ("ssh",),
    "known_hosts": ("ssh",),
    "power": ("adb", "ssh"),
    "cool_down": _REMOTE,
    "governor": _REMOTE,
    "cpus": _REMOTE,
}
"""The keys that not every kind has, and the kinds that have each."""


class PowerPort(ConfigSection):
    """A port of a USB hub whose power uhubctl can switch."""

    hub: Hub
    """The hub as uhubctl names it, such as 1-1.4."""
    port: Annotated[int, Whole(1, 64)]
    """The hub's port that the device is attached to."""


class CoolDown(ConfigSection):
    """The temperature that a device waits for before a run."""

    below_c: Annotated[float, Field(strict=True, ge=10, le=120)] = Field(alias="below")
    """Temperature in °C of the hottest zone below which a run may begin."""
    within_s: WaitS = Field(default=600.0, alias="within")
    """Longest wait, such as 10 minutes, at most a day; then the run begins and is marked."""


class BoardAccess(ConfigSection):
    """How jobs log in to a board, and where its power is switched."""

    host: HostName = ""
    """ssh: the board's name or address."""
    port: Annotated[int, Whole(1, 65535)] = 22
    """ssh: the port that its sshd listens on."""
    user: UserName = ""
    """ssh: the user who runs programs. Default: ssh's own setting."""
    key: FilePath | None = None
    """ssh: file with the private key; ~ is the home folder. Default: ssh's own setting."""
    known_hosts: FilePath | None = None
    """ssh: file with the board's own key. Default: the user's known_hosts."""
    power: PowerPort | None = None
    """adb, ssh: the port at which its power can be switched off and on, to recover it."""


class DeviceSettings(BoardAccess):
    """How a device is reached and prepared: in megtrim.yaml, in a bundle, and where it is used.

    Empty text, an empty mapping and None mean: not set.
    """

    sysroot: FilePath | None = None
    """Where the loader and the libraries of the build are, on the machine that runs megtrim."""
    serial: Serial = ""
    """adb: the phone's serial, as `adb devices` shows it."""
    match: Annotated[dict[PropertyName, PropertyValue], Field(max_length=32)] = Field(default={})
    """adb: Android properties that the phone must have: PROPERTY: value."""
    cool_down: CoolDown | None = None
    """adb, ssh, virtual-phone: wait for a measured temperature before a run."""
    governor: Governor = ""
    """adb, ssh, virtual-phone: CPU governor for runs, if the device allows it to be set."""
    cpus: CpuList = ""
    """adb, ssh, virtual-phone: CPUs that programs are bound to, such as 4-7."""

    def list_given_keys(self) -> tuple[str, ...]:
        return tuple(self.model_dump(exclude_defaults=True))

    def paths(self) -> dict[str, Path]:
        return {key: value for key, value in self if isinstance(value, Path)}

    def resolve_paths(self, resolve: Callable[[Path], Path]) -> DeviceSettings:
        found = {key: resolve(path) for key, path in self.paths().items()}
        return self.model_copy(update=found)


PATH_KEYS = tuple(
    key for key, field in DeviceSettings.model_fields.items() if field.annotation == FilePath | None
)


def is_on_runner(path: str) -> bool:
    """Tell whether a runner, which has no checkout, can find a path: ``/...`` or ``~/...``."""
    return path.startswith(("/", "~/")) and ".." not in path.split("/")


class _DeviceEntry(ConfigSection):
    """What a device is, and where."""

    name: Name
    kind: Kind = "auto"
    """local: this machine. qemu: emulated arm64. auto: local if this machine can run the build,
    otherwise qemu. adb: a phone. ssh: a Linux board. virtual-phone: an emulated phone with a real
    adb daemon."""
    class_: Name = Field(alias="class")
    """CPU class that this device represents."""
    runner: StrictBool = False
    """true: the device is attached to a runner with the labels self-hosted, megtrim and its class,
    or it is GitHub's own machine that its class names."""


class DeviceConfig(DeviceSettings, _DeviceEntry):
    """Something that runs the program. Several phones, or boards, of one class are a pool."""

    toolchains: Toolchains = ()
    """Toolchains that it applies to. Default: all."""

    @property
    def settings(self) -> DeviceSettings:
        values = {key: getattr(self, key) for key in DeviceSettings.model_fields}
        return DeviceSettings.model_construct(**values)
