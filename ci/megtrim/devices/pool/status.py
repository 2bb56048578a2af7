"""The status of a machine (free, held, in quarantine, out of reach), why, and its text. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from megtrim.devices.pool.leases import Holder
from megtrim.devices.pool.machine import ConnectionState, Machine
from megtrim.devices.pool.quarantine import Quarantine

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400


class MachineState(StrEnum):
    """A machine's status in one word, the most important first."""

    DAMAGED = "unknown"
    """Its record cannot be read."""
    QUARANTINED = "quarantined"
    UNAUTHORIZED = "unauthorized"
    OFFLINE = "offline"
    ABSENT = "not found"
    HELD = "held"
    FREE = "free"


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineStatus:
    """One machine, or an entry that no attached machine matches."""

    entry: str
    """The name in the configuration, or how the machine was found."""
    name: str
    kind: str
    key: str
    """Empty if no machine matches."""
    machine: Machine | None
    presence: ConnectionState
    detail: str = ""
    """What is wrong with the record, or why the machine could not be looked up."""
    quarantine: Quarantine | None = None
    holder: Holder | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """All that the machine is known by."""
        return (self.key,) if self.machine is None else self.machine.keys

    @property
    def state(self) -> MachineState:
        """The most important of what is known about it."""
        if self.key and self.detail:
            return MachineState.DAMAGED
        if self.quarantine is not None:
            return MachineState.QUARANTINED
        match self.presence:
            case ConnectionState.UNAUTHORIZED:
                return MachineState.UNAUTHORIZED
            case ConnectionState.OFFLINE:
                return MachineState.OFFLINE
            case ConnectionState.ABSENT:
                return MachineState.ABSENT
            case ConnectionState.READY:
                return MachineState.HELD if self.holder else MachineState.FREE

    def text(self, now: datetime) -> str:
        """Return its state, and why, as one line."""
        parts = [self.detail] if self.detail else []
        if self.quarantine is not None:
            put = self.quarantine
            since = f"{put.since:%Y-%m-%d %H:%M} UTC ({age(now - put.since)})"
            parts.append(f"since {since} by {_by(put)} because {put.reason}")
        if self.holder is not None:
            parts.append(f"held by {self.holder} since {self.holder.since:%H:%M:%S} UTC")
        if self.state is MachineState.HELD:
            parts[0] = parts[0].removeprefix("held ")
        return f"{self.state}: {', '.join(parts)}" if parts else str(self.state)


def _by(put: Quarantine) -> str:
    return "a person" if put.by == "person" else "megtrim"


def age(lasted: timedelta) -> str:
    """Return a duration in the largest unit that fits, such as ``2 days``."""
    seconds = max(0, int(lasted.total_seconds()))
    for unit_s, unit in ((_DAY_S, "day"), (_HOUR_S, "h"), (_MINUTE_S, "min")):
        if seconds >= unit_s:
            count = seconds // unit_s
            plural = "s" if unit == "day" and count > 1 else ""
            return f"{count} {unit}{plural}"
    return f"{seconds} s"
