"""A contest: two contestants of one scenario on one machine, in interleaved pairs of processes.

Names of files are equally long on both sides: a command line's length moves the stack. Pure.
"""

import hashlib
import math
import statistics
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from pathlib import PurePath

from megtrim.core.own_program import name_model_file
from megtrim.core.timing.spec import LOOKS, ContestBudget, Criterion, PerformanceStatus, TimeStage
from megtrim.libs.programs.parity import EXACT, Tolerance
from megtrim.libs.util.environment import Variables
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value
from megtrim.times.experiments.commands import StepCommand, StepFiles

_SEED_BYTES = 4
_IN_PLACE = ("--cpu-default", "--multithread-default")
METHOD = 2
"""Version of the way megtrim measures: times of two versions are not compared."""


_ALPHA = 0.02
"""Error rate of all looks together."""


MOST_RUNS = 10
"""Of a short command, for one sample."""


class Mark(StrEnum):
    THROTTLED = "throttled"
    BUSY = "busy machine"
    LOW_BATTERY = "low battery"
    DAMAGED_LOG = "damaged log"


class Sample(Value):
    """What one contestant did in its turn; all times in milliseconds, above zero."""

    contestant: str
    round_number: int
    position: int
    prepare_ms: float | None = None
    warm_ups_ms: tuple[float, ...] = ()
    iterations_ms: tuple[float, ...] = ()
    runs_ms: tuple[float, ...] = ()
    """Of a command: its whole runs, one after the other, each a process of its own."""
    marks: tuple[Mark, ...] = ()

    def __post_init__(self) -> None:
        prepare = () if self.prepare_ms is None else (self.prepare_ms,)
        for time_ms in (*prepare, *self.warm_ups_ms, *self.iterations_ms, *self.runs_ms):
            if not math.isfinite(time_ms) or time_ms <= 0:
                msg = (
                    f"{self.contestant}, round {self.round_number}: a time is {time_ms} ms; "
                    "expected a finite number above 0"
                )
                raise InputError(msg)

    @property
    def counts(self) -> bool:
        return not self.marks

    @property
    def processes(self) -> int:
        return max(1, len(self.runs_ms))

    def time_ms(self, stage: TimeStage) -> float | None:
        match stage:
            case TimeStage.PREPARE:
                return self.prepare_ms
            case TimeStage.WARM_UP:
                return self.warm_ups_ms[0] if self.warm_ups_ms else None
            case TimeStage.SECOND_WARM_UP:
                return self.warm_ups_ms[1] if len(self.warm_ups_ms) > 1 else None
            case TimeStage.INFERENCE:
                return statistics.median(self.iterations_ms) if self.iterations_ms else None
            case TimeStage.WHOLE_RUN:
                # A phone's clock has steps of 10 ms: their mean knows more than their median.
                return statistics.fmean(self.runs_ms) if self.runs_ms else None


class SamplingPlan(Value):
    looks: tuple[int, ...] = LOOKS

    def __post_init__(self) -> None:
        if not self.looks or self.looks[0] < 1 or list(self.looks) != sorted(set(self.looks)):
            msg = f"looks must increase from at least 1, not {self.looks}"
            raise ValueError(msg)

    def level(self, look: int) -> float:
        return _levels(self.looks)[look]


@cache
def _levels(looks: tuple[int, ...]) -> tuple[float, ...]:
    """Solve for the levels that spend alpha as O'Brien and Fleming do (Lan and DeMets).

    Statistics of two looks at n and m pairs, n below m, correlate by the root of n / m.
    """
    import numpy as np
    import scipy

    pairs = np.asarray(looks, dtype=float)
    correlation = np.sqrt(np.minimum.outer(pairs, pairs) / np.maximum.outer(pairs, pairs))
    quantile = scipy.stats.norm.isf(_ALPHA / 2)
    spent = 2 * scipy.stats.norm.sf(quantile / np.sqrt(pairs / pairs[-1]))
    bounds: list[float] = []
    for look, goal in enumerate(spent):
        covariance = correlation[: look + 1, : look + 1]

        def excess(bound: float, covariance: np.ndarray = covariance, goal: float = goal) -> float:
            box = np.array([*bounds, bound])
            normal = scipy.stats.multivariate_normal(cov=covariance, seed=1)
            return float(1 - normal.cdf(box, lower_limit=-box) - goal)

        bounds.append(float(scipy.optimize.brentq(excess, 1.0, 9.0, xtol=1e-4)))
    return tuple(float(2 * scipy.stats.norm.sf(bound)) for bound in bounds)


def plan_looks(budget: ContestBudget) -> SamplingPlan:
    looks = (*(look for look in LOOKS if look < budget.rounds), budget.rounds)
    return SamplingPlan(looks=looks)


class Side(StrEnum):
    REFERENCE = "a"
    RIVAL = "b"


class Contestant(Value):
    name: str
    commands: tuple[StepCommand, ...] = ()
    """None: its program runs the scenario's own command, whole."""

    def __post_init__(self) -> None:
        measured = [command.step.measured for command in self.commands]
        if measured and measured != [False] * (len(measured) - 1) + [True]:
            msg = f"{self.name}: the last step is measured, and no other"
            raise ValueError(msg)

    @property
    def searches(self) -> bool:
        return any(command.step.searches for command in self.commands[-1:])


class Contest(Value):
    reference: Contestant
    rival: Contestant | None = None
    """None: the reference alone is timed, and nothing is compared."""
    criterion: Criterion
    budget: ContestBudget = ContestBudget()
    tolerance: Tolerance = EXACT
    threads: int = 1
    environment: Variables = ()
    timeout_s: float = 600.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rival is not None and self.rival.name == self.reference.name:
            msg = f"{self.rival.name}: both sides of a contest have this name"
            raise ValueError(msg)
        if self.rival is not None and bool(self.rival.commands) is self.whole:
            msg = f"{self.rival.name}: one side of a contest has steps, and the other one has none"
            raise ValueError(msg)

    @property
    def whole(self) -> bool:
        """Whether a command is run from start to end, which has no iterations."""
        return not self.reference.commands

    @property
    def stage(self) -> TimeStage:
        """Return what is compared."""
        return TimeStage.find_compared(whole=self.whole)

    @property
    def width(self) -> int:
        """Return how many CPUs each measured process needs.

        The main thread spins while it waits for the worker: on one CPU, 15 times as long.
        """
        in_place = all(
            any(
                part.replace("_", "-") in _IN_PLACE
                for command in contestant.commands[-1:]
                for part in command.argv
            )
            for _, contestant in self.sides
        )
        return self.threads if in_place else self.threads + 1

    @property
    def sides(self) -> tuple[tuple[Side, Contestant], ...]:
        found = ((Side.REFERENCE, self.reference),)
        return found if self.rival is None else (*found, (Side.RIVAL, self.rival))


def find_side(contest: Contest, name: str) -> tuple[Side, Contestant]:
    return next(each for each in contest.sides if each[1].name == name)


class ContestResult(Value):
    status: PerformanceStatus
    reason: str = ""
    samples: tuple[Sample, ...] = ()
    by_run_length: bool = False
    outputs: str = ""
    conditions: tuple[str, ...] = ()
    time_s: float = 0.0
    program_time_s: float = 0.0
    """Wall time of the programs alone, the steps before the measured one included."""

    def __post_init__(self) -> None:
        of_contests = (
            PerformanceStatus.MEASURED,
            PerformanceStatus.FAILED,
            PerformanceStatus.WRONG_OUTPUTS,
        )
        if self.status not in of_contests:
            msg = f"status: found {self.status}, expected measured, failed or wrong-outputs"
            raise ValueError(msg)


def name_files(side: str, *, inputs: Mapping[str, str]) -> StepFiles:
    files = []
    for place, (name, suffix) in enumerate(sorted(inputs.items())):
        files.append((name, f"input{place}{suffix}"))
    model = PurePath(name_model_file())
    return StepFiles(
        program=f"{side}-program",
        model=model.name,
        dumped_model=f"{side}-dumped{model.suffix}",
        algo_cache=f"{side}-algo.cache",
        inputs=tuple(files),
    )


def derive_seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:_SEED_BYTES])
