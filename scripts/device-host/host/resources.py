"""The resources of a device host, as values: each lists the facts that must hold.

Pure: nothing here reads or changes a machine. Actual facts have the same form as desired ones,
texts by name; a resource that does not exist has None.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

Facts = Mapping[str, str]
CONTENT = "content"
"""The only fact whose difference is shown line by line."""


class Touches(StrEnum):
    """The service that must be notified of a changed file."""

    SYSTEMD = "systemd"
    UDEV = "udev"
    ADB_SERVER = "adb server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A Debian package."""

    name: str

    def facts(self) -> Facts:
        return {"state": "installed"}

    def __str__(self) -> str:
        return f"package {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A system user who cannot log in, with a group of its own name."""

    name: str
    home: Path

    def facts(self) -> Facts:
        return {
            "home": str(self.home),
            "shell": "/usr/sbin/nologin",
            "password": "locked",
            "groups with power": "none",
        }

    def __str__(self) -> str:
        return f"user {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder; its contents are managed elsewhere."""

    path: Path
    owner: str = "root"
    group: str = "root"
    mode: str = "0755"

    def facts(self) -> Facts:
        return {"owner": self.owner, "group": self.group, "mode": self.mode}

    def __str__(self) -> str:
        return f"folder {self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file that root owns and others read."""

    path: Path
    content: str
    mode: str = "0644"
    touches: tuple[Touches, ...] = ()

    def facts(self) -> Facts:
        return {"owner": "root", "group": "root", "mode": self.mode, CONTENT: self.content}

    def __str__(self) -> str:
        return f"file {self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """GitHub's runner, unpacked from an archive of that digest; each job gets a copy."""

    path: Path
    archive: Path
    sha256: str

    def facts(self) -> Facts:
        return {"unpacked from": self.sha256}

    def __str__(self) -> str:
        return f"runner {self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """The host's own megtrim, which the jobs' user can start."""

    megtrim: Path
    user: str
    script: Path
    cache: Path

    def facts(self) -> Facts:
        return {f"starts as {self.user}": "yes"}

    def __str__(self) -> str:
        return f"program {self.megtrim}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit that starts with the machine and, if systemd runs, is running now."""

    name: str
    running: bool
    at_boot: bool = True

    def facts(self) -> Facts:
        now = {"now": "active"} if self.running else {}
        return {"at boot": "enabled", **now} if self.at_boot else {"at boot": "disabled"}

    def __str__(self) -> str:
        return f"unit {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdbServer:
    """The server that answers on adb's port is of the same version as the one adb."""

    adb: Path

    def facts(self) -> Facts:
        return {"answers as": "the version of its client"}

    def __str__(self) -> str:
        return "adb server on port 5037"


@dataclass(frozen=True, slots=True, kw_only=True)
class Old:
    """A folder of ours that is not needed any more."""

    path: Path

    def facts(self) -> Facts:
        return {}

    def __str__(self) -> str:
        return f"old folder {self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prerequisite:
    """Something that only a person can provide or fix."""

    path: Path
    desired: tuple[tuple[str, str], ...] = field(default=())
    hint: str

    def facts(self) -> Facts:
        return dict(self.desired)

    def __str__(self) -> str:
        return f"{self.path}"


Resource = Package | User | Folder | File | Runner | Kit | Unit | AdbServer | Old | Prerequisite


def differences(resource: Resource, actual: Facts | None) -> tuple[str, ...]:
    """Return the differences, one line each; empty if there are none."""
    desired = resource.facts()
    if isinstance(resource, Old):
        return () if actual is None else ("not needed any more",)
    if actual is None:
        return ("missing",)
    lines: list[str] = []
    for name, value in desired.items():
        found = actual.get(name, "")
        if found == value:
            continue
        if name == CONTENT:
            lines += ["content differs", *_by_line(found, value)]
        else:
            lines.append(f"{name}: found {found or 'nothing'}, expected {value}")
    return tuple(lines)


def _by_line(found: str, desired: str) -> list[str]:
    compared = difflib.unified_diff(found.splitlines(), desired.splitlines(), lineterm="", n=0)
    return [line for line in compared if not line.startswith(("---", "+++", "@@"))]
