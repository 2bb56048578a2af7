"""A contest: two contestants of one scenario on one machine, in interleaved pairs of processes.

The values that go in and come out, wherever it is carried out: nothing here names a file of this
machine. Files in the run directory have the names of :func:`name_files`, equally long on both
sides, because the length of a command line moves a program's stack. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from megtrim.experiments.commands import StepCommand, StepFiles
from megtrim.experiments.criterion import Criterion
from megtrim.experiments.samples import Sample
from megtrim.experiments.sequential import LOOKS, SamplingPlan
from megtrim.load_and_run.parity import EXACT, Tolerance
from megtrim.util.environment import Variables

_SEED_BYTES = 4
_IN_PLACE = ("--cpu-default", "--multithread-default")
METHOD = 2
"""Version of the way megtrim measures: times of two versions are not compared."""
FEWEST_ROUNDS = LOOKS[0]
MOST_ROUNDS = 400
SEARCH_ROUNDS = 8
"""Of a contest in which each process searches, on a ResNet-50 for 20 or for 190 seconds.

Seven pairs are clear only if all of them agree, with eight one may disagree a little. An answer
that needs more is for the experiment that reads a cache or a dumped model: it searches once.
"""
_ALPHA = 0.02


class Side(StrEnum):
    """The two sides of a contest, by the prefix of their files."""

    REFERENCE = "a"
    RIVAL = "b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """One program with the flags of one experiment."""

    name: str
    """Of its samples, such as ``nchw88`` or ``reduced``."""
    commands: tuple[StepCommand, ...]
    """The steps in their order; the last one is measured."""

    def __post_init__(self) -> None:
        measured = [each.step.measured for each in self.commands]
        if measured != [False] * (len(measured) - 1) + [True]:
            msg = f"{self.name}: the last step is measured, and no other"
            raise ValueError(msg)

    @property
    def searches(self) -> bool:
        """Whether each measured process searches for algorithms or layouts."""
        return self.commands[-1].step.searches


def count_cpus(contestants: Iterable[Contestant], threads: int) -> int:
    """Return how many CPUs each measured process needs for so many threads that compute.

    The engine's main thread spins while it waits for the worker, so both need a CPU: on one, they
    share its time slices, and a warm-up took fifteen times as long. In place there is no worker.
    """
    in_place = all(
        any(part.replace("_", "-") in _IN_PLACE for part in contestant.commands[-1].argv)
        for contestant in contestants
    )
    return threads if in_place else threads + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestBudget:
    """What one contest may take."""

    rounds: int = LOOKS[-1]
    """Pairs of processes at most."""
    limit_s: float | None = None
    """Seconds after which no round begins; None: as long as the rounds take."""

    def __post_init__(self) -> None:
        if not SEARCH_ROUNDS <= self.rounds <= MOST_ROUNDS:
            msg = f"found {self.rounds} rounds, expected {SEARCH_ROUNDS} to {MOST_ROUNDS}"
            raise ValueError(msg)
        if self.limit_s is not None and not self.limit_s > 0:
            msg = f"found a budget of {self.limit_s} s, expected more than 0"
            raise ValueError(msg)

    @property
    def plan(self) -> SamplingPlan:
        """The looks, which are fixed before the first run."""
        looks = (*(each for each in LOOKS if each < self.rounds), self.rounds)
        return SamplingPlan(looks=looks, alpha=_ALPHA)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """What is measured, and when it is decided."""

    reference: Contestant
    rival: Contestant | None = None
    """None: the reference alone is timed, and nothing is compared."""
    criterion: Criterion
    budget: ContestBudget = ContestBudget()
    tolerance: Tolerance = EXACT
    """Largest difference of the rival's outputs from the reference's."""
    threads: int = 1
    """That compute."""
    environment: Variables = ()
    """Variables that the scenario sets for all programs."""
    timeout_s: float = 600.0
    """For each process."""
    seed: int = 0
    """Of the order of the processes and what is varied with them."""

    def __post_init__(self) -> None:
        if self.rival is not None and self.rival.name == self.reference.name:
            msg = f"{self.rival.name}: both sides of a contest have this name"
            raise ValueError(msg)

    @property
    def width(self) -> int:
        """How many CPUs each process needs."""
        return count_cpus((contestant for _, contestant in self.sides), self.threads)

    @property
    def sides(self) -> tuple[tuple[Side, Contestant], ...]:
        """The contestants that there are, the reference first."""
        found = ((Side.REFERENCE, self.reference),)
        return found if self.rival is None else (*found, (Side.RIVAL, self.rival))


class ContestStatus(StrEnum):
    """How a contest ended."""

    MEASURED = "measured"
    FAILED = "failed"
    """A program crashed, hung, or printed what is no log."""
    WRONG_OUTPUTS = "wrong-outputs"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestResult:
    """What a contest brought; what it means is computed from the samples."""

    status: ContestStatus
    reason: str = ""
    """One line; empty where it was measured."""
    samples: tuple[Sample, ...] = ()
    by_run_length: bool = False
    """Whether iterations were timed by runs of two lengths: a program prints no times."""
    outputs: str = ""
    """One line on how the outputs compare; empty where they were not compared."""
    conditions: tuple[str, ...] = ()
    """One line for each kind of conditions that some process ran under."""
    time_s: float = 0.0
    """Wall time of everything."""
    program_time_s: float = 0.0
    """Wall time of the programs alone, the steps before the measured one included."""


def name_files(side: str, *, inputs: Mapping[str, str]) -> StepFiles:
    """Return the names that one side's files have in the run directory.

    ``inputs``: the suffix of each input's file, by the input's name. Models and inputs are shared.
    """
    return StepFiles(
        program=f"{side}-program",
        model="model.mge",
        dumped_model=f"{side}-dumped.mge",
        algo_cache=f"{side}-algo.cache",
        inputs=tuple(
            (name, f"input{place}{suffix}")
            for place, (name, suffix) in enumerate(sorted(inputs.items()))
        ),
    )


def derive_seed(text: str) -> int:
    """Return what orders the rounds of what ``text`` names: equal for equal texts."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:_SEED_BYTES])
