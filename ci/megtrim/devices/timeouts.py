"""All timeouts of this room, in one value, so that a test can scale them together.

With the defaults, a dead or frozen machine is noticed within 30 s, and a connection may be lost
for as long.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds, unless a name says otherwise."""

    call_s: float = 10.0
    """Any small call: an echo, a listing, a set-up, a clean-up."""
    heartbeat_s: float = 8.0
    """Pause between two probes while a program runs."""
    probe_s: float = 8.0
    """Limit of one probe; two failures in a row mean that the machine is lost."""
    push_base_s: float = 30.0
    """What is added to the limit of any transfer, whatever its size."""
    reconnect_s: float = 40.0
    """How long a lost machine may take to come back by itself."""
    boot_s: float = 180.0
    """How long a machine may take to boot."""
    poll_s: float = 1.0
    """Pause between two checks of a machine that is recovering or cooling down."""
    wait_s: float = 1200.0
    """How long to wait for a machine that another job holds."""
    say_every_s: float = 15.0
    """Pause between two messages about a wait."""
    slowest_bytes_per_s: float = 1_000_000.0
    """Bytes per second of the slowest connection that is supported."""

    def transfer_s(self, size_bytes: int) -> float:
        """Return the limit for transferring that many bytes, in seconds."""
        return self.push_base_s + size_bytes / self.slowest_bytes_per_s

    def scale(self, factor: float) -> Timeouts:
        """Return a copy with every time multiplied, for tests that cannot wait so long."""
        times = {
            each.name: getattr(self, each.name) * factor
            for each in fields(self)
            if each.name.endswith("_s") and each.name != "slowest_bytes_per_s"
        }
        return Timeouts(**times, slowest_bytes_per_s=self.slowest_bytes_per_s)
