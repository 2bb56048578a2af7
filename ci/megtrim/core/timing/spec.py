"""How long programs are timed, which difference counts, and how a row of times may end. Pure."""

import math
from enum import StrEnum

from megtrim.libs.util.value import Value

LOOKS = (12, 16, 24, 40)
"""Numbers of pairs after which a comparison is looked at; each look costs the last one power."""
FEWEST_ROUNDS = LOOKS[0]
MOST_ROUNDS = 400
SEARCH_ROUNDS = 8
"""Where each process searches: seven pairs must all agree, of eight one may disagree a little."""


class TimeStage(StrEnum):
    PREPARE = "prepare"
    """From the loaded model to the first run (配置)."""
    WARM_UP = "warm-up"
    """The first run that does not count (预热)."""
    SECOND_WARM_UP = "second-warm-up"
    """The first that computes, where the first warm-up of all is a fake one."""
    INFERENCE = "inference"
    """One iteration (推理)."""
    WHOLE_RUN = "whole-run"
    """A command's process, from its start to its end."""

    @classmethod
    def find_compared(cls, *, whole: bool) -> "TimeStage":
        """Return the stage that is compared; ``whole``: of a command."""
        return cls.WHOLE_RUN if whole else cls.INFERENCE

    @property
    def decides(self) -> bool:
        """Whether its times are compared: each row has one such stage."""
        return self in (self.INFERENCE, self.WHOLE_RUN)

    @property
    def label(self) -> str:
        """Return its name in texts."""
        return "whole run" if self is self.WHOLE_RUN else str(self)


class PerformanceStatus(StrEnum):
    """How a row ended; a contest alone is measured, has failed, or has wrong outputs."""

    MEASURED = "measured"
    SKIPPED = "skipped"
    FAILED = "failed"
    INFRASTRUCTURE = "infrastructure"
    INCONCLUSIVE = "inconclusive"
    REGRESSED = "regressed"
    WRONG_OUTPUTS = "wrong-outputs"

    @property
    def has_times(self) -> bool:
        return self in (self.MEASURED, self.INCONCLUSIVE, self.REGRESSED)


class Criterion(Value):
    """What counts as a change: a share such as 0.01, and a floor in milliseconds."""

    threshold: float = 0.01
    floor_ms: float = 0.0
    other_load: float = 1.0
    """Share of all CPUs' time above which other programs disturb a time; 1: never."""

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1 or not 0 <= self.floor_ms < math.inf:
            msg = f"no criterion: {self.threshold=}, {self.floor_ms=}"
            raise ValueError(msg)
        if not 0 < self.other_load <= 1:
            msg = f"no criterion: {self.other_load=}"
            raise ValueError(msg)


class ContestBudget(Value):
    rounds: int = LOOKS[-1]
    limit_s: float | None = None

    def __post_init__(self) -> None:
        if not SEARCH_ROUNDS <= self.rounds <= MOST_ROUNDS:
            msg = f"found {self.rounds} rounds, expected {SEARCH_ROUNDS} to {MOST_ROUNDS}"
            raise ValueError(msg)
        if self.limit_s is not None and not self.limit_s > 0:
            msg = f"found a budget of {self.limit_s} s, expected more than 0"
            raise ValueError(msg)
