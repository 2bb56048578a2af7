"""What a device is: the protocols that every kind implements, and the spec it is made from.

A lease is exclusive use of one machine. A failure of the machine itself is raised as
:class:`~megtrim.libs.util.errors.InfrastructureFailure`; how a program ended is returned as a
value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from megtrim.core.config.device import DeviceSettings, PowerPort
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.util.errors import InfrastructureFailure, ProductFailure
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.value import Value


class Timeouts(Value):
    """Seconds, unless a name says otherwise."""

    call_s: float = 10.0
    heartbeat_s: float = 8.0
    probe_s: float = 8.0
    """Two failures in a row mean that the machine is lost."""
    push_base_s: float = 30.0
    reconnect_s: float = 40.0
    """How long a lost machine may take to come back by itself."""
    boot_s: float = 180.0
    poll_s: float = 1.0
    wait_s: float = 1200.0
    say_every_s: float = 15.0
    slowest_bytes_per_s: float = 1_000_000.0

    def transfer_s(self, size_bytes: int) -> float:
        return self.push_base_s + size_bytes / self.slowest_bytes_per_s


LARGEST_FETCHED_BYTES = 256 * 1024 * 1024
"""Largest file that is fetched from a run: a broken program may write without end."""


def make_too_large_error(name: str, size_bytes: int) -> ProductFailure:
    msg = f"the program left {name} with {size_bytes:,} bytes, expected at most "
    return ProductFailure(f"{msg}{LARGEST_FETCHED_BYTES:,}", hint="does it write without end?")


def utc_now() -> datetime:
    return datetime.now(UTC)


DEFAULT_TIMEOUTS = Timeouts()


class RunDirectory(Protocol):
    """A folder on the device, for one job."""

    def put(self, source: Path, name: str) -> None:
        """Copy a file to the device."""

    def make(self, name: str) -> None:
        """Make an empty folder for the program's outputs."""

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
        cpus: tuple[int, ...] = (),
        stdin: str = "",
        stdout: str = "",
        stderr: str = "",
    ) -> ProgramRun:
        """Run a program that was put here, by its name, in this folder.

        ``on_line`` gets each line as soon as it is printed. ``cpus``: what it may use; empty: all.
        ``stdin``: a file that was put here; empty: nothing. ``stdout`` and
        ``stderr``: new files here that get all bytes that it writes there, which are then not in
        the result; empty: none.
        """

    def cpus(self) -> tuple[int, ...]:
        """Return the CPUs that a program can be bound to; none if it cannot be, or should not."""

    def get(self, name: str) -> bytes | None:
        """Return a file's bytes, or None if there is no such file.

        Raises ProductFailure if it is larger than :data:`LARGEST_FETCHED_BYTES`.
        """

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the sorted paths of all files below a folder, relative to it.

        Raises ProductFailure for what cannot be compared: see :mod:`.written`.
        """


class Lease(Protocol):
    """Exclusive use of one machine, until the block is left."""

    name: str
    kind: str

    def facts(self) -> dict[str, str]:
        """Return what this machine reports about itself, for the report."""

    def open(self) -> AbstractContextManager[RunDirectory]:
        """Give out a run directory."""


class Device(Protocol):
    """Something that runs programs: a machine, or a pool of machines of one class."""

    name: str
    kind: str
    retries: int
    """How often a run may be retried after the machine failed."""

    def identity(self) -> dict[str, str]:
        """Return what enters cache keys: devices that agree here may share results."""

    def facts(self) -> dict[str, str]:
        """Return what is known about it without contacting it."""

    def reserve(self) -> AbstractContextManager[Lease]:
        """Wait until a machine is free and give it out."""


class DeviceSpec(Value):
    name: str
    processes: ProcessRunner
    scratch: Path
    machine: str
    """Architecture of the programs, as ``uname -m`` prints it."""
    qemu_cpu: str
    sysroot: Path | None
    hosted: bool = False
    """This machine is one of GitHub's, new for each job: it is not named in facts."""
    cpu_class: str = ""
    settings: DeviceSettings = field(default_factory=DeviceSettings)
    say: Callable[[str], None] = lambda _text: None
    timeouts: Timeouts = field(default_factory=Timeouts)
    now: Callable[[], datetime] = utc_now
    """The clock for the age of a quarantine."""


class ConnectionState(StrEnum):
    READY = "ready"
    OFFLINE = "offline"
    UNAUTHORIZED = "unauthorized"
    """It waits for a person to confirm on its screen."""
    ABSENT = "not found"


class MachineId(Value):
    """What a machine itself says it is, whatever its addresses; empty text is not known."""

    serial: str = ""
    """Given by its maker, or when it was set up: cheap phones and copied disks share one."""
    boot: str = ""
    """Its boot id, which no two machines share; each reboot makes a new one."""

    def is_same(self, other: MachineId) -> bool:
        """Tell whether both are one machine, as far as is known: a reboot may lie in between."""
        if self.serial != other.serial:
            return False
        known = self.boot and other.boot
        return self.boot == other.boot if known else bool(self.serial)


class NoUsableMachine(InfrastructureFailure):
    """No machine of a pool can be used now, so an immediate retry is pointless."""


class MachineBusy(NoUsableMachine):
    """Another process holds the machine, for longer than we wait."""


class Machine(Protocol):
    name: str
    """Its name in messages; unique even if several machines match one entry."""
    kind: str
    key: str
    """Identifies the machine independently of the configuration, such as ``adb:1A2B``."""
    keys: tuple[str, ...]
    """All that it is known by, one for each of its addresses; ``key`` is the first."""
    identity: MachineId | None
    """What it said when it was found; None if it was not asked."""
    power: PowerPort | None
    trouble: str
    """Why it did not answer last time, and what to do, in one line; empty if unknown."""

    def presence(self) -> ConnectionState:
        """Return how it is attached now. Raises InfrastructureFailure if that is unknown."""

    def alive(self) -> bool:
        """Tell whether it has booted and answers within ``Timeouts.call_s``."""

    def identify(self) -> MachineId:
        """Ask it what it is. Raises InfrastructureFailure if it does not answer."""

    def facts(self) -> dict[str, str]:
        """Return what this machine reports about itself, for the report."""

    def open(self) -> AbstractContextManager[RunDirectory]:
        """Give out a run directory."""

    def clean(self) -> None:
        """Kill stray programs and remove all our files. The machine must be held."""

    def reconnect(self) -> None:
        """Reconnect to it. Raises InfrastructureFailure if that cannot be tried."""

    def reboot(self) -> None:
        """Start a reboot and return at once. Raises InfrastructureFailure if that is impossible."""


Find = Callable[[], Sequence[Machine]]
