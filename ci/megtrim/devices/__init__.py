"""Where programs run: one file per kind behind :class:`Device`, one line each in ``KINDS``.

A device gives out run directories. A run directory is unique to its holder, and gone when the
holder leaves it, whatever happened. Failures of the device itself are raised as
:class:`~megtrim.errors.InfrastructureFailure`; how a program ended is a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from megtrim.devices import local, qemu
from megtrim.loadrun.outcome import ProgramRun
from megtrim.process import Processes


class RunDirectory(Protocol):
    """A folder on the device, for one job."""

    def put(self, source: Path, name: str) -> None:
        """Bring a file to the device."""

    def make(self, name: str) -> None:
        """Make an empty folder for what a program writes."""

    def run(
        self, argv: Sequence[str], *, timeout_s: float, env: Mapping[str, str] | None = None
    ) -> ProgramRun:
        """Run a program that was put there, by its name, in this folder."""

    def get(self, name: str) -> bytes | None:
        """Return a file's bytes, or None where there is no such file."""

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the sorted names of the files in a folder that a program made."""


class Device(Protocol):
    """Something that runs programs."""

    name: str
    kind: str

    def identity(self) -> dict[str, str]:
        """What of this device enters a key: two that agree here may share results."""

    def facts(self) -> dict[str, str]:
        """What is known of it, for the report."""

    def open(self) -> AbstractContextManager[RunDirectory]:
        """Give out a run directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceOrder:
    """What is asked of a kind to make its device."""

    name: str
    processes: Processes
    scratch: Path
    machine: str
    """Architecture of the programs, as ``uname -m`` says it."""
    qemu_cpu: str
    sysroot: Path | None


KINDS: Mapping[str, Callable[[DeviceOrder], Device]] = {
    "local": lambda order: local.Local(order.name, order.processes, order.scratch),
    "qemu": lambda order: qemu.find(
        order.name,
        order.processes,
        order.scratch,
        machine=order.machine,
        cpu=order.qemu_cpu,
        sysroot=order.sysroot,
    ),
}


def make(kind: str, order: DeviceOrder, *, native: str) -> Device:
    """Return a device of that kind; ``auto`` runs natively where it can, else emulates."""
    if kind == "auto":
        kind = "local" if order.machine == native else "qemu"
    return KINDS[kind](order)
