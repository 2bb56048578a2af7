"""What a device is: the protocols that every kind keeps, and what is asked of a kind.

A device, which may be a pool of alike machines, gives out leases: one machine, the holder's
alone. A lease gives out run directories, unique to their holder and gone when the holder leaves
them, whatever happened. Failures of the machine itself are raised as
:class:`~megtrim.errors.InfrastructureFailure`; how a program ended is a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from megtrim.config.device import DeviceSettings
from megtrim.devices.timeouts import Timeouts
from megtrim.errors import ProductFailure
from megtrim.load_and_run.exit_status import ProgramRun
from megtrim.process import ProcessRunner

LARGEST_FETCHED_BYTES = 256 * 1024 * 1024
"""Of a file that a program made: nobody knows what a broken one writes."""


def too_large(name: str, size_bytes: int) -> ProductFailure:
    """Return the failure of a program that made a file which is not fetched."""
    msg = f"the program left {name} with {size_bytes:,} bytes, expected at most "
    return ProductFailure(f"{msg}{LARGEST_FETCHED_BYTES:,}", hint="does it write without an end?")


def sort_printable_names(folder: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return names sorted. Raises ProductFailure for one that cannot be printed."""
    found = tuple(sorted(names))
    for name in found:
        if not name.isprintable() or "\N{REPLACEMENT CHARACTER}" in name:
            msg = f"the program left a file in {folder} whose name is no text: {ascii(name)[:200]}"
            raise ProductFailure(msg, hint="is it the name of an output of the model?")
    return found


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
        """Return a file's bytes, or None where there is no such file.

        Raises ProductFailure for one that is too large to be meant.
        """

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the sorted names of the files in a folder that a program made.

        Raises ProductFailure for a name that is no text.
        """


class Lease(Protocol):
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

    def reserve(self) -> AbstractContextManager[Lease]:
        """Wait for our turn and give out a machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSpec:
    """What is asked of a kind to make its device."""

    name: str
    processes: ProcessRunner
    scratch: Path
    machine: str
    """Architecture of the programs, as ``uname -m`` says it."""
    qemu_cpu: str
    sysroot: Path | None
    cpu_class: str = ""
    settings: DeviceSettings = field(default_factory=DeviceSettings)
    say: Callable[[str], None] = lambda _text: None
    """Told of long waits and of attempts to bring a machine back."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    now: Callable[[], datetime] = utc_now
    """The clock that the age of a quarantine is told by."""
