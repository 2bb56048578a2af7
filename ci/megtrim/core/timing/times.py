"""Times with their intervals, and their comparison, from a contest to the history of nights.

Times are milliseconds of medians over processes, spreads are shares of the median. A ratio is time
over time of the reference: above 1 is slower.
"""

from collections.abc import Iterable
from enum import StrEnum

from megtrim.core.timing.spec import TimeStage
from megtrim.libs.util.value import Value


class Answer(StrEnum):
    YES = "yes"
    NO = "no"
    INCONCLUSIVE = "inconclusive"


class Reference(StrEnum):
    BASELINE = "baseline"
    """The experiment without options, in the same run: whether an option is worth it."""
    BASE = "base"
    """The same experiment of an earlier program: whether it got slower."""
    PLAIN = "plain"
    """The same experiment of the plain build: what trimming costs."""


class StageTime(Value):
    stage: TimeStage
    median_ms: float
    lower_ms: float
    upper_ms: float | None
    processes: int
    spread: float
    """Between processes, as a share of the median."""
    by_run_length: bool = False

    def __post_init__(self) -> None:
        expect_interval(str(self.stage), self.lower_ms, self.median_ms, self.upper_ms)


def find_compared_time(times: Iterable[StageTime]) -> StageTime | None:
    return next((each for each in times if each.stage.decides), None)


class RatioResult(Value):
    against: Reference
    name: str = ""
    """Of the reference, such as ``main at 1a2b3c4d5e6f``; empty: the kind says it all."""
    stage: TimeStage
    ratio: float
    lower: float
    upper: float | None
    pairs: int
    different: Answer
    exceeds: Answer
    """More than threshold and floor, in either direction."""

    def __post_init__(self) -> None:
        expect_interval(f"against {self.against}", self.lower, self.ratio, self.upper)

    @property
    def regressed(self) -> bool:
        """An option that makes a model slower is a finding about the option, not a regression."""
        between_programs = self.against is not Reference.BASELINE
        return between_programs and self.exceeds is Answer.YES and self.ratio > 1

    @property
    def unproven(self) -> bool:
        return self.exceeds is Answer.INCONCLUSIVE


class SamplesLeftOut(Value):
    reason: str
    count: int


def expect_interval(what: str, lower: float, middle: float, upper: float | None) -> None:
    if not 0 <= lower <= middle or (upper is not None and upper < middle):
        msg = f"{what}: found {middle:g} outside of its interval, expected it inside"
        raise ValueError(msg)


def ratio_with_interval(ratio: RatioResult) -> str:
    ends = (
        f"{ratio.lower:.3f} or more"
        if ratio.upper is None
        else f"{ratio.lower:.3f} to {ratio.upper:.3f}"
    )
    return f"{ratio.ratio:.3f} ({ends})"
