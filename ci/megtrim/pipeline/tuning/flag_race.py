"""The race for the fastest flags on a machine, and its last heat.

At the end the winner meets the baseline, the recipes and the engine's own choice once more, in
rounds of their own: times that chose the winner flatter it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from megtrim.devices import Lease
from megtrim.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.perf.answer import Answer
from megtrim.perf.comparison import TimeComparison, compare_at_looks, match_pairs
from megtrim.perf.contest import ContestBudget
from megtrim.perf.criterion import Criterion
from megtrim.perf.experiments.experiment import Experiment
from megtrim.perf.experiments.table import BASELINE
from megtrim.perf.samples import Sample
from megtrim.perf.schedule import plan_turns
from megtrim.perf.time_stage import TimeStage
from megtrim.perf.tuning.candidates import RECIPES
from megtrim.perf.tuning.racing import STAGES, RaceResult, RaceStage, race
from megtrim.pipeline.tuning.field import Field
from megtrim.pipeline.tuning.field_runs import FieldRuns, NotStarted, open_runs
from megtrim.wording import count


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

    @property
    def is_compared(self) -> bool:
        """Whether the last heat compared the winner with the baseline."""
        return all(heat.seen for heat in self.heats if heat.against == BASELINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneTerms:
    """What a search may take, and when its last heat is decided."""

    budget_s: float
    """After which no round of the race begins."""
    criterion: Criterion


def tune(field: Field, terms: TuneTerms, lease: Lease, *, say: Callable[[str], None]) -> TuneResult:
    """Race on a machine; ``say`` gets a line on its progress now and then.

    Raises what the machine raises, ProductFailure if the baseline does not run, InputError if the
    budget is too short to compare anything, and InfrastructureFailure if no times count.
    """
    ends_s = time.monotonic() + terms.budget_s
    with open_runs(field, lease, say=say) as runs:
        started = runs.start()
        found = race(
            started,
            runs.take,
            cpus=runs.cpus,
            width=runs.width,
            seed=field.seed,
            goes_on=lambda: time.monotonic() < ends_s,
            report=lambda stage: say(_describe(stage)),
        )
        _expect_winner(found, len(started))
        rivals = sorted(({BASELINE, *RECIPES, runs.fitting} & set(started)) - {found.winner})
        samples = run_last_heat(found.winner, rivals, runs, seed=field.seed + 1, terms=terms)
        dumped, cache = runs.read_made(found.winner)
        return TuneResult(
            winner=field.find(found.winner).experiment,
            race=found,
            entered=len(field.entrants),
            not_started=tuple(runs.not_started),
            fitting=runs.fitting,
            heats=compare_heats(found.winner, rivals, samples, terms),
            last_runs=len(samples),
            dumped_model=dumped,
            algo_cache=cache,
        )


def _expect_winner(found: RaceResult, started: int) -> None:
    """Raise the reason why nothing is known of whoever leads."""
    last = found.stages[-1]
    if not found.winner:
        msg = f"no contestant ran to the end: {last.left[-1].reason}"
        raise ProductFailure(msg)
    if last.rounds < STAGES[0]:
        msg = f"the budget ended after {count(last.rounds, 'round')}, before any comparison"
        raise InputError(msg, hint=f"{started} contestants were prepared: give more time")
    if math.isinf(last.remaining[0].ratio):
        msg = f"no process of {found.winner} counts, the fastest that is left"
        raise InfrastructureFailure(msg, hint="look at the machine's temperature and battery")


def run_last_heat(
    winner: str, rivals: Sequence[str], runs: FieldRuns, *, seed: int, terms: TuneTerms
) -> list[Sample]:
    """Run rounds until the answer on each rival is clear, or the last look."""
    looks = ContestBudget().plan.looks
    samples: list[Sample] = []
    turns = plan_turns(
        [winner, *rivals], looks[-1] if rivals else 0, cpus=runs.cpus, width=runs.width, seed=seed
    )
    for number, of_round in groupby(turns, key=lambda turn: turn.round_number):
        taken = [runs.take(turn) for turn in of_round]
        samples += [each for each in taken if isinstance(each, Sample)]
        if number + 1 in looks:
            heats = compare_heats(winner, rivals, samples, terms)
            if all(each.seen and each.seen.exceeds is not Answer.INCONCLUSIVE for each in heats):
                break
    return samples


def compare_heats(
    winner: str, rivals: Sequence[str], samples: Sequence[Sample], terms: TuneTerms
) -> tuple[LastHeat, ...]:
    """Compare the winner with each rival."""
    plan = ContestBudget().plan
    return tuple(
        LastHeat(
            against=rival,
            seen=compare_at_looks(
                match_pairs(samples, rival, winner, TimeStage.INFERENCE), terms.criterion, plan
            ),
        )
        for rival in rivals
    )


def _describe(stage: RaceStage) -> str:
    left = f", {len(stage.left)} leave" if stage.left else ""
    rest = f"{len(stage.remaining)} remain, {stage.leader} leads"
    return f"    tune  after {count(stage.rounds, 'round')}{left}: {rest}"
