"""The race for the fastest flags on a machine, and its last heat.

Each contestant is prepared and its outputs are compared with the baseline's before it starts; one
that fails, hangs or computes something else does not start, and one that fails later leaves. Then
the winner meets the baseline, the recipes and the engine's own choice once more, in rounds of their
own: times that chose the winner flatter it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from megtrim.devices import Lease
from megtrim.errors import ProductFailure
from megtrim.perf.answer import Answer
from megtrim.perf.comparison import TimeComparison, compare_at_looks, match_pairs
from megtrim.perf.contest import ContestBudget
from megtrim.perf.criterion import Criterion
from megtrim.perf.experiments.experiment import Experiment
from megtrim.perf.experiments.table import BASELINE
from megtrim.perf.samples import Sample, SampleStage
from megtrim.perf.schedule import Turn, plan_turns
from megtrim.perf.tuning.candidates import RECIPES, make_of_choice
from megtrim.perf.tuning.fitting import FITTING, parse_choice
from megtrim.perf.tuning.racing import RaceResult, RaceStage, Retired, race
from megtrim.pipeline.running.timing import (
    compare_in_order,
    count_iterations,
    read_iteration_ms,
)
from megtrim.pipeline.running.timing_runs import ContestEnded, ContestRuns
from megtrim.pipeline.running.timing_samples import make_sample
from megtrim.pipeline.tuning.field import Entrant, Field

_SIDES = tuple(f"g{number:02}" for number in range(100))
_SAY_EVERY_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NotStarted:
    """A contestant that could not start."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LastHeat:
    """The winner's time over another's, from the last heat."""

    against: str
    seen: TimeComparison | None
    """None: too few of their processes counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneResult:
    """What a search for flags found."""

    winner: Experiment
    race: RaceResult
    entered: int
    not_started: tuple[NotStarted, ...]
    fitting: str
    """The contestant that the engine's own search chose, or why there is none."""
    heats: tuple[LastHeat, ...]
    last_runs: int
    """Processes of the last heat."""
    dumped_model: bytes | None
    """That the winner runs, if it is not the scenario's."""
    algo_cache: bytes | None
    """That the winner reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneTerms:
    """What a search may take, and when its last heat is decided."""

    budget_s: float
    """After which no round of the race begins."""
    criterion: Criterion


def tune(field: Field, terms: TuneTerms, lease: Lease, *, say: Callable[[str], None]) -> TuneResult:
    """Race on a machine; ``say`` gets a line on its progress now and then.

    Raises what the machine raises, and ProductFailure if the baseline does not run.
    """
    ends_s = time.monotonic() + terms.budget_s
    with tempfile.TemporaryDirectory(prefix="megtrim-") as scratch, lease.open() as directory:
        runs = ContestRuns(
            _SIDES,
            field.files,
            directory,
            machine=lease.name,
            scratch=Path(scratch),
            timeout_s=field.scenario.settings.timeout_s,
        )
        cpus = directory.cpus() if field.scenario.settings.threads == 1 else ()
        return _FlagRace(field, terms, runs, cpus=cpus, say=say).run(ends_s)


class _FlagRace:
    """A race while it goes on."""

    def __init__(
        self,
        field: Field,
        terms: TuneTerms,
        runs: ContestRuns,
        *,
        cpus: Sequence[int],
        say: Callable[[str], None],
    ) -> None:
        self._field = field
        self._terms = terms
        self._runs = runs
        self._cpus = cpus
        self._say = say
        self._said_s = time.monotonic()
        self._not_started: list[NotStarted] = []
        self._failed_sides: dict[str, ContestEnded] = {}
        self._prepared: set[str] = set()
        self._iterations = 0

    def run(self, ends_s: float) -> TuneResult:
        baseline = self._field.entrants[0]
        try:
            expected = self._start(baseline)
            self._iterations = self._count(baseline)
        except ContestEnded as ended:
            raise ProductFailure(ended.message, hint="no flags make this scenario run") from None
        fitting = self._fit()
        started = [baseline]
        for number, entrant in enumerate(self._field.entrants[1:], 2):
            if self._admit(entrant, expected):
                started.append(entrant)
            self._tell(f"prepared {number} of {len(self._field.entrants)}")
        found = race(
            [each.contestant.name for each in started],
            self._take,
            cpus=self._cpus or (0,),
            seed=self._field.seed,
            goes_on=lambda: time.monotonic() < ends_s,
            report=self._report,
        )
        winner = self._field.find(found.winner)
        rivals = {BASELINE, *RECIPES, fitting} & {each.contestant.name for each in started}
        heats, last_runs = self._run_last_heat(winner, sorted(rivals - {found.winner}))
        dumped, cache = self._runs.read_made(winner.side, winner.contestant)
        return TuneResult(
            winner=winner.experiment,
            race=found,
            entered=len(self._field.entrants),
            not_started=tuple(self._not_started),
            fitting=fitting,
            heats=heats,
            last_runs=last_runs,
            dumped_model=dumped,
            algo_cache=cache,
        )

    def _start(self, entrant: Entrant) -> tuple[bytes, ...]:
        """Prepare, and return the outputs. Raises ContestEnded."""
        if entrant.side in self._failed_sides:
            raise self._failed_sides[entrant.side]
        if entrant.side not in self._prepared:
            try:
                self._runs.prepare(entrant.side, entrant.contestant)
            except ContestEnded as ended:
                self._failed_sides[entrant.side] = ended
                raise
            self._prepared.add(entrant.side)
        return self._runs.run_for_outputs(entrant.side, entrant.contestant)

    def _admit(self, entrant: Entrant, expected: tuple[bytes, ...]) -> bool:
        try:
            compare_in_order(expected, self._start(entrant), entrant.tolerance)
        except ContestEnded as ended:
            name = entrant.contestant.name
            reason = ended.message.removeprefix(f"{name}: ")
            self._not_started.append(NotStarted(name=name, reason=reason))
            self._say(f"    tune  {name} does not start: {reason}")
            return False
        return True

    def _count(self, baseline: Entrant) -> int:
        least = baseline.contestant.commands[-1].iterations
        run = self._runs.run_measured(baseline.side, baseline.contestant, iterations=least)
        took_ms = read_iteration_ms(baseline.contestant, run)
        if took_ms is None:
            msg = "the program prints no times"
            raise ProductFailure(msg, hint="set trim.minimum_size or engine.cmake otherwise")
        return max(least, count_iterations(took_ms))

    def _fit(self) -> str:
        """Let the engine search itself; return who has its choice, or why there is none."""
        command = self._field.make_fitting_command()
        if command is None:
            return "this engine's load_and_run has no --fitting"
        try:
            run = self._runs.run_apart(command)
        except ContestEnded as ended:
            return f"--fitting failed: {ended.message}"
        chosen = parse_choice(f"{run.stdout}\n{run.stderr}")
        if chosen is None:
            return "--fitting named no options"
        return self._field.enter(make_of_choice(FITTING, chosen)).contestant.name

    def _take(self, turn: Turn) -> Sample | Retired:
        entrant = self._field.find(turn.contestant)
        try:
            run = self._runs.run_measured(
                entrant.side,
                entrant.contestant,
                iterations=self._iterations,
                cpu=turn.cpu if self._cpus else None,
                padding_bytes=turn.padding_bytes,
            )
        except ContestEnded as ended:
            return Retired(reason=ended.message)
        self._tell(f"round {turn.round_number + 1}")
        warmups = entrant.contestant.commands[-1].step.warmups
        return make_sample(turn, run, iterations=self._iterations, warmups=warmups)

    def _run_last_heat(
        self, winner: Entrant, rivals: Sequence[str]
    ) -> tuple[tuple[LastHeat, ...], int]:
        """Run rounds until the winner is told from each rival, or the last look."""
        plan = ContestBudget().plan
        names = [winner.contestant.name, *rivals]
        samples: list[Sample] = []
        heats: tuple[LastHeat, ...] = ()
        turns = plan_turns(
            names,
            plan.looks[-1] if rivals else 0,
            cpus=self._cpus or (0,),
            seed=self._field.seed + 1,
        )
        for number, of_round in groupby(turns, key=lambda turn: turn.round_number):
            taken = [self._take(turn) for turn in of_round]
            samples += [each for each in taken if isinstance(each, Sample)]
            if number + 1 not in plan.looks:
                continue
            heats = tuple(self._compare(winner, rival, samples) for rival in rivals)
            if all(each.seen and each.seen.exceeds is not Answer.INCONCLUSIVE for each in heats):
                break
        return heats, len(samples)

    def _compare(self, winner: Entrant, rival: str, samples: Sequence[Sample]) -> LastHeat:
        pairs = match_pairs(samples, rival, winner.contestant.name, SampleStage.ITERATION)
        seen = compare_at_looks(pairs, self._terms.criterion, ContestBudget().plan)
        return LastHeat(against=rival, seen=seen)

    def _report(self, stage: RaceStage) -> None:
        left = f", {len(stage.left)} leave" if stage.left else ""
        rest = f"{len(stage.remaining)} remain, {stage.leader} leads"
        self._say(f"    tune  after {stage.rounds} rounds{left}: {rest}")

    def _tell(self, text: str) -> None:
        now_s = time.monotonic()
        if now_s - self._said_s >= _SAY_EVERY_S:
            self._said_s = now_s
            self._say(f"    tune  {text}")
