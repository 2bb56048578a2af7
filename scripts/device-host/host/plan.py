"""From desired and actual state to what has to be done, in order. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from host.resources import (
    AdbServer,
    Facts,
    File,
    Prerequisite,
    Resource,
    Touches,
    Unit,
    differences,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that is not as it should be, and how it differs."""

    resource: Resource
    lines: tuple[str, ...]

    @property
    def by_a_person(self) -> bool:
        """Tell whether no program can make it right."""
        return isinstance(self.resource, Prerequisite)

    def __str__(self) -> str:
        return "\n      ".join((f"{self.resource}: {self.lines[0]}", *self.lines[1:]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Changes to make, then commands that notify systemd and udev, then changes to units."""

    files: tuple[Change, ...]
    tell: tuple[tuple[str, ...], ...]
    units: tuple[Change, ...]

    @property
    def changes(self) -> tuple[Change, ...]:
        return (*self.files, *self.units)


_TELL: dict[Touches, tuple[tuple[str, ...], ...]] = {
    Touches.SYSTEMD: (("systemctl", "daemon-reload"),),
    Touches.UDEV: (
        ("udevadm", "control", "--reload"),
        ("udevadm", "trigger", "--subsystem-match=usb", "--action=change"),
        ("udevadm", "settle", "--timeout=30"),
    ),
    Touches.ADB_SERVER: (("systemctl", "try-restart", "megtrim-adb.service"),),
}


def plan(
    actual: Sequence[tuple[Resource, Facts | None]], *, listeners: Collection[Touches]
) -> Plan:
    """Return what to do. ``listeners``: services that run here and must be notified."""
    compared = [(resource, differences(resource, facts)) for resource, facts in actual]
    changes = [Change(resource=resource, lines=lines) for resource, lines in compared if lines]
    late = tuple(change for change in changes if isinstance(change.resource, Unit | AdbServer))
    early = tuple(change for change in changes if not isinstance(change.resource, Unit | AdbServer))
    touched = {
        touch
        for change in early
        if isinstance(change.resource, File)
        for touch in change.resource.touches
    }
    tell = tuple(
        argv
        for touch in Touches
        if touch in touched and touch in listeners
        for argv in _TELL[touch]
    )
    return Plan(files=early, tell=tell, units=late)
