"""Measuring a contest on a machine: interleaved pairs of processes until the answer is clear.

Without a configuration: a device job, which has nothing but a bundle, uses it, too. A program that
crashes, hangs or computes something else ends its contest, which is a result; a failure of the
machine is raised.
"""

import math
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from megtrim.core.own_program import find_program
from megtrim.core.timing.spec import FEWEST_ROUNDS, PerformanceStatus
from megtrim.core.timing.times import Answer
from megtrim.libs.programs.arrays import compare, refusal
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.programs.parity import Tolerance
from megtrim.libs.programs.timing_log import DamagedLog
from megtrim.libs.util.console import SparseLines, show_time
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.wording import count
from megtrim.places.devices.device import Lease
from megtrim.times.comparison import compare_at_looks, match_pairs
from megtrim.times.experiments.contest import Contest, Contestant, ContestResult, Sample, plan_looks
from megtrim.times.measuring.timing_runs import (
    ContestEnded,
    ContestFiles,
    ContestRuns,
    Turn,
    make_sample,
    make_sample_by_length,
    plan_turns,
    read_times,
    was_busy,
)

_TIMED_MS = 200.0
"""A process makes iterations for about this long, or as many as its command says."""
_MOST_ITERATIONS = 200
_LENGTH_S = 0.5
"""By how much the longer of two runs is to be longer: a phone's clock has steps of 10 ms."""
_MOST_BY_LENGTH = 100_000
_SPARE = 1.5
"""Rounds for each that counts, so that some may be marked."""
_MOST_CONDITIONS = 8


def measure(
    contest: Contest,
    files: ContestFiles,
    lease: Lease,
    *,
    say: Callable[[str], None],
) -> ContestResult:
    began_s = time.monotonic()
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
        return _Measurement(contest, runs, directory.cpus(), began_s, say).measure()


class _Measurement:
    def __init__(
        self,
        contest: Contest,
        runs: ContestRuns,
        cpus: Sequence[int],
        began_s: float,
        say: Callable[[str], None],
    ) -> None:
        self._contest = contest
        self._runs = runs
        self._cpus = cpus
        self._began_s = began_s
        self._lines = SparseLines(say)
        self._first_round_s = began_s
        self._samples: list[Sample] = []
        self._conditions: dict[str, None] = {}
        self._outputs = ""
        self._lengths: tuple[int, ...] = (1,)
        """How many iterations a process makes; two numbers where nothing is logged."""

    def measure(self) -> ContestResult:
        if any(contestant.searches for _, contestant in self._contest.sides):
            rounds = self._contest.budget.rounds
            self._lines.say_now(f"    time  a search in each process, so {rounds} rounds at most")
        status = PerformanceStatus.MEASURED
        reason = ""
        try:
            self._check_outputs()
            self._choose_lengths()
            self._take_samples()
        except ContestEnded as ended:
            status = ended.status
            reason = ended.message
        time_s = time.monotonic() - self._began_s
        return ContestResult(
            status=status,
            reason=reason,
            samples=tuple(self._samples),
            by_run_length=len(self._lengths) > 1,
            outputs=self._outputs,
            conditions=tuple(self._conditions),
            time_s=time_s,
            program_time_s=self._runs.program_time_s,
        )

    def _check_outputs(self) -> None:
        found: list[tuple[bytes, ...]] = []
        for side, contestant in self._contest.sides:
            self._runs.prepare(side, contestant)
            found.append(self._runs.run_for_outputs(side, contestant))
        if len(found) > 1:
            self._outputs = compare_in_order(found[0], found[1], self._contest.tolerance)

    def _choose_lengths(self) -> None:
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
        side, contestant = next(
            each for each in self._contest.sides if each[1].name == turn.contestant
        )
        made = [
            self._runs.run_measured(
                side, contestant, iterations=count, cpus=turn.cpus, padding_bytes=turn.padding_bytes
            )
            for count in self._lengths
        ]
        for run in made:
            self._note_conditions(run)
        lengths = self._lengths
        other_load = self._contest.criterion.other_load
        if len(lengths) > 1:
            return make_sample_by_length(turn, made, lengths, other_load=other_load)
        warmups = contestant.commands[-1].step.warmups
        return make_sample(
            turn, made[0], iterations=lengths[0], warmups=warmups, other_load=other_load
        )

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
        names = self._contest.reference.name, self._contest.rival.name
        pairs = match_pairs(self._samples, *names)
        plan = plan_looks(self._contest.budget)
        head = describe_rounds(rounds, len(pairs), wanted)
        left = self._estimate_left(rounds, wanted - len(pairs))
        if len(pairs) not in plan.looks:
            self._lines.say(f"{head}{left}")
            return False
        seen = compare_at_looks(pairs, self._contest.criterion, plan)
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
