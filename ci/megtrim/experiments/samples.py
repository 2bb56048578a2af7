"""The times of one process, and what leaves them out."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from enum import StrEnum

from megtrim.experiments.time_stage import TimeStage
from megtrim.util.errors import InputError


class Mark(StrEnum):
    """Why a sample is shown but not counted."""

    THROTTLED = "throttled"
    BUSY = "busy machine"
    LOW_BATTERY = "low battery"
    DAMAGED_LOG = "damaged log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One process of one contestant; all times in milliseconds, above zero."""

    contestant: str
    round_number: int
    position: int
    """Place within the round; the first is 0."""
    prepare_ms: float | None = None
    warm_ups_ms: tuple[float, ...] = ()
    iterations_ms: tuple[float, ...] = ()
    marks: tuple[Mark, ...] = ()

    def __post_init__(self) -> None:
        """Refuse times that no clock gives."""
        prepare = () if self.prepare_ms is None else (self.prepare_ms,)
        for time_ms in (*prepare, *self.warm_ups_ms, *self.iterations_ms):
            if not math.isfinite(time_ms) or time_ms <= 0:
                msg = (
                    f"{self.contestant}, round {self.round_number}: a time is {time_ms} ms; "
                    "expected a finite number above 0"
                )
                raise InputError(msg)

    @property
    def counts(self) -> bool:
        """Whether no mark leaves the sample out."""
        return not self.marks

    def time_ms(self, stage: TimeStage) -> float | None:
        """Return the time of a stage, of iterations their median; None if none was reported."""
        match stage:
            case TimeStage.PREPARE:
                return self.prepare_ms
            case TimeStage.WARM_UP:
                return self.warm_ups_ms[0] if self.warm_ups_ms else None
            case TimeStage.SECOND_WARM_UP:
                return self.warm_ups_ms[1] if len(self.warm_ups_ms) > 1 else None
            case TimeStage.INFERENCE:
                return statistics.median(self.iterations_ms) if self.iterations_ms else None
