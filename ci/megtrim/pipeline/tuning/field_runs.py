"""The contestants of a race on a machine: prepared, checked, then one process at a time.

Before a contestant starts, its outputs are compared with the baseline's. One that fails, hangs or
computes something else does not start; one that fails later leaves.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from megtrim.console import SparseLines
from megtrim.devices import Lease
from megtrim.errors import ProductFailure
from megtrim.perf.contest import count_cpus
from megtrim.perf.samples import Sample
from megtrim.perf.schedule import Turn
from megtrim.perf.tuning.candidates import make_of_choice
from megtrim.perf.tuning.fitting import FITTING, parse_choice
from megtrim.perf.tuning.racing import Retired
from megtrim.pipeline.running.timing import (
    compare_in_order,
    count_iterations,
    read_iteration_ms,
)
from megtrim.pipeline.running.timing_runs import ContestEnded, ContestRuns
from megtrim.pipeline.running.timing_samples import make_sample
from megtrim.pipeline.tuning.field import Entrant, Field


@dataclass(frozen=True, slots=True, kw_only=True)
class NotStarted:
    """A contestant that could not start."""

    name: str
    reason: str


@contextmanager
def open_runs(field: Field, lease: Lease, *, say: Callable[[str], None]) -> Iterator[FieldRuns]:
    """Put the files of a race on a machine; ``say`` gets a line now and then."""
    with tempfile.TemporaryDirectory(prefix="megtrim-") as scratch, lease.open() as directory:
        runs = ContestRuns(
            (),
            field.files,
            directory,
            machine=lease.name,
            scratch=Path(scratch),
            timeout_s=field.scenario.settings.timeout_s,
        )
        yield FieldRuns(field, runs, cpus=directory.cpus(), say=say)


class FieldRuns:
    """The runs of all contestants in one run directory."""

    def __init__(
        self,
        field: Field,
        runs: ContestRuns,
        *,
        cpus: Sequence[int],
        say: Callable[[str], None],
    ) -> None:
        self._field = field
        self._runs = runs
        self._say = say
        self._progress = SparseLines(say)
        self._failed_sides: dict[str, ContestEnded] = {}
        self._prepared: set[str] = set()
        self._iterations = 0
        self.cpus = cpus
        self.width = count_cpus(
            (each.contestant for each in field.entrants), field.scenario.settings.threads
        )
        """CPUs that each process needs."""
        self.not_started: list[NotStarted] = []
        self.fitting = ""
        """The contestant that the engine's own search chose, or why there is none."""

    def start(self) -> list[str]:
        """Return the names of those who start, the baseline first.

        Raises ProductFailure if the baseline does not run.
        """
        baseline = self._field.entrants[0]
        try:
            expected = self._prepare(baseline)
            self._iterations = self._count(baseline)
        except ContestEnded as ended:
            raise ProductFailure(ended.message, hint="no flags make this scenario run") from None
        self.fitting = self._fit()
        started = [baseline.contestant.name]
        for number, entrant in enumerate(self._field.entrants[1:], 2):
            if self._admit(entrant, expected):
                started.append(entrant.contestant.name)
            self._progress.say(f"    tune  prepared {number} of {len(self._field.entrants)}")
        return started

    def take(self, turn: Turn) -> Sample | Retired:
        """Run the process of one turn."""
        entrant = self._field.find(turn.contestant)
        try:
            run = self._runs.run_measured(
                entrant.side,
                entrant.contestant,
                iterations=self._iterations,
                cpus=turn.cpus,
                padding_bytes=turn.padding_bytes,
            )
        except ContestEnded as ended:
            return Retired(reason=ended.message)
        self._progress.say(f"    tune  round {turn.round_number + 1}")
        warmups = entrant.contestant.commands[-1].step.warmups
        return make_sample(
            turn,
            run,
            iterations=self._iterations,
            warmups=warmups,
            other_load=self._field.other_load,
        )

    def read_made(self, name: str) -> tuple[bytes | None, bytes | None]:
        """Return the dumped model and the algorithm cache that a contestant runs with."""
        entrant = self._field.find(name)
        return self._runs.read_made(entrant.side, entrant.contestant)

    def _prepare(self, entrant: Entrant) -> tuple[bytes, ...]:
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
            compare_in_order(expected, self._prepare(entrant), entrant.tolerance)
        except ContestEnded as ended:
            name = entrant.contestant.name
            reason = ended.message.removeprefix(f"{name}: ")
            self.not_started.append(NotStarted(name=name, reason=reason))
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
