"""From what is wanted and what was seen to what has to be done, in order. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from host.items import AdbServer, Facts, File, Given, Item, Touches, Unit, differences


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that is not as it should be, and how it differs."""

    item: Item
    lines: tuple[str, ...]

    @property
    def by_a_person(self) -> bool:
        """Tell whether no program can make it right."""
        return isinstance(self.item, Given)

    def __str__(self) -> str:
        return "\n      ".join((f"{self.item}: {self.lines[0]}", *self.lines[1:]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Changes to make, then commands that tell systemd and udev, then changes to units."""

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


def plan(seen: Sequence[tuple[Item, Facts | None]], *, hears: Collection[Touches]) -> Plan:
    """Return what to do. ``hears``: who runs on this machine, and so has to be told."""
    compared = [(item, differences(item, facts)) for item, facts in seen]
    changes = [Change(item=item, lines=lines) for item, lines in compared if lines]
    late = tuple(change for change in changes if isinstance(change.item, Unit | AdbServer))
    early = tuple(change for change in changes if not isinstance(change.item, Unit | AdbServer))
    touched = {
        touch for change in early if isinstance(change.item, File) for touch in change.item.touches
    }
    tell = tuple(
        argv for touch in Touches if touch in touched and touch in hears for argv in _TELL[touch]
    )
    return Plan(files=early, tell=tell, units=late)
