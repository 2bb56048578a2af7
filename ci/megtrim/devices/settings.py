"""What a team says of one of its devices, beyond its name, kind and class. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerPort:
    """A port of a USB hub that can switch its power, as ``uhubctl`` names it."""

    hub: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CoolDown:
    """Before a run: wait until the hottest zone is below this, at most so long."""

    below_c: float
    within_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSettings:
    """Empty text, empty tuple and None mean: not said."""

    serial: str = ""
    """As ``adb devices`` shows it."""
    match: tuple[tuple[str, str], ...] = ()
    """Android properties and their values, all of which a phone must have."""
    host: str = ""
    port: int = 22
    user: str = ""
    key: Path | None = None
    """Private key for the board."""
    known_hosts: Path | None = None
    """Where the board's own key stands; left out: the user's."""
    power: PowerPort | None = None
    cool_down: CoolDown | None = None
    governor: str = ""
    """CPU frequency governor for runs, where the device lets us set it."""
    cpus: str = ""
    """CPUs that programs are pinned to, such as ``4-7``."""
