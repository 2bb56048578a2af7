"""Samples of a command: its whole runs, each as it is verified, in a run directory of its own.

Nothing binds them to CPUs: with fewer, a program may call what no recorded run has called.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.proof.verification import FileJudge, compare_outputs
from megtrim.core.timing.spec import PerformanceStatus
from megtrim.core.trim.runs.execution import RunSpec, run_on
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.util.value import Value
from megtrim.places.devices.device import Lease
from megtrim.times.experiments.contest import (
    MOST_RUNS,
    Contest,
    Contestant,
    Sample,
    Side,
    find_side,
)
from megtrim.times.measuring.timing_runs import (
    PADDING,
    ContestEnded,
    Turn,
    expect_passed,
    make_sample_of_runs,
)

_TIMED_MS = 100.0
"""A sample is of runs that take about this long together, or of one that is longer."""
_MOST_TAKEN_MS = 2000.0
"""Of a device to which each run takes longer, a sample has fewer."""


class CommandFiles(Value):
    specs: Mapping[Side, RunSpec]
    """How the command is run with the program of each side."""
    vary: tuple[str, ...] = ()
    """Patterns of text in outputs that may differ."""


class WholeSampler:
    by_run_length = False

    def __init__(self, contest: Contest, files: CommandFiles, lease: Lease) -> None:
        self._contest = contest
        self._files = files
        self._lease = lease
        self._expected: Mapping[str, bytes] | None = None
        """What the first run of the reference wrote."""
        self._runs = 1
        """How many a sample is of."""
        self.program_time_s = 0.0

    def check_outputs(self) -> str:
        text = ""
        for side, contestant in self._contest.sides:
            _, text = self._run(side, contestant)
        return text if self._contest.rival else ""

    def choose_lengths(self) -> None:
        sides = self._contest.sides
        began_s = time.monotonic()
        longest_s = max(self._run(*each)[0].wall_s for each in sides)
        taken_s = (time.monotonic() - began_s) / len(sides)
        self._runs = choose_runs(1000 * longest_s, 1000 * taken_s)

    def take(self, turn: Turn) -> tuple[Sample, Sequence[ProgramRun]]:
        side, contestant = find_side(self._contest, turn.contestant)
        padding = turn.padding_bytes
        made = [self._run(side, contestant, padding)[0] for _ in range(self._runs)]
        other_load = self._contest.criterion.other_load
        return make_sample_of_runs(turn, made, other_load=other_load), made

    def _run(
        self, side: Side, contestant: Contestant, padding_bytes: int = 0
    ) -> tuple[ProgramRun, str]:
        """Return also how its outputs compare with those of the reference's first run."""
        spec = self._files.specs[side]
        environment = {**spec.environment, PADDING: "x" * padding_bytes}
        found = run_on(self._lease, replace(spec, environment=environment))
        self.program_time_s += found.run.wall_s
        expect_passed(contestant.name, found.run, timeout_s=spec.timeout_s)
        expected = found.outputs if self._expected is None else self._expected
        judge = FileJudge(self._files.vary, (self._contest.reference.name, contestant.name))
        compared = compare_outputs(expected, found.outputs, self._contest.tolerance, judge)
        if compared.status is not ScenarioStatus.PASS:
            later = f"{contestant.name}, in a later run: "
            where = later if side is Side.REFERENCE and self._expected is not None else ""
            raise ContestEnded(PerformanceStatus.WRONG_OUTPUTS, f"{where}{compared.text}")
        self._expected = expected
        return found.run, compared.text


def choose_runs(run_ms: float, taken_ms: float) -> int:
    """``taken_ms``: what a run takes in all, with the copies of its files."""
    wanted = MOST_RUNS
    if run_ms > _TIMED_MS / MOST_RUNS:
        wanted = math.ceil(_TIMED_MS / run_ms)
    return max(1, min(wanted, int(_MOST_TAKEN_MS / max(taken_ms, 1.0))))
