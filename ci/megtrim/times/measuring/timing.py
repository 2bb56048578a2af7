"""Measuring a contest on a machine: interleaved pairs of processes until the answer is clear.

Without a configuration: a device job, which has nothing but a bundle, uses it, too. A program that
crashes, hangs or computes something else ends its contest, which is a result; a failure of the
machine is raised.
"""

import math
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Protocol

from megtrim.core.timing.spec import FEWEST_ROUNDS, PerformanceStatus
from megtrim.core.timing.times import Answer
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.util.console import SparseLines, show_time
from megtrim.places.devices.device import Lease
from megtrim.times.comparison import compare_at_looks, match_sides
from megtrim.times.experiments.contest import Contest, ContestResult, Sample, plan_looks
from megtrim.times.measuring.step_samples import StepSampler
from megtrim.times.measuring.timing_runs import (
    ContestEnded,
    ContestFiles,
    ContestRuns,
    Turn,
    plan_turns,
    was_busy,
)
from megtrim.times.measuring.whole_runs import CommandFiles, WholeSampler

_SPARE = 1.5
"""Rounds for each that counts, so that some may be marked."""
_MOST_CONDITIONS = 8


class Sampler(Protocol):
    """Runs the sides of a contest. Raises ContestEnded for a program that failed."""

    @property
    def by_run_length(self) -> bool:
        """Whether a time is the difference of a long run and a short one."""

    @property
    def program_time_s(self) -> float: ...

    def check_outputs(self) -> str:
        """Run each side once; return how their outputs compare, or nothing for one side."""

    def choose_lengths(self) -> None:
        """Find out how much a sample is to run."""

    def take(self, turn: Turn) -> tuple[Sample, Sequence[ProgramRun]]:
        """Return what came of a turn, and the runs that it took."""


def measure(
    contest: Contest,
    files: ContestFiles | CommandFiles,
    lease: Lease,
    *,
    say: Callable[[str], None],
) -> ContestResult:
    """``files``: those of a command if the contest is of whole runs."""
    began_s = time.monotonic()
    if isinstance(files, CommandFiles):
        sampler = WholeSampler(contest, files, lease)
        return _Measurement(contest, sampler, (), began_s, say).measure()
    with tempfile.TemporaryDirectory(prefix="megtrim-") as scratch, lease.open() as directory:
        runs = ContestRuns(
            tuple(side for side, _ in contest.sides),
            files,
            directory,
            machine=lease.name,
            scratch=Path(scratch),
            timeout_s=contest.timeout_s,
            environment=contest.environment,
        )
        cpus = directory.cpus()
        return _Measurement(contest, StepSampler(contest, runs), cpus, began_s, say).measure()


class _Measurement:
    def __init__(
        self,
        contest: Contest,
        sampler: Sampler,
        cpus: Sequence[int],
        began_s: float,
        say: Callable[[str], None],
    ) -> None:
        self._contest = contest
        self._sampler = sampler
        self._cpus = cpus
        self._began_s = began_s
        self._lines = SparseLines(say)
        self._first_round_s = began_s
        self._samples: list[Sample] = []
        self._conditions: dict[str, None] = {}

    def measure(self) -> ContestResult:
        if any(contestant.searches for _, contestant in self._contest.sides):
            rounds = self._contest.budget.rounds
            self._lines.say_now(f"    time  a search in each process, so {rounds} rounds at most")
        status = PerformanceStatus.MEASURED
        reason = ""
        outputs = ""
        try:
            outputs = self._sampler.check_outputs()
            self._sampler.choose_lengths()
            self._take_samples()
        except ContestEnded as ended:
            status = ended.status
            reason = ended.message
        time_s = time.monotonic() - self._began_s
        return ContestResult(
            status=status,
            reason=reason,
            samples=tuple(self._samples),
            by_run_length=self._sampler.by_run_length,
            outputs=outputs,
            conditions=tuple(self._conditions),
            time_s=time_s,
            program_time_s=self._sampler.program_time_s,
        )

    def _take_samples(self) -> None:
        budget = self._contest.budget
        sides = self._contest.sides
        wanted = budget.rounds if len(sides) > 1 else FEWEST_ROUNDS
        turns = plan_turns(
            [contestant.name for _, contestant in sides],
            math.ceil(wanted * _SPARE),
            cpus=self._cpus,
            width=self._contest.width,
            seed=self._contest.seed,
        )
        self._first_round_s = time.monotonic()
        for number, of_round in groupby(turns, key=lambda turn: turn.round_number):
            if budget.limit_s is not None and time.monotonic() - self._began_s > budget.limit_s:
                return
            for turn in of_round:
                self._samples.append(self._take(turn))
            if self._is_enough(number + 1, wanted):
                return

    def _take(self, turn: Turn) -> Sample:
        sample, made = self._sampler.take(turn)
        for run in made:
            self._note_conditions(run)
        return sample

    def _note_conditions(self, run: ProgramRun) -> None:
        most = self._contest.criterion.other_load
        busy = f"other programs took more than {most:.0%} of the CPUs' time"
        notes = (
            run.conditions.invalid if run.conditions else "",
            busy if was_busy(run, most) else "",
        )
        for note in filter(None, notes):
            if len(self._conditions) < _MOST_CONDITIONS:
                self._conditions.setdefault(note)

    def _is_enough(self, rounds: int, wanted: int) -> bool:
        if self._contest.rival is None:
            counting = sum(sample.counts for sample in self._samples)
            head = describe_rounds(rounds, counting, wanted)
            self._lines.say(f"{head}{self._estimate_left(rounds, wanted - counting)}")
            return counting >= wanted
        pairs = match_sides(self._contest, self._samples)
        plan = plan_looks(self._contest.budget)
        head = describe_rounds(rounds, len(pairs), wanted)
        left = self._estimate_left(rounds, wanted - len(pairs))
        if len(pairs) not in plan.looks:
            self._lines.say(f"{head}{left}")
            return False
        stage = self._contest.stage
        seen = compare_at_looks(pairs, self._contest.criterion, plan, stage=stage)
        clear = seen is not None and seen.exceeds is not Answer.INCONCLUSIVE
        if seen is not None:
            so_far = f"{head}, ratio {seen.ratio:.3f} so far"
            self._lines.say_now(so_far if clear else f"{so_far}{left}")
        return clear or len(pairs) >= wanted

    def _estimate_left(self, rounds: int, missing: int) -> str:
        now_s = time.monotonic()
        left_s = missing * (now_s - self._first_round_s) / rounds
        limit_s = self._contest.budget.limit_s
        if limit_s is not None:
            left_s = min(left_s, max(self._began_s + limit_s - now_s, 0))
        return f", at most {show_time(left_s)} left" if missing > 0 else ""


def describe_rounds(rounds: int, counting: int, wanted: int) -> str:
    if counting == rounds:
        return f"    time  round {rounds} of {wanted}"
    return f"    time  round {rounds}, {counting} of {wanted} count"
