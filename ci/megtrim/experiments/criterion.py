"""What counts as a change of a time. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """What counts as a change: a share such as 0.01, and a floor in milliseconds."""

    threshold: float = 0.01
    floor_ms: float = 0.0
    other_load: float = 1.0
    """Share of all CPUs' time above which other programs disturb a time; 1: never."""

    def __post_init__(self) -> None:
        """Refuse what would call everything, or nothing, a change."""
        if not 0 < self.threshold < 1 or not 0 <= self.floor_ms < math.inf:
            msg = f"no criterion: {self.threshold=}, {self.floor_ms=}"
            raise ValueError(msg)
        if not 0 < self.other_load <= 1:
            msg = f"no criterion: {self.other_load=}"
            raise ValueError(msg)
