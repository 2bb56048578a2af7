"""One machine of a pool: the protocol that a kind of device implements for its pool.

The pool gives machines out as leases. Waiting, recovery and quarantine are the pool's job; how a
machine is reached is the kind's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol

from megtrim.config.device import PowerPort
from megtrim.devices.device import RunDirectory
from megtrim.util.errors import InfrastructureFailure
from megtrim.util.value import Value


class ConnectionState(StrEnum):
    """How a machine is attached, as far as the host knows without contacting it."""

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
