"""How long this room waits for anything: one value, so that a test can scale all of it.

The defaults notice a dead or frozen machine within 30 s, and outlive a link that is lost
for as long.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds, unless a name says otherwise."""

    call_s: float = 10.0
    """Any small call: an echo, a listing, an entry, a clean-up."""
    heartbeat_s: float = 8.0
    """Pause between two probes while a program runs."""
    probe_s: float = 8.0
    """What a probe may take; two in a row that fail are a lost machine."""
    push_base_s: float = 30.0
    """What any transfer may take, whatever its size."""
    reconnect_s: float = 40.0
    """How long a lost machine may take to come back by itself."""
    boot_s: float = 180.0
    """How long a machine may take to boot."""
    poll_s: float = 1.0
    """Pause between two looks at a machine that is to come back or to cool down."""
    say_every_s: float = 15.0
    """Pause between two words about a wait."""
    slowest_bytes_per_s: float = 1_000_000.0
    """Bytes a second of the slowest link that is waited for."""

    def transfer_s(self, size_bytes: int) -> float:
        """Return what moving so many bytes may take."""
        return self.push_base_s + size_bytes / self.slowest_bytes_per_s

    def scale(self, factor: float) -> Timeouts:
        """Return it with every time multiplied, for tests that cannot wait so long."""
        times = {
            each.name: getattr(self, each.name) * factor
            for each in fields(self)
            if each.name.endswith("_s") and each.name != "slowest_bytes_per_s"
        }
        return Timeouts(**times, slowest_bytes_per_s=self.slowest_bytes_per_s)
