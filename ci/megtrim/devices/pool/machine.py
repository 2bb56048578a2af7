"""One machine of a pool, as the pool needs it: what a kind's file brings, and nothing more.

The pool gives machines out as leases. Waiting for a turn, bringing a machine back and putting
it aside are the pool's; how a machine is reached is its kind's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol, runtime_checkable

from megtrim.config.device import PowerPort
from megtrim.devices.device import RunDirectory
from megtrim.errors import InfrastructureFailure


class ConnectionState(StrEnum):
    """How a machine is attached, told without touching the machine itself."""

    READY = "ready"
    OFFLINE = "offline"
    UNAUTHORIZED = "unauthorized"
    """It waits for a person to tap on its screen."""
    ABSENT = "not found"


class NoUsableMachine(InfrastructureFailure):
    """No machine of a pool can be used now: trying again at once changes nothing."""


class Machine(Protocol):
    """A phone, a board, or something that plays one."""

    name: str
    """As people call it; where several fit one entry of the configuration, each has its own."""
    kind: str
    key: str
    """The machine itself, whatever a configuration calls it, such as ``adb:1A2B``."""
    power: PowerPort | None
    """Where its power can be switched."""

    def presence(self) -> ConnectionState:
        """Look how it is attached now. Raises InfrastructureFailure where nobody can look."""

    def alive(self) -> bool:
        """Tell whether it answers within the time of a small call, and has booted."""

    def facts(self) -> dict[str, str]:
        """What this machine says of itself, for the report."""

    def open(self) -> AbstractContextManager[RunDirectory]:
        """Give out a run directory."""

    def reconnect(self) -> None:
        """Make the way to it anew; raises InfrastructureFailure where that cannot be tried."""

    def reboot(self) -> None:
        """Begin a reboot and return at once; raises InfrastructureFailure where it cannot."""


@runtime_checkable
class HasFailureDetail(Protocol):
    """A machine whose kind knows more of a failure than that there was no answer."""

    trouble: str
    """Why it did not answer when it was last tried, and what to do; empty: nothing is known."""


@runtime_checkable
class SupportsCleanup(Protocol):
    """A machine on which everything that jobs left can be removed at once."""

    def clean(self) -> None:
        """End stray programs and remove all files of ours. The machine must be held."""


Find = Callable[[], Sequence[Machine]]
"""Looks for the machines of an entry of the configuration, each time anew."""
