"""A race of many contestants in interleaved rounds; who is surely slower leaves.

After each stage every contestant is compared with the leader by Tukey's and Kramer's test for all
pairs (the studentized range of scipy): the fastest of all leaves by mistake in at most
:data:`ERROR_RATE` of the races, however many take part and whoever leads by luck. The stages share
that rate evenly. The race ends when one is left, when none of those left can be faster than the
leader by more than :data:`WITHIN`, or after :data:`MOST_RUNS`.

Times are compared by their logarithms without the median of their round, which takes the machine's
drift out. A contestant's level is its Hodges-Lehmann estimate, as in
:mod:`megtrim.perf.comparison`, so that one slow process does not put it out. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import groupby

import numpy as np
import scipy

from megtrim.perf.comparison import estimate_shift
from megtrim.perf.samples import Sample
from megtrim.perf.schedule import Turn, plan_turns
from megtrim.perf.time_stage import TimeStage

STAGES = (3, 4, 6, 8, 12, 16, 24, 40)
"""Rounds after which the contestants are compared."""
ERROR_RATE = 0.05
WITHIN = 0.02
"""The share by which the winner may be slower than the fastest of all."""
MOST_RUNS = 0.35
"""Of the runs that all contestants would make in all rounds: where most are alike, no number of
rounds can tell them apart, and it does not matter who of them wins."""
_FEWEST_TIMES = 2
_ANY_LEVEL = 0.5
"""Of an interval that is not read."""
_SMALLEST_NOISE = 1e-6


class RaceEnd(StrEnum):
    """Why a race ended."""

    ONE_LEFT = "one is left"
    CLOSE = "none of those left can be faster by more than the share that counts"
    RUNS = "the runs of a race are used up"
    BUDGET = "the budget is used up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a contestant stood after a stage, or when it left."""

    contestant: str
    ratio: float
    """Its time over the leader's."""
    lower: float
    """Lower end of that ratio; above 1: it is surely slower."""
    reason: str = ""
    """Why it left, if not for its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceStage:
    """What was seen after some rounds."""

    rounds: int
    leader: str
    left: tuple[Standing, ...]
    """Who left, the slowest last."""
    remaining: tuple[Standing, ...]
    """Who goes on, the leader first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceResult:
    """The path of a race, and its winner."""

    winner: str
    stages: tuple[RaceStage, ...]
    end: RaceEnd
    runs: int
    """Processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """What a turn brings of a contestant whose program failed."""

    reason: str


def race(
    contestants: Sequence[str],
    take: Callable[[Turn], Sample | Retired],
    *,
    cpus: Sequence[int],
    width: int = 1,
    seed: int,
    goes_on: Callable[[], bool] = lambda: True,
    report: Callable[[RaceStage], None] = lambda _stage: None,
) -> RaceResult:
    """Race until it is decided; ``take`` runs one process, ``goes_on`` is asked before a round."""
    if not contestants:
        msg = "a race takes contestants"
        raise ValueError(msg)
    return _Race(contestants, take, report).run(cpus, width, seed, goes_on)


class _Race:
    """A race while it goes on."""

    def __init__(
        self,
        contestants: Sequence[str],
        take: Callable[[Turn], Sample | Retired],
        report: Callable[[RaceStage], None],
    ) -> None:
        self._alive = sorted(contestants)
        self._take = take
        self._report = report
        self._logs: dict[str, dict[int, float]] = {name: {} for name in self._alive}
        self._retired: list[Standing] = []
        self._stages: list[RaceStage] = []
        self._runs = 0

    def run(
        self, cpus: Sequence[int], width: int, seed: int, goes_on: Callable[[], bool]
    ) -> RaceResult:
        # The order of a round does not depend on who is left, so it is drawn for all.
        turns = plan_turns(self._alive, STAGES[-1], cpus=cpus, width=width, seed=seed)
        most = MOST_RUNS * len(turns)
        for number, of_round in groupby(turns, key=lambda turn: turn.round_number):
            if not goes_on():
                return self._end(RaceEnd.BUDGET, number)
            if number >= STAGES[0] and self._runs + len(self._alive) > most:
                return self._end(RaceEnd.RUNS, number)
            self._run_round(of_round)
            if number + 1 in STAGES and (end := self._compare(number + 1)):
                return self._end(end, number + 1)
        return self._end(RaceEnd.RUNS, STAGES[-1])

    def _run_round(self, turns: Iterable[Turn]) -> None:
        for turn in turns:
            if turn.contestant not in self._alive:
                continue
            self._runs += 1
            taken = self._take(turn)
            if isinstance(taken, Retired):
                self._alive.remove(turn.contestant)
                gone = Standing(
                    contestant=turn.contestant, ratio=math.nan, lower=math.nan, reason=taken.reason
                )
                self._retired.append(gone)
                continue
            time_ms = taken.time_ms(TimeStage.INFERENCE)
            if taken.counts and time_ms is not None:
                self._logs[turn.contestant][turn.round_number] = math.log(time_ms)

    def _compare(self, rounds: int) -> RaceEnd | None:
        standings = rank({name: self._logs[name] for name in self._alive})
        slower = [each for each in standings if each.lower > 1]
        remaining = [each for each in standings if not each.lower > 1]
        self._add_stage(rounds, slower, remaining)
        self._alive = sorted(each.contestant for each in remaining)
        if len(remaining) <= 1:
            return RaceEnd.ONE_LEFT
        close = all(each.lower * (1 + WITHIN) >= 1 for each in remaining[1:])
        return RaceEnd.CLOSE if close else None

    def _add_stage(
        self, rounds: int, slower: Sequence[Standing], remaining: Sequence[Standing]
    ) -> None:
        stage = RaceStage(
            rounds=rounds,
            leader=remaining[0].contestant if remaining else "",
            left=(*slower, *self._retired),
            remaining=tuple(remaining),
        )
        self._retired = []
        self._stages.append(stage)
        self._report(stage)

    def _end(self, end: RaceEnd, rounds: int) -> RaceResult:
        """Say who leads; a race that was cut off is ranked once more."""
        if not self._stages or self._stages[-1].rounds < rounds:
            self._add_stage(rounds, (), rank({name: self._logs[name] for name in self._alive}))
        return RaceResult(
            winner=self._stages[-1].leader,
            stages=tuple(self._stages),
            end=end,
            runs=self._runs,
        )


def rank(logs: dict[str, dict[int, float]]) -> list[Standing]:
    """Return who stands where, the fastest first, by logarithms of times by round.

    One with fewer than two times is last and may be anything: nothing is known of it.
    """
    known = sorted(name for name, times in logs.items() if len(times) >= _FEWEST_TIMES)
    unknown = [
        Standing(contestant=name, ratio=math.inf, lower=0.0)
        for name in sorted(logs)
        if name not in known
    ]
    if not known:
        return unknown
    aligned = _align({name: logs[name] for name in known})
    levels = {name: estimate_shift(aligned[name], _ANY_LEVEL)[0] for name in known}
    noise, freedom = _estimate_noise(aligned, levels)
    in_order = sorted(known, key=lambda name: (levels[name], name))
    leader = in_order[0]
    critical = _critical_range(len(known), _round_down(freedom))
    standings = []
    for name in in_order:
        share = 1 / len(aligned[name]) + 1 / len(aligned[leader])
        surely = critical * noise * math.sqrt(share / 2)
        gap = levels[name] - levels[leader]
        standings.append(
            Standing(contestant=name, ratio=math.exp(gap), lower=math.exp(gap - surely))
        )
    return standings + unknown


def _align(logs: dict[str, dict[int, float]]) -> dict[str, np.ndarray]:
    """Take the median of its round out of each time."""
    rounds = {number for times in logs.values() for number in times}
    medians = {
        number: float(np.median([times[number] for times in logs.values() if number in times]))
        for number in rounds
    }
    return {
        name: np.array([time - medians[number] for number, time in sorted(times.items())])
        for name, times in logs.items()
    }


def _estimate_noise(aligned: dict[str, np.ndarray], levels: dict[str, float]) -> tuple[float, int]:
    """Return the standard deviation of one time, pooled over all, and its degrees of freedom."""
    rounds = max(len(times) for times in aligned.values())
    count = sum(len(times) for times in aligned.values())
    freedom = max(1, count - len(aligned) - (rounds - 1))
    squares = sum(float(((aligned[name] - levels[name]) ** 2).sum()) for name in aligned)
    return max(math.sqrt(squares / freedom), _SMALLEST_NOISE), freedom


def _round_down(freedom: int) -> int:
    """Return fewer degrees of freedom, of three binary digits: the safe side, looked up once."""
    shift = max(0, freedom.bit_length() - 3)
    return freedom >> shift << shift


@cache
def _critical_range(count: int, freedom: int) -> float:
    """Return what the range of so many equal contestants exceeds by chance, at one stage."""
    ranges = scipy.stats.studentized_range
    return float(ranges.isf(ERROR_RATE / len(STAGES), max(count, 2), freedom))
