"""Samples of an engine's own program: how many iterations each process makes, and what it logs."""

import math
import statistics
from collections.abc import Sequence

from megtrim.core.own_program import find_program
from megtrim.core.timing.spec import PerformanceStatus
from megtrim.libs.programs.arrays import compare, refusal
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.programs.parity import Tolerance
from megtrim.libs.programs.timing_log import DamagedLog
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.wording import count
from megtrim.times.experiments.contest import Contest, Contestant, Sample, find_side
from megtrim.times.measuring.timing_runs import (
    ContestEnded,
    ContestRuns,
    Turn,
    make_sample,
    make_sample_by_length,
    read_times,
)

_TIMED_MS = 200.0
"""A process makes iterations for about this long, or as many as its command says."""
_MOST_ITERATIONS = 200
_LENGTH_S = 0.5
"""By how much the longer of two runs is to be longer: a phone's clock has steps of 10 ms."""
_MOST_BY_LENGTH = 100_000


class StepSampler:
    def __init__(self, contest: Contest, runs: ContestRuns) -> None:
        self._contest = contest
        self._runs = runs
        self._lengths: tuple[int, ...] = (1,)
        """How many iterations a process makes; two numbers where nothing is logged."""

    @property
    def by_run_length(self) -> bool:
        return len(self._lengths) > 1

    @property
    def program_time_s(self) -> float:
        return self._runs.program_time_s

    def check_outputs(self) -> str:
        found: list[tuple[bytes, ...]] = []
        for side, contestant in self._contest.sides:
            self._runs.prepare(side, contestant)
            found.append(self._runs.run_for_outputs(side, contestant))
        if len(found) > 1:
            return compare_in_order(found[0], found[1], self._contest.tolerance)
        return ""

    def choose_lengths(self) -> None:
        """A search is not made once more for it: another side knows how long an iteration takes."""
        sides = self._contest.sides
        iterations_ms = []
        for side, contestant in [each for each in sides if not each[1].searches] or sides[:1]:
            count = contestant.commands[-1].iterations
            run = self._runs.run_measured(side, contestant, iterations=count)
            iterations_ms.append(read_iteration_ms(contestant, run))
        known = [each for each in iterations_ms if each is not None]
        if len(known) < len(iterations_ms):
            self._lengths = self._find_lengths()
            return
        least = max(each.commands[-1].iterations for _, each in sides)
        iteration_ms = max(*known, _TIMED_MS / _MOST_ITERATIONS)
        self._lengths = (max(least, math.ceil(_TIMED_MS / iteration_ms)),)

    def _find_lengths(self) -> tuple[int, int]:
        side, contestant = self._contest.sides[0]
        count = 10
        short_s = self._runs.run_measured(side, contestant, iterations=1).wall_s
        while count < _MOST_BY_LENGTH:
            more_s = self._runs.run_measured(side, contestant, iterations=count).wall_s - short_s
            if more_s >= _LENGTH_S:
                break
            # At least twice as many, and no more than ten times, whatever a short run said.
            factor = _LENGTH_S / more_s if more_s > 0 else 10.0
            count = math.ceil(count * min(max(1.2 * factor, 2.0), 10.0))
        return 1, count

    def take(self, turn: Turn) -> tuple[Sample, Sequence[ProgramRun]]:
        side, contestant = find_side(self._contest, turn.contestant)
        made = [
            self._runs.run_measured(
                side, contestant, iterations=count, cpus=turn.cpus, padding_bytes=turn.padding_bytes
            )
            for count in self._lengths
        ]
        lengths = self._lengths
        other_load = self._contest.criterion.other_load
        if len(lengths) > 1:
            return make_sample_by_length(turn, made, lengths, other_load=other_load), made
        warmups = contestant.commands[-1].step.warmups
        sample = make_sample(
            turn, made[0], iterations=lengths[0], warmups=warmups, other_load=other_load
        )
        return sample, made


def read_iteration_ms(contestant: Contestant, run: ProgramRun) -> float | None:
    """None if the program logs nothing. Raises ContestEnded for a damaged log."""
    command = contestant.commands[-1]
    try:
        counts = {"iterations": command.iterations, "warmups": command.step.warmups}
        log = read_times(run, source=contestant.name, **counts)
    except DamagedLog as damage:
        raise ContestEnded(PerformanceStatus.FAILED, damage.message) from None
    return None if log is None else statistics.median(log.iterations_ms)


def compare_in_order(
    expected: Sequence[bytes], found: Sequence[bytes], tolerance: Tolerance
) -> str:
    if len(expected) != len(found):
        msg = f"{len(found)} outputs, expected {len(expected)}"
        raise ContestEnded(PerformanceStatus.WRONG_OUTPUTS, msg)
    parse_dump = find_program().parse_dump
    for place, (first, second) in enumerate(zip(expected, found, strict=True)):
        name = f"output {place}"
        problem = ""
        try:
            wanted = parse_dump(first, name=name, source=f"{name} of the reference")
            got = parse_dump(second, name=name, source=f"{name} of the rival")
        except InputError as error:
            raise ContestEnded(PerformanceStatus.WRONG_OUTPUTS, error.message) from None
        if unfit := refusal(wanted, tolerance):
            problem = f"{unfit}: that proves nothing"
        elif not (compared := compare(wanted, got, tolerance)).equal:
            problem = f"{name}: {compared.text}"
        if problem:
            raise ContestEnded(PerformanceStatus.WRONG_OUTPUTS, problem)
    counted = count(len(found), "output")
    return f"{counted} equal" + ("" if tolerance.is_exact else f" within {tolerance}")
