"""What a device is: the protocols that every kind keeps, and what is asked of a kind.

A device, which may be a pool of alike machines, gives out seats: one machine, the holder's
alone. A seat gives out run directories, unique to their holder and gone when the holder leaves
them, whatever happened. Failures of the machine itself are raised as
:class:`~megtrim.errors.InfrastructureFailure`; how a program ended is a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from megtrim.devices.patience import Patience
from megtrim.devices.settings import DeviceSettings
from megtrim.loadrun.outcome import ProgramRun
from megtrim.process import Processes


def utc_now() -> datetime:
    """Read the clock."""
    return datetime.now(UTC)


class RunDirectory(Protocol):
    """A folder on the device, for one job."""

    def put(self, source: Path, name: str) -> None:
        """Bring a file to the device."""

    def make(self, name: str) -> None:
        """Make an empty folder for what a program writes."""

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
    ) -> ProgramRun:
        """Run a program that was put there, by its name, in this folder.

        ``on_line`` is told each line that it prints, as it comes.
        """

    def get(self, name: str) -> bytes | None:
        """Return a file's bytes, or None where there is no such file."""

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the sorted names of the files in a folder that a program made."""


class Seat(Protocol):
    """One machine, ours alone until we leave it."""

    name: str
    kind: str

    def facts(self) -> dict[str, str]:
        """What this machine says of itself, for the report."""

    def open(self) -> AbstractContextManager[RunDirectory]:
        """Give out a run directory."""


class Device(Protocol):
    """Something that runs programs: a machine, or a pool of machines of one class."""

    name: str
    kind: str
    retries: int
    """How often a run may be tried again after the machine failed."""

    def identity(self) -> dict[str, str]:
        """What of this device enters a key: two that agree here may share results."""

    def facts(self) -> dict[str, str]:
        """What is known of it without touching it."""

    def reserve(self) -> AbstractContextManager[Seat]:
        """Wait for our turn and give out a machine."""


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
    cpu_class: str = ""
    settings: DeviceSettings = field(default_factory=DeviceSettings)
    say: Callable[[str], None] = lambda _text: None
    """Told of long waits and of attempts to bring a machine back."""
    patience: Patience = field(default_factory=Patience)
    now: Callable[[], datetime] = utc_now
    """The clock that the age of a quarantine is told by."""
